"""One server per file."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from watchkeeper.kv.errors import InUse, Unavailable


class FileLock:
    """An exclusive lock beside the database file, held until `release` or the end of the process.

    It is a file of its own because SQLite's locks on the database are lost when this process closes any other
    descriptor of it. The file is left behind on release: removing it would race with the next owner.
    """

    def __init__(self, database: Path) -> None:
        """Take the lock for `database`. Raises InUse when somebody has it."""
        self.path = database.with_name(database.name + "-lock")
        try:
            self._descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise Unavailable(f"{self.path}: {error.strerror}") from error
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            owner = os.pread(self._descriptor, 32, 0).decode(errors="replace").strip()
            os.close(self._descriptor)
            raise InUse(f"{database} is in use by process {owner or 'unknown'}; stop it first") from error
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Let others have it. Idempotent."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
