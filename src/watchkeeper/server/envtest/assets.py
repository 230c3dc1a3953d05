"""Writes the executables that envtest looks for, and tells where they are."""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import watchkeeper
from watchkeeper.server.envtest.parent import VARIABLE
from watchkeeper.server.errors import StartupError

PROGRAMS: Mapping[str, str] = {
    "etcd": "watchkeeper.server.envtest.etcd",
    "kube-apiserver": "watchkeeper.server.envtest.kube_apiserver",
}
"""The modules that stand in, by the names of what they stand in for."""
KUBECTL = "kubectl"
ASSETS = "KUBEBUILDER_ASSETS"
"""The environment variable in which envtest finds the directory."""


def default_directory(environ: Mapping[str, str]) -> Path:
    """Where the executables are written unless told otherwise: a place in the user's cache of this installation's."""
    cache = environ.get("XDG_CACHE_HOME") or str(Path(environ.get("HOME", "~")).expanduser() / ".cache")
    installation = f"{sys.executable}\n{watchkeeper.__file__}".encode()
    return Path(cache) / "watchkeeper" / "envtest" / hashlib.sha256(installation).hexdigest()[:12]


def write_assets(directory: Path, environ: Mapping[str, str]) -> list[Path]:
    """Write the executables, and a link to the kubectl on the PATH if there is one. Returns where they are.

    What is there already and right is left alone, so suites that run may use it. Raises StartupError.
    """
    directory = directory.absolute()
    try:
        directory.mkdir(parents=True, exist_ok=True)
        written = [_write(directory / name, _script(module)) for name, module in PROGRAMS.items()]
        return [*written, *_link_kubectl(directory / KUBECTL, environ)]
    except OSError as error:
        raise StartupError(f"cannot write to {directory}: {error.strerror}") from error


def _script(module: str) -> str:
    """A shell that becomes Python: no path of an interpreter is too long for it."""
    # -P: the directory of a test may have files that are named like modules of the standard library.
    return f'#!/bin/sh\n{VARIABLE}=$PPID exec {shlex.quote(sys.executable)} -P -m {module} "$@"\n'


def _write(path: Path, text: str) -> Path:
    if not (os.access(path, os.X_OK) and path.read_text() == text):
        descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
        Path(temporary).chmod(0o755)
        Path(temporary).replace(path)
    return path


def _link_kubectl(path: Path, environ: Mapping[str, str]) -> list[Path]:
    folders = [folder for folder in environ.get("PATH", "").split(os.pathsep) if Path(folder) != path.parent]
    found = shutil.which(KUBECTL, path=os.pathsep.join(folders))
    if found is None:
        path.unlink(missing_ok=True)
        return []
    if not (path.is_symlink() and path.readlink() == Path(found).absolute()):
        path.unlink(missing_ok=True)
        path.symlink_to(Path(found).absolute())
    return [path]


def shell_lines(assets: list[Path]) -> str:
    """What tells a shell to use them. Each is named besides the directory, which Makefiles may set to another."""
    names = {f"TEST_ASSET_{path.name.upper().replace('-', '_')}": path for path in assets}
    named = {ASSETS: assets[0].parent, **names}
    return "".join(f"export {name}={shlex.quote(str(path))}\n" for name, path in named.items())
