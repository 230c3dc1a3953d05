"""The tables of a store, how connections to it are set up, and how older files are brought up to date.

`log` has one row for each revision that is still needed: by history, or as the newest of its key, or as the newest of
all, which says what the store's revision is. `current` maps each key that exists to its newest row. Triggers keep
`current`, so that one INSERT into `log` is a whole write. `prev_revision` is the row that a write replaced (0: none);
it may have been compacted away. `checksum` is the CRC-32 of the value, null in rows that are older than this column.
"""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal
from urllib.parse import quote

from watchkeeper.kv.errors import Corrupt, Incompatible

APPLICATION_ID = 0x776B6B76
"""`wkkv`: marks the file as one of ours, for file(1) and for us."""

_INCREMENTAL = 2
"""What SQLite says for `auto_vacuum = INCREMENTAL`."""

Synchronous = Literal["FULL", "NORMAL", "OFF"]

_VERSION_1 = """
CREATE TABLE log (
    revision INTEGER PRIMARY KEY,
    key BLOB NOT NULL,
    prev_revision INTEGER NOT NULL,
    create_revision INTEGER NOT NULL,
    version INTEGER NOT NULL,
    lease INTEGER NOT NULL,
    value BLOB NOT NULL
);
CREATE INDEX replaced ON log (key, revision, prev_revision) WHERE prev_revision > 0;
CREATE TABLE current (
    key BLOB PRIMARY KEY,
    revision INTEGER NOT NULL,
    create_revision INTEGER NOT NULL,
    version INTEGER NOT NULL,
    lease INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TRIGGER created AFTER INSERT ON log WHEN new.version = 1 BEGIN
    INSERT INTO current VALUES (new.key, new.revision, new.create_revision, new.version, new.lease);
END;
CREATE TRIGGER updated AFTER INSERT ON log WHEN new.version > 1 BEGIN
    UPDATE current SET revision = new.revision, version = new.version, lease = new.lease WHERE key = new.key;
END;
CREATE TRIGGER deleted AFTER INSERT ON log WHEN new.version = 0 BEGIN
    DELETE FROM current WHERE key = new.key;
END;
CREATE TABLE lease (id INTEGER PRIMARY KEY, ttl INTEGER NOT NULL, expires REAL NOT NULL);
CREATE TABLE meta (compact_revision INTEGER NOT NULL, compacted_through INTEGER NOT NULL);
INSERT INTO meta VALUES (0, 1);
"""

_VERSION_2 = """
ALTER TABLE log ADD COLUMN checksum INTEGER;
"""

CHECKSUMS = 2
"""The version from which on there are checksums."""

Migration = Callable[[sqlite3.Connection], None]


def _execute_all(script: str) -> Migration:
    def migrate_by_script(connection: sqlite3.Connection) -> None:
        statement = ""
        for line in script.splitlines(keepends=True):
            statement += line
            if sqlite3.complete_statement(statement):
                connection.execute(statement)
                statement = ""

    return migrate_by_script


MIGRATIONS: tuple[Migration, ...] = (_execute_all(_VERSION_1), _execute_all(_VERSION_2))
"""The step at index n makes version n + 1 out of version n; version 0 is an empty file."""


def connect(path: Path, *, read_only: bool = False, timeout: float = 5.0) -> sqlite3.Connection:
    """A connection in autocommit mode that may move between threads. `timeout`: seconds to wait for others' locks.

    To read, SQLite makes files beside the store. Where it cannot, and nobody has left any there, it has to be told that
    nobody writes.
    """
    mode = "ro" if read_only else "rw"
    if read_only and not may_write_beside(path) and not any(beside.exists() for beside in _beside(path)):
        mode += "&immutable=1"
    connection = sqlite3.connect(
        f"file:{quote(str(path.absolute()))}?mode={mode}",
        uri=True,
        isolation_level=None,
        check_same_thread=False,
        timeout=timeout,
        cached_statements=256,
    )
    connection.execute("PRAGMA trusted_schema = OFF")
    return connection


def may_write_beside(path: Path) -> bool:
    """Whether there can be new files in the folder of the store."""
    return os.access(path.absolute().parent, os.W_OK | os.X_OK)


def _beside(path: Path) -> tuple[Path, Path]:
    return path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")


def set_up_writer(connection: sqlite3.Connection, synchronous: Synchronous) -> None:
    """Make commits as durable as asked, and leave checkpoints to whoever runs the store."""
    [vacuum] = connection.execute("PRAGMA auto_vacuum").fetchone()
    if vacuum != _INCREMENTAL:  # has an effect before the first table only; it writes, and the disk may be full
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    [mode] = connection.execute("PRAGMA journal_mode = WAL").fetchone()
    if mode != "wal":
        raise Incompatible(f"SQLite cannot use a write-ahead log here (journal mode {mode}); use a local file system")
    connection.execute(f"PRAGMA synchronous = {synchronous}")
    if sys.platform == "darwin":  # there fsync alone does not reach the disk
        connection.execute("PRAGMA fullfsync = ON")
        connection.execute("PRAGMA checkpoint_fullfsync = ON")
    connection.execute("PRAGMA wal_autocheckpoint = 0")
    connection.execute("PRAGMA journal_size_limit = 16777216")
    connection.execute("PRAGMA cell_size_check = ON")


def migrate(connection: sqlite3.Connection, migrations: Sequence[Migration] = MIGRATIONS) -> None:
    """Bring the file to the newest version, all in one transaction.

    Raises Incompatible when it is not one of ours, or newer than this program.
    """
    [application] = connection.execute("PRAGMA application_id").fetchone()
    [version] = connection.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION_ID and (
        application or version or connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
    ):
        raise Incompatible("it is an SQLite database, but not a watchkeeper store")
    if version > len(migrations):
        raise Incompatible(
            f"it has schema version {version} and this program knows {len(migrations)} at most; use a newer one"
        )
    if version == len(migrations):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        for step in migrations[version:]:
            step(connection)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {len(migrations)}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def structural_problems(connection: sqlite3.Connection, limit: int = 100) -> list[str]:
    """What SQLite finds wrong with the file, a line each; empty when it is sound. Reads all of it."""
    found = _cut_short(connection)
    if found:
        return found
    for row in connection.execute(f"PRAGMA integrity_check({limit})"):
        found.extend(line for line in str(row[0]).splitlines() if not line.startswith("***"))
    return [] if found == ["ok"] else found


def _cut_short(connection: sqlite3.Connection) -> list[str]:
    """A file that ends within a page, which SQLite reads as if zeros followed."""
    [size] = connection.execute("PRAGMA page_size").fetchone()
    path = Path(connection.execute("PRAGMA database_list").fetchone()[2])
    beyond = path.stat().st_size % size
    return [f"the file ends after {beyond} bytes of a page of {size}"] if beyond else []


def check_structure(connection: sqlite3.Connection) -> None:
    """Raise Corrupt unless SQLite finds the whole file sound. Reads all of it."""
    if problems := structural_problems(connection, limit=3):
        raise Corrupt("; ".join(problems))
