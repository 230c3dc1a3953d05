"""Opening the file of a store: the lock, the checks, the schema."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from dataclasses import dataclass
from pathlib import Path

from watchkeeper.kv.errors import Corrupt, Incompatible, Unavailable
from watchkeeper.kv.sqlite import reading
from watchkeeper.kv.sqlite.failure import damaged, translate
from watchkeeper.kv.sqlite.lock import FileLock
from watchkeeper.kv.sqlite.schema import Synchronous, check_structure, connect, migrate, set_up_writer


@dataclass(frozen=True, slots=True)
class OpenFile:
    """The file of a store, locked and ready; `connection` is the one that writes."""

    path: Path
    lock: FileLock
    connection: sqlite3.Connection
    synchronous: Synchronous
    revision: int
    compact_revision: int

    def another_writer(self) -> sqlite3.Connection:
        """A second connection with the same durability."""
        connection = connect(self.path)
        set_up_writer(connection, self.synchronous)
        return connection

    def wal_size(self) -> int:
        """The bytes of the write-ahead log."""
        try:
            return _wal(self.path).stat().st_size
        except OSError:
            return 0

    def all_paths(self) -> tuple[Path, Path]:
        """The files that a read may need."""
        return self.path, _wal(self.path)

    def release(self) -> None:
        """Let other processes have it; all connections must be closed."""
        self.lock.release()

    def close(self) -> None:
        """Close the connection and release the lock."""
        self.connection.close()
        self.lock.release()


def open_file(path: Path, synchronous: Synchronous) -> OpenFile:
    """Lock, check and, where needed, make or migrate the file. Raises InUse, Corrupt, Incompatible, Unavailable."""
    lock = FileLock(path)
    connection: sqlite3.Connection | None = None
    try:
        _make(path)
        stopped_uncleanly = _wal(path).exists() and _wal(path).stat().st_size > 0
        connection = connect(path)
        if stopped_uncleanly:
            check_structure(connection)
        set_up_writer(connection, synchronous)
        migrate(connection)
        revision, compact_revision = reading.state(connection)
        return OpenFile(path, lock, connection, synchronous, revision, compact_revision)
    except BaseException as error:
        if connection is not None:
            connection.close()
        lock.release()
        if isinstance(error, Corrupt):
            raise damaged(path, str(error)) from error
        if isinstance(error, Incompatible):
            raise Incompatible(f"{path}: {error}") from error
        if isinstance(error, sqlite3.Error):
            raise translate(error, path) from error
        if isinstance(error, OSError):
            raise Unavailable(f"{path}: {error.strerror}") from error
        raise


def _make(path: Path) -> None:
    """Make an empty file that only its owner can read, if there is none: a store holds secrets."""
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))


def _wal(path: Path) -> Path:
    return path.with_name(path.name + "-wal")
