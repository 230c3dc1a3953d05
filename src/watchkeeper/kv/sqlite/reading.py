"""Reads, as functions of a connection. Each sees one state of the database and says which, by its newest revision."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from watchkeeper.kv.errors import Compacted, FutureRevision
from watchkeeper.kv.interface import Event, EventType, GetResult, KeyValue, RangeResult, Status, WatchBatch

_STATE = "SELECT (SELECT coalesce(max(revision), 1) FROM log), compact_revision FROM meta"

_GET = """
SELECT (SELECT coalesce(max(revision), 1) FROM log),
       l.key, l.value, l.create_revision, l.revision, l.version, l.lease
FROM (SELECT 1) LEFT JOIN current c ON c.key = ? LEFT JOIN log l ON l.revision = c.revision
"""

_VALUE = "SELECT value FROM log WHERE revision = ?"

LOOK_BACK = 500
"""So many revisions are looked through for changes before a range of the past is put together from history."""

LOG_ROWS = 500
LOG_BYTES = 4 * 1024 * 1024
LOG_WINDOW = 20_000
"""How much of the log one step of catching up reads at most: matching rows, their bytes, and revisions looked at."""


def state(connection: sqlite3.Connection) -> tuple[int, int]:
    """The newest revision and the compacted one."""
    revision, compact_revision = connection.execute(_STATE).fetchone()
    return revision, compact_revision


def get(connection: sqlite3.Connection, key: bytes) -> GetResult:
    """One key as it is."""
    revision, *row = connection.execute(_GET, (key,)).fetchone()
    return GetResult(KeyValue(*row) if row[0] is not None else None, revision)


def get_value(connection: sqlite3.Connection, revision: int) -> bytes | None:
    """The value that a revision wrote, None when it has been compacted away."""
    row = connection.execute(_VALUE, (revision,)).fetchone()
    return row[0] if row is not None else None


def get_at(connection: sqlite3.Connection, key: bytes, at: int) -> GetResult:
    """One key as revision `at` left it."""
    found = range_at(connection, key, key + b"\0", at, limit=1)
    return GetResult(found.kvs[0] if found.kvs else None, found.revision)


def range_now(
    connection: sqlite3.Connection,
    start: bytes,
    end: bytes,
    *,
    limit: int,
    count_only: bool,
    keys_only: bool,
    counted: bool = True,
) -> RangeResult:
    """The keys in [start, end) as they are."""
    with _snapshot(connection) as (revision, _):
        return _read_now(connection, start, end, revision, _Form(limit, count_only, keys_only, counted))


def range_at(
    connection: sqlite3.Connection,
    start: bytes,
    end: bytes,
    at: int,
    *,
    limit: int = 0,
    count_only: bool = False,
    keys_only: bool = False,
    counted: bool = True,
) -> RangeResult:
    """The keys in [start, end) as revision `at` left them. Raises Compacted, FutureRevision."""
    form = _Form(limit, count_only, keys_only, counted)
    arguments = {"start": start, "end": end, "at": at}
    with _snapshot(connection) as (revision, compact_revision):
        check_readable(at, revision, compact_revision)
        if _is_unchanged(connection, arguments, revision):
            return _read_now(connection, start, end, revision, form)
        to_the_end = end == b"\0"

        def count() -> int:
            [found] = connection.execute(_count_at_sql(to_the_end), arguments).fetchone()
            return int(found)

        if count_only:
            return RangeResult([], count(), False, revision)
        rows = connection.execute(_range_at_sql(to_the_end, keys_only), {**arguments, "limit": form.rows})
        return form.result([KeyValue(*row) for row in rows], revision, count)


class _Form(NamedTuple):
    """What is wanted of a range."""

    limit: int
    count_only: bool
    keys_only: bool
    counted: bool

    @property
    def rows(self) -> int:
        """How many rows to read: without a count, one more than wanted tells whether there are more."""
        return self.limit + (not self.counted) if self.limit > 0 else -1

    def result(self, kvs: list[KeyValue], revision: int, count: Callable[[], int]) -> RangeResult:
        """The answer, given the rows; `count` tells how many there are."""
        found = len(kvs)
        if self.counted and found == self.limit:
            found = count()
        elif found > self.limit > 0:
            kvs.pop()
        return RangeResult(kvs, found, len(kvs) < found, revision)


def _read_now(connection: sqlite3.Connection, start: bytes, end: bytes, revision: int, form: _Form) -> RangeResult:
    bounds = _bounds(start, end)

    def count() -> int:
        [found] = connection.execute(_count_now_sql(end == b"\0"), bounds).fetchone()
        return int(found)

    if form.count_only:
        return RangeResult([], count(), False, revision)
    rows = connection.execute(_range_now_sql(end == b"\0", form.keys_only), (*bounds, form.rows))
    return form.result([KeyValue(*row) for row in rows], revision, count)


def _is_unchanged(connection: sqlite3.Connection, arguments: dict[str, Any], revision: int) -> bool:
    """Whether a range is now what it was at a revision, as far as that is cheap to tell: pages follow soon."""
    if revision - arguments["at"] > LOOK_BACK:
        return False
    return connection.execute(_changed_sql(arguments["end"] == b"\0"), arguments).fetchone() is None


def check_readable(at: int, revision: int, compact_revision: int) -> None:
    """Raise Compacted or FutureRevision unless a store in that state can be read at `at`."""
    if at < compact_revision:
        raise Compacted(compact_revision)
    if at > revision:
        raise FutureRevision(revision)


@dataclass(frozen=True, slots=True)
class LogPart:
    """Changes of one prefix up to and including revision `through`; `revision` is the newest that was there to see."""

    batches: list[WatchBatch]
    through: int
    revision: int


def read_log(connection: sqlite3.Connection, start: bytes, end: bytes, after: int, *, prev_kv: bool) -> LogPart:
    """The next changes of keys in [start, end) after revision `after`. Raises Compacted."""
    batches: list[WatchBatch] = []
    size = 0
    with _snapshot(connection) as (revision, compact_revision):
        if after < compact_revision:
            raise Compacted(compact_revision)
        through = min(revision, after + LOG_WINDOW)
        arguments = {"start": start, "end": end, "after": after, "through": through, "limit": LOG_ROWS}
        rows = connection.execute(_log_sql(end == b"\0", prev_kv), arguments)
        for row in rows:
            kv = KeyValue(*row[:6])
            prev = KeyValue(*row[6:]) if prev_kv and row[6] is not None else None
            event = Event(EventType.PUT if kv.version else EventType.DELETE, kv, prev)
            batches.append(WatchBatch(kv.mod_revision, (event,)))
            size += len(kv.value)
            if size >= LOG_BYTES or len(batches) == LOG_ROWS:
                through = kv.mod_revision
                break
        rows.close()
    return LogPart(batches, through, revision)


def status(connection: sqlite3.Connection, wal_size: int) -> Status:
    """Sizes of the file, with `wal_size` bytes of write-ahead log beside it."""
    with _snapshot(connection) as (revision, compact_revision):
        [pages] = connection.execute("PRAGMA page_count").fetchone()
        [free] = connection.execute("PRAGMA freelist_count").fetchone()
        [page_size] = connection.execute("PRAGMA page_size").fetchone()
    return Status(
        "sqlite",
        sqlite3.sqlite_version,
        revision,
        compact_revision,
        pages * page_size + wal_size,
        (pages - free) * page_size,
    )


@contextmanager
def _snapshot(connection: sqlite3.Connection) -> Iterator[tuple[int, int]]:
    """One state of the database for several statements; gives its newest and its compacted revision."""
    connection.execute("BEGIN")
    try:
        yield state(connection)
    finally:
        if connection.in_transaction:
            connection.execute("COMMIT")


def _bounds(start: bytes, end: bytes) -> tuple[bytes, ...]:
    return (start,) if end == b"\0" else (start, end)


@cache
def _count_now_sql(to_the_end: bool) -> str:
    return f"SELECT count(*) FROM current WHERE key >= ? {'' if to_the_end else 'AND key < ?'}"


@cache
def _range_now_sql(to_the_end: bool, keys_only: bool) -> str:
    within = f"c.key >= ? {'' if to_the_end else 'AND c.key < ?'} ORDER BY c.key LIMIT ?"
    if keys_only:
        return f"SELECT c.key, x'', c.create_revision, c.revision, c.version, c.lease FROM current c WHERE {within}"
    return (
        "SELECT c.key, l.value, c.create_revision, c.revision, c.version, c.lease "
        f"FROM current c JOIN log l ON l.revision = c.revision WHERE {within}"
    )


def _was_sql(to_the_end: bool) -> str:
    """Key and revision of everything that was there: what has not changed since, and what the first change replaced."""
    within = f"key >= :start {'' if to_the_end else 'AND key < :end'}"
    return (
        f"SELECT key, revision FROM current WHERE {within} AND revision <= :at UNION ALL "
        "SELECT key, prev_revision FROM log INDEXED BY replaced "
        f"WHERE {within} AND revision > :at AND prev_revision > 0 AND prev_revision <= :at"
    )


@cache
def _changed_sql(to_the_end: bool) -> str:
    return f"SELECT 1 FROM log WHERE revision > :at AND key >= :start {'' if to_the_end else 'AND key < :end'} LIMIT 1"


@cache
def _count_at_sql(to_the_end: bool) -> str:
    return f"SELECT count(*) FROM ({_was_sql(to_the_end)})"


@cache
def _range_at_sql(to_the_end: bool, keys_only: bool) -> str:
    value = "x''" if keys_only else "l.value"
    return (
        f"SELECT l.key, {value}, l.create_revision, l.revision, l.version, l.lease "
        f"FROM ({_was_sql(to_the_end)} ORDER BY 1 LIMIT :limit) was CROSS JOIN log l ON l.revision = was.revision "
        "ORDER BY was.key"
    )


@cache
def _log_sql(to_the_end: bool, prev_kv: bool) -> str:
    columns = "l.key, l.value, l.create_revision, l.revision, l.version, l.lease"
    prev = ", p.key, p.value, p.create_revision, p.revision, p.version, p.lease" if prev_kv else ""
    join = "LEFT JOIN log p ON p.revision = l.prev_revision" if prev_kv else ""
    return (
        f"SELECT {columns}{prev} FROM log l {join} "
        "WHERE l.revision > :after AND l.revision <= :through "
        f"AND l.key >= :start {'' if to_the_end else 'AND l.key < :end'} ORDER BY l.revision LIMIT :limit"
    )
