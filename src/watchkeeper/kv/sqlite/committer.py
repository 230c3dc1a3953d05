"""The way of a write: accepted, committed together with whatever waits, published.

    READY ──a commit fails──▶ RECOVERING ──the log was read again──▶ READY

A write is decided when it is accepted: against the index, which is ahead of the database by what is on its way. So
when a commit fails, everything accepted after it fails too, and the index goes back to what is committed. Nothing is
acknowledged, published or told to anybody before its transaction is durable.

Everything here runs on the event loop, but for what the writer thread does by itself: `_run` commits group after group
for as long as something waits. To be handed each one would cost it, and the event loop, a wait for the interpreter's
lock twice as often. The two share `_pending`, a deque because its operations are atomic, and `_group`, which belongs to
the writer thread from `submit` to `_done`.
"""

from __future__ import annotations

import asyncio
import enum
import logging
import sqlite3
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from watchkeeper.aio.backoff import Backoff
from watchkeeper.aio.clock import Clock
from watchkeeper.aio.tasks import TaskOwner
from watchkeeper.aio.workers import Workers
from watchkeeper.kv.errors import KVError, Unavailable
from watchkeeper.kv.sqlite.failure import translate
from watchkeeper.kv.sqlite.index import CurrentIndex, Entry
from watchkeeper.kv.sqlite.values import RecentValues
from watchkeeper.kv.sqlite.watching import WatchHub
from watchkeeper.kv.sqlite.writing import Operation, Record, Write, commit, rows_after

GROUP_LIMIT = 256
GROUP_BYTES = 8 * 1024 * 1024
"""How much one transaction takes: operations, and the bytes of their values."""


COMPLAINT_SECONDS = 10.0
"""How long the log is left alone after it was told of writes that fail."""

log = logging.getLogger(__name__)


class CommitterState(enum.Enum):
    """Whether writes are accepted."""

    READY = "ready"
    RECOVERING = "recovering"


class Committer:
    """Accepts writes and records, and commits them in the order in which they were accepted."""

    def __init__(
        self,
        writer: Workers[sqlite3.Connection],
        index: CurrentIndex,
        values: RecentValues,
        hub: WatchHub,
        tasks: TaskOwner,
        *,
        path: Path,
        clock: Clock,
        wrote: Callable[[int], None],
    ) -> None:
        """`writer` has one thread; `wrote` is told after each commit about how many bytes it made the log grow."""
        self._writer = writer
        self._index = index
        self._values = values
        self._hub = hub
        self._tasks = tasks
        self._path = path
        self._clock = clock
        self._wrote = wrote
        self._assigned = hub.published
        self._pending: deque[Operation] = deque()
        self._group: list[Operation] = []
        self._busy = False
        self._unpublished: dict[int, Write] = {}
        self._waiters: list[tuple[int, asyncio.Future[None]]] = []
        self._idle: list[asyncio.Future[None]] = []
        self._closing = False
        self._error: KVError | None = None
        self._failed = 0
        self._quiet_until = float("-inf")
        self.state = CommitterState.READY

    def __repr__(self) -> str:
        return (
            f"<Committer {self.state.value}, published {self._hub.published}, {len(self._group)} being committed, "
            f"{len(self._pending)} waiting>"
        )

    # Accepting

    def put(self, key: bytes, value: bytes, old: Entry | None, lease: int) -> asyncio.Future[Write]:
        """Accept a put of `key`, which is `old` now. Raises Unavailable or Corrupt while nothing can be written."""
        revision = self._assigned + 1
        if old is None:
            entry = Entry(revision, revision, 1, lease)
        else:
            entry = Entry(revision, old.create_revision, old.version + 1, lease)
        return self._accept(Write(revision, key, value, entry, old), False)

    def delete(self, key: bytes, old: Entry, *, needs_prev: bool) -> asyncio.Future[Write]:
        """Accept a deletion of `key`, which is `old` now; `needs_prev`: its value will be known. Raises like put."""
        return self._accept(Write(self._assigned + 1, key, b"", None, old), needs_prev)

    def record(self, sql: str, parameters: Sequence[Any], committed: Callable[[], None]) -> asyncio.Future[None]:
        """Accept a change that is no revision; `committed` is called when it is durable. Raises as `put`."""
        self.check_ready()
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def done() -> None:
            committed()
            if not future.done():
                future.set_result(None)

        def failed(error: Exception) -> None:
            if not future.done():
                future.set_exception(error)

        self._enqueue(Record(sql, parameters, done, failed))
        return future

    def _accept(self, write: Write, needs_prev: bool) -> asyncio.Future[Write]:
        self.check_ready()
        if write.old is not None:
            replaced = self._unpublished.get(write.old.mod_revision)
            if replaced is not None:
                write.prev_value = replaced.value
            else:
                write.prev_value = self._values.find(write.key, write.old.mod_revision)
                write.needs_prev = needs_prev or self._hub.wants_prev(write.key)
        self._index.replace(write.key, write.entry)
        self._assigned = write.revision
        self._unpublished[write.revision] = write
        write.future = future = asyncio.get_running_loop().create_future()
        self._enqueue(write)
        return future

    def check_ready(self) -> None:
        """Raise Unavailable or Corrupt while nothing can be written."""
        if self._error is not None:
            raise _again(self._error)

    # Waiting

    def unsettled(self, key: bytes, entry: Entry | None) -> bool:
        """Whether `entry`, what the index says of `key`, is not yet committed."""
        if entry is not None:
            return entry.mod_revision in self._unpublished
        return any(write.key == key for write in self._unpublished.values())

    async def settle(self) -> None:
        """Wait until everything accepted so far is published. Raises Unavailable if it fails."""
        await self.published(self._assigned)

    async def published(self, revision: int) -> None:
        """Wait until `revision` is published. It must be one that was accepted or committed."""
        if revision <= self._hub.published:
            return
        self.check_ready()
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.append((revision, future))
        await future

    async def flush(self, *, last: bool = False) -> None:
        """Wait until nothing is on its way, whatever becomes of it. After the `last` time nothing is recovered."""
        self._closing = last
        if self._busy and self.state is CommitterState.READY:
            idle: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._idle.append(idle)
            await idle

    # Committing

    def _enqueue(self, operation: Operation) -> None:
        self._pending.append(operation)
        if not self._busy:
            self._busy = True
            # Not at once: whatever else this turn of the loop writes can share the transaction.
            asyncio.get_running_loop().call_soon(self._start)

    def _start(self) -> None:
        self._group = self._take()
        if not self._group:
            self._busy = False
            self._release_idle()
            return
        self._writer.submit(partial(self._run, loop=asyncio.get_running_loop()), self._done)

    def _take(self) -> list[Operation]:
        """What the next transaction takes of what waits."""
        pending = self._pending
        group: list[Operation] = []
        size = 0
        while pending and len(group) < GROUP_LIMIT and size <= GROUP_BYTES:
            operation = pending.popleft()
            group.append(operation)
            if type(operation) is Write:
                size += len(operation.value)
        return group

    def _run(self, connection: sqlite3.Connection, *, loop: asyncio.AbstractEventLoop) -> None:
        """On the writer thread: commit, until nothing waits or somebody else needs the connection."""
        while True:
            commit(connection, self._group)
            if self._writer.waiting:
                return
            following = self._take()
            if not following:
                return
            loop.call_soon_threadsafe(self._publish, self._group)
            self._group = following

    def _done(self, _: None, error: BaseException | None) -> None:
        if error is not None:
            self._fail(translate(error, self._path))
            return
        group = self._group
        self._start()  # the disk goes on while this thread tells the news
        self._publish(group)

    def _publish(self, group: list[Operation]) -> None:
        """Tell of a group that is durable. Called in the order of commits."""
        writes = [operation for operation in group if type(operation) is Write]
        if writes:
            for write in writes:
                del self._unpublished[write.revision]
                if write.entry is None:
                    self._values.forget(write.key)
                else:
                    self._values.keep(write.key, write.revision, write.value)
            self._hub.publish(writes)
        size = 0
        for operation in group:
            if isinstance(operation, Write):
                size += len(operation.value) + 8192
                future = operation.future
                if future is not None and not future.done():
                    future.set_result(operation)
            else:
                operation.committed()
        self._release()
        self._wrote(size)

    def _release(self) -> None:
        if not self._waiters:
            return
        published = self._hub.published
        waiters, self._waiters = self._waiters, []
        for revision, future in waiters:
            if revision > published:
                self._waiters.append((revision, future))
            elif not future.done():
                future.set_result(None)

    def _release_idle(self) -> None:
        idle, self._idle = self._idle, []
        for future in idle:
            if not future.done():
                future.set_result(None)

    # Failing and recovering

    def _fail(self, error: KVError) -> None:
        """Take everything back that is not committed, or not known to be."""
        operations = self._group + list(self._pending)
        self._complain(error, len(operations))
        self._group = []
        self._pending.clear()
        self._unpublished.clear()
        self._assigned = self._hub.published
        self._error = error
        self.state = CommitterState.RECOVERING
        for operation in reversed(operations):
            if isinstance(operation, Write):
                self._index.replace(operation.key, operation.old)
        for operation in operations:
            if isinstance(operation, Record):
                operation.failed(_again(error))
            elif operation.future is not None and not operation.future.done():
                operation.future.set_exception(_again(error))
        waiters, self._waiters = self._waiters, []
        for _, future in waiters:
            if not future.done():
                future.set_exception(_again(error))
        self._release_idle()
        if not self._closing:
            self._tasks.start("recover", self._recover())

    def _complain(self, error: KVError, count: int) -> None:
        """Tell the log, but not of every write while a disk is full."""
        self._failed += count
        now = self._clock.monotonic()
        if now >= self._quiet_until:
            log.error("%d writes have failed so far, and are told so: %s", self._failed, error)
            self._quiet_until = now + COMPLAINT_SECONDS

    async def _recover(self) -> None:
        """Find out what is committed in truth. Until that is known, nothing can be accepted: revisions could repeat."""
        backoff = Backoff()
        while True:
            try:
                rows = await self._writer.run(lambda connection: rows_after(connection, self._hub.published))
                break
            except Exception as error:
                self._error = translate(error, self._path)
                await self._clock.sleep(backoff.next())
        for revision, key, create_revision, version, lease, _ in rows:
            self._index.replace(key, Entry(revision, create_revision, version, lease) if version else None)
        if rows:
            self._assigned = rows[-1][0]
            self._hub.jump(self._assigned)
        self._error = None
        self._busy = False
        self.state = CommitterState.READY


def _again(error: KVError) -> KVError:
    """An error of its own for each who hears of it; a shared one would collect everybody's traceback."""
    copy = type(error)(*error.args) if isinstance(error, Unavailable) else error
    copy.__cause__ = error.__cause__
    return copy
