"""Watches of an SQLite store: live ones are fed by what is committed, those behind read the log until they are live.

    open after the newest revision ──────────────▶ LIVE ──close, end──▶ gone
    open after an older one ──▶ BEHIND ──caught up──▶ │
                                  ▲                  │
                                  └──────────────────┘ lags too far, or an event lacks what the watch asked for

Everything here runs on the event loop; each function is one step.
"""

from __future__ import annotations

import asyncio
import enum
from collections.abc import Awaitable, Sequence
from typing import Protocol

from watchkeeper.aio.tasks import TaskOwner
from watchkeeper.kv.errors import KVError
from watchkeeper.kv.interface import Event, WatchBatch
from watchkeeper.kv.mailbox_watch import MailboxWatch
from watchkeeper.kv.prefix_index import PrefixIndex
from watchkeeper.kv.sqlite.reading import LogPart
from watchkeeper.kv.sqlite.writing import Write

LAG_LIMIT = 5_000
"""Batches that may wait for a consumer. One that is further behind gets them from the log when it wants them."""

LAG_RESUME = 500
"""Reading the log for a watch goes on when no more than this many batches wait."""


class WatchState(enum.Enum):
    """Where the next batch of a watch comes from."""

    LIVE = "live"
    BEHIND = "behind"


class ReadLog(Protocol):
    """Reads the part of the log that a watch wants next; returns once all it saw has been published."""

    def __call__(self, prefix: bytes, after: int, *, prev_kv: bool) -> Awaitable[LogPart]:
        """Raises Compacted, Unavailable, Corrupt, Closed."""
        ...


class SQLiteWatch(MailboxWatch):
    """A watch of an SQLiteKV.

    `through` is the revision up to which everything is in the mailbox, or has been; it matters while the watch is
    behind. A watch that is catching up keeps what is published meanwhile in a bounded buffer, so that it cannot be
    outrun for ever; None means that the buffer is not complete.
    """

    __slots__ = ("_buffer", "_drained", "_hub", "_progress_wanted", "state", "through")

    def __init__(self, hub: WatchHub, prefix: bytes, after_revision: int, prev_kv: bool) -> None:
        super().__init__(prefix, after_revision, prev_kv)
        self._hub = hub
        self._buffer: list[WatchBatch] | None = None
        self._drained: asyncio.Future[None] | None = None
        self._progress_wanted = False
        self.state = WatchState.LIVE
        self.through = after_revision

    def __repr__(self) -> str:
        return f"<SQLiteWatch {self.prefix!r} {self.state.value} after {self.after_revision}: {self.mailbox!r}>"

    def offer(self, batch: WatchBatch) -> bool:
        """Deliver a batch that was just published. False when the watch has fallen behind by it."""
        if self.state is WatchState.BEHIND:
            if self._buffer is not None:
                self._buffer.append(batch)
                if len(self._buffer) > LAG_LIMIT:
                    self._buffer = None
            return True
        self._put(batch, self.after_revision)
        if len(self.mailbox.items) <= LAG_LIMIT:
            return True
        self.fall_behind(batch.revision)
        return False

    def fall_behind(self, through: int) -> None:
        """From after `through`, the log has to be read."""
        self.state = WatchState.BEHIND
        self.through = max(through, self.after_revision)
        self._buffer = None

    def start_buffering(self) -> None:
        """From here on keep what is published."""
        self._buffer = []

    def stop_buffering(self) -> None:
        """What is published cannot be delivered as it is."""
        self._buffer = None

    def advance(self, part: LogPart) -> None:
        """Deliver what was read from the log, and become live if nothing is missing then."""
        for batch in part.batches:
            self.mailbox.put_nowait(batch)
        self.through = part.through
        if part.through < part.revision or self._buffer is None:
            return
        for batch in self._buffer:
            self._put(batch, part.through)
        self._buffer = None
        self.state = WatchState.LIVE
        if self._progress_wanted:
            self.progress()

    def progress(self) -> None:
        """Put an empty batch behind what waits; while the watch is behind, once it is not."""
        self._progress_wanted = self.state is WatchState.BEHIND
        if not self._progress_wanted:
            self.mailbox.put_nowait(WatchBatch(self._hub.published))

    async def drained(self) -> None:
        """Wait until the consumer has taken nearly everything."""
        while len(self.mailbox.items) > LAG_RESUME and not self.mailbox.closed:
            self._drained = asyncio.get_running_loop().create_future()
            await self._drained

    def _put(self, batch: WatchBatch, after: int) -> None:
        """Deliver the events after a revision. Batches begin at or before it only when a watch joins or starts late."""
        if batch.events and batch.events[0].kv.mod_revision <= after:
            events = tuple(event for event in batch.events if event.kv.mod_revision > after)
            if not events:
                return
            batch = WatchBatch(batch.revision, events)
        self.mailbox.put_nowait(batch)

    def _reached(self) -> int:
        return self._hub.published if self.state is WatchState.LIVE else self.through

    def is_current_nowait(self) -> bool:
        """Whether nothing waits, nor has to be read from the log."""
        mailbox = self.mailbox
        return not (mailbox.items or mailbox.closed) and self.state is WatchState.LIVE

    def _forget(self) -> None:
        self._hub.forget(self)
        self._wake()

    def _took(self) -> None:
        if self._drained is not None and len(self.mailbox.items) <= LAG_RESUME:
            self._wake()

    def _wake(self) -> None:
        if self._drained is not None and not self._drained.done():
            self._drained.set_result(None)


class WatchHub:
    """All watches of one store, and the newest revision that they and everybody else may know of."""

    def __init__(self, published: int, read_log: ReadLog, tasks: TaskOwner) -> None:
        """`published`: the revision that the store begins with; `tasks` owns the catching up."""
        self.published = published
        self._read_log = read_log
        self._tasks = tasks
        self._watches: PrefixIndex[SQLiteWatch] = PrefixIndex()
        self._opened = 0

    def __repr__(self) -> str:
        return f"<WatchHub at {self.published}: {len(self._watches)} watches>"

    def open(self, prefix: bytes, after_revision: int, *, prev_kv: bool) -> SQLiteWatch:
        """A new watch after a revision, which may be in the future; 0 means from now on."""
        watch = SQLiteWatch(self, prefix, after_revision or self.published, prev_kv)
        self._watches.add(prefix, watch)
        if watch.after_revision < self.published:
            watch.fall_behind(watch.after_revision)
            self._catch_up_later(watch)
        return watch

    def forget(self, watch: SQLiteWatch) -> None:
        """Deliver nothing more to `watch`."""
        self._watches.remove(watch.prefix, watch)

    def wants_prev(self, key: bytes) -> bool:
        """Whether a watch asks for what a change of `key` replaces."""
        return any(watch.prev_kv for watch in self._watches.matching(key))

    def publish(self, writes: Sequence[Write]) -> None:
        """Tell everybody of writes that have been committed together; each watch gets one batch at most."""
        before = self.published
        self.published = revision = writes[-1].revision
        batches: dict[SQLiteWatch, list[Event]] = {}
        for write in writes:
            plain = full = None
            for watch in self._watches.matching(write.key):
                if not watch.prev_kv:
                    plain = event = plain or write.event(prev_kv=False)
                elif write.old is None or write.prev_value is not None:
                    full = event = full or write.event(prev_kv=True)
                else:
                    # Accepted before anybody asked for previous states: the log knows it.
                    self._miss(watch, before)
                    continue
                batches.setdefault(watch, []).append(event)
        for watch, events in batches.items():
            if not watch.offer(WatchBatch(revision, tuple(events))):
                self._catch_up_later(watch)

    def _miss(self, watch: SQLiteWatch, before: int) -> None:
        if watch.state is WatchState.LIVE:
            watch.fall_behind(before)
            self._catch_up_later(watch)
        else:
            watch.stop_buffering()

    def jump(self, published: int) -> None:
        """Everybody reads what has happened up to `published` from the log: it was committed, but not by a group."""
        before, self.published = self.published, published
        for watch in self._watches.all():
            self._miss(watch, before)

    def end(self, error: KVError) -> None:
        """End all watches."""
        for watch in self._watches.all():
            watch.end(error)

    def _catch_up_later(self, watch: SQLiteWatch) -> None:
        self._opened += 1
        self._tasks.start(f"catch-up-{self._opened}", self._catch_up(watch))

    async def _catch_up(self, watch: SQLiteWatch) -> None:
        while watch.state is WatchState.BEHIND and not watch.mailbox.closed:
            await watch.drained()
            watch.start_buffering()
            try:
                part = await self._read_log(watch.prefix, watch.through, prev_kv=watch.prev_kv)
            except KVError as error:
                watch.end(error)
                return
            if not watch.mailbox.closed:
                watch.advance(part)
