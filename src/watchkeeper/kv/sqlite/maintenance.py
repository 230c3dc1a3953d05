"""What an operator does with the file of a store: look at it, check, compact, shrink and copy it.

`info`, `check` and `backup` may run while a server uses the file; `compact` and `vacuum` need it alone. What writes a
file begins with a check: it would keep some damage and hide the rest, and a copy without what was lost is no backup.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar
from zlib import crc32

from watchkeeper.kv.errors import Compacted, Corrupt, FutureRevision, Incompatible, Unavailable
from watchkeeper.kv.sqlite import reading
from watchkeeper.kv.sqlite.compaction import STEP_ROWS, remove_history
from watchkeeper.kv.sqlite.failure import damaged, translate
from watchkeeper.kv.sqlite.files import open_file
from watchkeeper.kv.sqlite.schema import APPLICATION_ID, CHECKSUMS, connect, structural_problems

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class FileInfo:
    """What there is to know of a file. Sizes in bytes; `history_rows` counts what is kept only for history."""

    path: Path
    schema_version: int
    sqlite_version: str
    revision: int
    compact_revision: int
    keys: int
    history_rows: int
    leases: int
    size: int
    size_in_use: int
    wal_size: int


def info(path: Path) -> FileInfo:
    """Facts of the file. Raises Unavailable, Corrupt, Incompatible."""
    wal = _existing(path).with_name(path.name + "-wal")
    wal_size = wal.stat().st_size if wal.exists() else 0

    def read(connection: sqlite3.Connection) -> FileInfo:
        status = reading.status(connection, 0)

        def one(sql: str) -> int:
            return int(connection.execute(sql).fetchone()[0])

        keys = one("SELECT count(*) FROM current")
        return FileInfo(
            path=path,
            schema_version=one("PRAGMA user_version"),
            sqlite_version=sqlite3.sqlite_version,
            revision=status.revision,
            compact_revision=status.compact_revision,
            keys=keys,
            history_rows=one("SELECT count(*) FROM log") - keys,
            leases=one("SELECT count(*) FROM lease"),
            size=status.db_size,
            size_in_use=status.db_size_in_use,
            wal_size=wal_size,
        )

    return _reading(path, read)


_RULES = (
    (
        "keys whose newest row is missing or belongs to another key",
        "SELECT count(*) FROM current c LEFT JOIN log l ON l.revision = c.revision WHERE l.key IS NOT c.key",
    ),
    (
        "keys whose newest row disagrees with the index of current keys",
        "SELECT count(*) FROM current c JOIN log l ON l.revision = c.revision WHERE l.version <> c.version "
        "OR l.create_revision <> c.create_revision OR l.lease <> c.lease",
    ),
    (
        "keys with a row newer than the current one",
        "SELECT count(*) FROM current c WHERE EXISTS "
        "(SELECT 1 FROM log l INDEXED BY replaced "
        "WHERE l.key = c.key AND l.revision > c.revision AND l.prev_revision > 0)",
    ),
    (
        "rows whose previous row is missing although history reaches back that far",
        "SELECT count(*) FROM log l, meta WHERE l.revision > meta.compact_revision AND l.prev_revision > 0 "
        "AND NOT EXISTS (SELECT 1 FROM log p WHERE p.revision = l.prev_revision AND p.key = l.key)",
    ),
    (
        "rows that cannot be",
        "SELECT count(*) FROM log WHERE prev_revision >= revision OR create_revision > revision "
        "OR version < 0 OR (version = 1 AND create_revision <> revision)",
    ),
    (
        "a compacted revision beyond the newest",
        "SELECT count(*) FROM meta WHERE compact_revision > (SELECT coalesce(max(revision), 1) FROM log)",
    ),
)


_MAX_NAMED = 20
"""How many keys with damaged values are named."""


def check(path: Path) -> list[str]:
    """All that is wrong with the file, in words; empty when it is sound. Reads all of it.

    Raises Unavailable when it cannot be opened, Incompatible when it is not a store.
    """

    try:
        return _reading(path, lambda connection: _problems(connection) or _changed_values(connection))
    except Corrupt as error:
        return [str(error)]


def _problems(connection: sqlite3.Connection) -> list[str]:
    if problems := structural_problems(connection):
        return problems
    found = ((int(connection.execute(sql).fetchone()[0]), rule) for rule, sql in _RULES)
    return [f"{count} {rule}" for count, rule in found if count]


def _changed_values(connection: sqlite3.Connection) -> list[str]:
    """Values that are not what was written, by their checksums. Reads all values."""
    [version] = connection.execute("PRAGMA user_version").fetchone()
    if version < CHECKSUMS:
        return []
    _know_checksums(connection)
    rows = connection.execute(
        "SELECT key, revision FROM log WHERE checksum <> crc32(value) ORDER BY revision"
    ).fetchall()
    named = [f"the value of {key.decode(errors='replace')} at revision {at} has changed" for key, at in rows]
    more = len(named) - _MAX_NAMED
    return [*named[:_MAX_NAMED], f"{more} more values have changed"] if more > 0 else named


def _know_checksums(connection: sqlite3.Connection) -> None:
    """Give the connection the function `crc32(value)`."""
    connection.create_function("crc32", 1, crc32, deterministic=True)


def _require_sound(connection: sqlite3.Connection, path: Path, *, values: bool = False) -> None:
    """`values`: whether they are looked at, too. Who removes history does not, which is how damaged ones go."""
    if problems := _problems(connection) or (_changed_values(connection) if values else []):
        raise damaged(path, "; ".join(problems[:3]))


def compact(path: Path, revision: int = 0) -> int:
    """Forget history before `revision` (0: all history) and remove it; return the compacted revision.

    Raises InUse, Compacted, FutureRevision, Unavailable, Corrupt, Incompatible.
    """
    file = open_file(_existing(path), "FULL")
    try:
        _require_sound(file.connection, path)
        at = revision or file.revision
        if at > file.revision:
            raise FutureRevision(file.revision)
        if at < file.compact_revision or (revision and at == file.compact_revision):
            raise Compacted(file.compact_revision)
        file.connection.execute("UPDATE meta SET compact_revision = ?", (at,))
        while remove_history(file.connection, STEP_ROWS * 10):
            pass
        return at
    except sqlite3.Error as error:
        raise translate(error, path) from error
    finally:
        file.close()


def vacuum(path: Path) -> tuple[int, int]:
    """Rebuild the file without free room; needs as much again while it runs. Returns its size before and after.

    Values without a checksum, as older programs have left them, get one.

    Raises InUse, Unavailable, Corrupt, Incompatible.
    """
    file = open_file(_existing(path), "FULL")
    try:
        _require_sound(file.connection, path)
        file.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        before = path.stat().st_size
        _know_checksums(file.connection)
        file.connection.execute("UPDATE log SET checksum = crc32(value) WHERE checksum IS NULL")
        file.connection.execute("VACUUM")
        file.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return before, path.stat().st_size
    except sqlite3.Error as error:
        raise translate(error, path) from error
    finally:
        file.close()


_UNWRITABLE = frozenset({sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE})


def backup(path: Path, target: Path) -> None:
    """Write a copy of one state of the store to the new file `target`, which appears only when it is complete.

    Raises Unavailable (also when `target` exists), Corrupt, Incompatible.
    """
    if target.exists():
        raise Unavailable(f"{target} exists already")
    partial = target.with_name(f"{target.name}.partial-{os.getpid()}")

    def copy(connection: sqlite3.Connection) -> None:
        _require_sound(connection, path, values=True)
        os.close(os.open(partial, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        try:
            connection.execute("VACUUM INTO ?", (str(partial),))
        except sqlite3.Error as error:
            # The store is only read: what cannot be written is the copy.
            raise translate(error, target if error.sqlite_errorcode in _UNWRITABLE else path) from error

    try:
        _reading(path, copy)
        _sync(partial)
        os.link(partial, target)
        _sync(target.parent)
    except OSError as error:
        raise Unavailable(f"{target}: {error.strerror}") from error
    finally:
        with contextlib.suppress(OSError):
            partial.unlink()


def _reading(path: Path, job: Callable[[sqlite3.Connection], R]) -> R:
    """Run `job` on a connection that leaves the file as it is."""
    _existing(path)
    try:
        connection = connect(path, read_only=True)
        try:
            [application] = connection.execute("PRAGMA application_id").fetchone()
            if application != APPLICATION_ID:
                raise Incompatible(f"{path} is an SQLite database, but not a watchkeeper store")
            return job(connection)
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise translate(error, path) from error


def _existing(path: Path) -> Path:
    if path.is_dir():
        raise Unavailable(f"{path}: it is a directory")
    if not path.is_file():
        raise Unavailable(f"{path}: there is no such file")
    if not path.stat().st_size:
        raise Unavailable(f"{path}: the file is empty")  # opened, it would become a store
    return path


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
