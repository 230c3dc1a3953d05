"""Data directories of test servers: gone with the server, or with the next one when that could not clean up."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from pathlib import Path

_PREFIX = "watchkeeper-"
_LOCK = ".in-use"
_YOUNG_SECONDS = 60.0
"""A directory younger than this may have an owner that has not locked it yet."""


class TemporaryDirectory:
    """A directory that this process owns for as long as it lives.

    The lock in it goes with the process, however that ends; a directory without a holder of its lock is left over from
    a run that was killed, and whoever makes the next directory removes it.
    """

    def __init__(self) -> None:
        remove_abandoned(Path(tempfile.gettempdir()))
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX))
        self._lock = os.open(self.path / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)

    def __repr__(self) -> str:
        return f"<TemporaryDirectory {self.path}>"

    def remove(self) -> None:
        """Remove it with all that is in it. Idempotent."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def remove_abandoned(parent: Path) -> None:
    """Remove the directories of servers that were killed, below `parent`. What cannot be removed stays."""
    with contextlib.suppress(OSError):
        for entry in os.scandir(parent):
            if entry.name.startswith(_PREFIX) and entry.is_dir(follow_symlinks=False):
                with contextlib.suppress(OSError):
                    _remove_if_abandoned(Path(entry.path))


def _remove_if_abandoned(directory: Path) -> None:
    if time.time() - directory.stat().st_mtime < _YOUNG_SECONDS:
        return
    lock = os.open(directory / _LOCK, os.O_RDWR)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(directory, ignore_errors=True)
    finally:
        os.close(lock)
