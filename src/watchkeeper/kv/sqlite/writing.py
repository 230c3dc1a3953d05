"""Groups of writes, each committed in one transaction. What takes a connection here runs on the writer thread."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any
from zlib import crc32

from watchkeeper.kv.interface import Event, EventType, KeyValue
from watchkeeper.kv.sqlite.index import Entry

LONGEST_STATEMENT = 16
"""Rows that one INSERT carries. A group that fits needs no other statement: it is its own transaction."""


class Write:
    """A put or a deletion that was accepted: its revision is decided, its transaction is not yet committed."""

    __slots__ = ("entry", "future", "key", "needs_prev", "old", "prev_value", "revision", "value")

    def __init__(self, revision: int, key: bytes, value: bytes, entry: Entry | None, old: Entry | None) -> None:
        """`entry` is what the key becomes (None: deleted), `old` what it was (None: it did not exist)."""
        self.revision = revision
        self.key = key
        self.value = value
        self.entry = entry
        self.old = old
        self.needs_prev = False
        """Whether the writer has to find the value that is replaced."""
        self.prev_value: bytes | None = None
        """The value that was replaced, if somebody knows it or `needs_prev` made the writer find it."""
        self.future: asyncio.Future[Write] | None = None
        """Resolved once the write is durable and on its way to the watches."""

    def __repr__(self) -> str:
        return f"<Write {self.revision}: {self.key!r} {'put' if self.entry else 'deleted'}>"

    def kv(self) -> KeyValue:
        """The key as this write leaves it."""
        entry = self.entry
        if entry is None:
            return KeyValue(self.key, b"", 0, self.revision, 0)
        return KeyValue(self.key, self.value, entry.create_revision, entry.mod_revision, entry.version, entry.lease)

    def prev(self) -> KeyValue | None:
        """The key as it was before, None when it did not exist or nobody needed its value."""
        old = self.old
        if old is None or self.prev_value is None:
            return None
        return KeyValue(self.key, self.prev_value, old.create_revision, old.mod_revision, old.version, old.lease)

    def event(self, *, prev_kv: bool) -> Event:
        """What a watch gets of it."""
        return Event(
            EventType.PUT if self.entry is not None else EventType.DELETE, self.kv(), self.prev() if prev_kv else None
        )

    def row(self) -> tuple[Any, ...]:
        """The row of `log`, in the order of its columns."""
        old = self.old
        entry = self.entry
        prev_revision = old.mod_revision if old is not None else 0
        if entry is None:
            return (self.revision, self.key, prev_revision, 0, 0, 0, b"", 0)
        return (
            self.revision,
            self.key,
            prev_revision,
            entry.create_revision,
            entry.version,
            entry.lease,
            self.value,
            crc32(self.value),
        )


class Record:
    """A change that is no revision, a lease for example; ordered among the writes."""

    __slots__ = ("committed", "failed", "parameters", "sql")

    def __init__(
        self, sql: str, parameters: Sequence[Any], committed: Callable[[], None], failed: Callable[[Exception], None]
    ) -> None:
        """`committed` or `failed` is called on the event loop."""
        self.sql = sql
        self.parameters = parameters
        self.committed = committed
        self.failed = failed


Operation = Write | Record


def commit(connection: sqlite3.Connection, group: Sequence[Operation]) -> None:
    """Make a group durable, in one transaction. When this raises, nothing of it was done, or its outcome is unknown."""
    writes: list[Write] = [operation for operation in group if type(operation) is Write]
    for write in writes:
        if write.needs_prev and write.prev_value is None:
            write.prev_value = _value(connection, write)
    if len(writes) == len(group) <= LONGEST_STATEMENT:
        _insert(connection, writes)
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        rows: list[Write] = []
        for operation in group:
            if isinstance(operation, Write):
                rows.append(operation)
                if len(rows) == LONGEST_STATEMENT:
                    _insert(connection, rows)
                    rows = []
            else:
                _insert(connection, rows)
                rows = []
                connection.execute(operation.sql, operation.parameters)
        _insert(connection, rows)
        connection.execute("COMMIT")
    except BaseException:
        roll_back(connection)
        raise


def roll_back(connection: sqlite3.Connection) -> None:
    """End a transaction that failed, if SQLite has not done so itself."""
    if connection.in_transaction:
        connection.execute("ROLLBACK")


def _insert(connection: sqlite3.Connection, writes: Sequence[Write]) -> None:
    if not writes:
        return
    parameters: list[Any] = []
    for write in writes:
        parameters += write.row()
    connection.execute(_insert_sql(len(writes)), parameters)


@cache
def _insert_sql(rows: int) -> str:
    return "INSERT INTO log VALUES " + ",".join(["(?,?,?,?,?,?,?,?)"] * rows)


def _value(connection: sqlite3.Connection, write: Write) -> bytes | None:
    """What `write` replaces. It is there: only compaction deletes, and never what is current."""
    if write.old is None:
        return None
    row = connection.execute("SELECT value FROM log WHERE revision = ?", (write.old.mod_revision,)).fetchone()
    if row is None:
        raise sqlite3.DatabaseError(f"revision {write.old.mod_revision} is missing from the log")
    value: bytes = row[0]
    return value


def rows_after(connection: sqlite3.Connection, revision: int) -> list[tuple[Any, ...]]:
    """The rows of `log` after `revision`: writes that were committed although their transaction reported a failure."""
    roll_back(connection)
    return connection.execute(
        "SELECT revision, key, create_revision, version, lease, value FROM log WHERE revision > ? ORDER BY revision",
        (revision,),
    ).fetchall()
