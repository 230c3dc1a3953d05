"""Files that nobody else may read, written whole or not at all."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

from watchkeeper.server.errors import StartupError

PRIVATE = 0o600


def make_private_dir(path: Path, option: str = "--data-dir") -> None:
    """Make a directory for its owner alone, if it is not there. Raises StartupError when that fails or it is closed.

    `option` is what names it.
    """
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StartupError(f"cannot make the directory {path}: {error.strerror}") from error
    if not os.access(path, os.W_OK | os.X_OK):
        raise StartupError(f"the directory {path} is not writable; choose another with {option}")


def write_private(path: Path, content: bytes) -> None:
    """Write a file with mode 0600 in one step, unless it is there. Raises StartupError when it cannot be written."""
    if _is_there(path, content):  # so that a server starts on a full disk
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise StartupError(f"cannot write {path}: {error.strerror}") from error


def _is_there(path: Path, content: bytes) -> bool:
    try:
        return stat.S_IMODE(path.stat().st_mode) == PRIVATE and path.read_bytes() == content
    except OSError:
        return False
