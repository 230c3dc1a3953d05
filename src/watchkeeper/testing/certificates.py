"""Certificates that the test servers of one process share: making them takes longer than all the rest of a start."""

from __future__ import annotations

from pathlib import Path

from watchkeeper.server.files import write_private

_FILES = ("ca.crt", "ca.key", "serving.crt", "serving.key", "serving.names")
_kept: dict[str, bytes] = {}


def provide(directory: Path) -> None:
    """Put the certificates of an earlier server into the data directory of a new one."""
    for name, content in _kept.items():
        write_private(directory / name, content)


def keep(directory: Path) -> None:
    """Remember the certificates that a server made."""
    if not _kept and all((directory / name).exists() for name in _FILES):
        _kept.update({name: (directory / name).read_bytes() for name in _FILES})
