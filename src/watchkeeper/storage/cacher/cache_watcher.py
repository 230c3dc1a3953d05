"""One client's watch of a cache."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

from watchkeeper.storage.cacher.delivery import Delivery
from watchkeeper.storage.cacher.events import CacheEvent
from watchkeeper.storage.interface import EventType, StoredObject, WatchEvent
from watchkeeper.storage.predicate import SelectionPredicate
from watchkeeper.storage.transition import selects

log = logging.getLogger(__name__)


class CacheWatcher:
    """First what it began with, then a queue that the dispatcher fills and the client empties.

    What it begins with (the state, or changes since a version) is held by reference and converted as the client takes
    it, so opening a watch costs nothing per object. Closed by its client, the cache, or for being slow, it drops what
    is queued and ends.
    """

    __slots__ = (
        "__weakref__",
        "_at",
        "_delivery",
        "_ending",
        "_initial",
        "_mark",
        "_on_close",
        "_predicate",
        "_starting",
        "_take",
        "_waiter",
        "after",
        "bookmark_due",
        "closed",
        "deadline",
        "overfull_since",
        "queue",
    )

    def __init__(
        self,
        predicate: SelectionPredicate | None,
        initial: Sequence[StoredObject] | Sequence[CacheEvent],
        after: int,
        on_close: Callable[[CacheWatcher], None],
        *,
        mark: WatchEvent | None = None,
        deadline: float | None = None,
        delivery: Delivery | None = None,
    ) -> None:
        """`after`: changes up to this revision are not for it, or are in `initial`. `mark` comes behind `initial`.

        `delivery` is needed for pushing.
        """
        self._predicate = predicate
        self._initial = initial
        self._at = 0
        self._ending = False
        self._mark = mark
        self._starting = bool(initial) or mark is not None
        self._on_close = on_close
        self._waiter: asyncio.Future[None] | None = None
        """Of whoever waits; one that is done is nobody's any more."""
        self._delivery = delivery
        self._take: Callable[[list[WatchEvent]], bool] | None = None
        self.after = after
        self.deadline = deadline
        self.bookmark_due: int | None = None
        """The time bucket in which its next bookmark is due; kept by Bookmarks."""
        self.queue: list[WatchEvent] = []
        self.overfull_since: float | None = None
        """Since when its queue has been longer than it should be; kept by the dispatcher."""
        self.closed = False

    def __repr__(self) -> str:
        state = "closed" if self.closed else "open"
        return f"<CacheWatcher {state}, {len(self._initial) - self._at} initial, {len(self.queue)} queued>"

    def push_to(self, take: Callable[[list[WatchEvent]], bool]) -> None:
        """As `PushingWatcher` says."""
        if self._delivery is not None:
            self._take = take

    def put(self, event: WatchEvent) -> int:
        """Queue an event and wake the client. Returns how many are queued; bounds are the dispatcher's business."""
        queue = self.queue
        queue.append(event)
        waiter = self._waiter
        if waiter is not None and not waiter.done():
            if self._take is None or self._ending:
                waiter.set_result(None)
            elif len(queue) == 1:
                assert self._delivery is not None
                self._delivery.add(self)
        return len(queue)

    def deliver(self) -> None:
        """Push what is queued, if the reader still waits for it, or wake the reader."""
        waiter, queue, take = self._waiter, self.queue, self._take
        if waiter is None or waiter.done() or not queue:
            return
        if take is not None and not self._ending:
            try:
                if take(queue):
                    self.queue = []
                    return
            except Exception:
                log.exception("pushing to %r failed", self)  # the reader meets the same and says so to its client
        if not waiter.done():  # a client that turned out to be gone has ended its reader
            waiter.set_result(None)

    async def next_batch(self, max_events: int = 1000) -> list[WatchEvent]:
        """The next events; [] when it has ended."""
        while not self.closed:
            if self._starting:
                batch = self._take_initial(max_events)
                if batch:
                    return batch
                await asyncio.sleep(0)  # nothing in this stretch was selected; let others run
            elif self.queue:
                return self._take_queued(max_events)
            elif self._ending:
                self.close()
            else:
                self._waiter = asyncio.get_running_loop().create_future()
                await self._waiter
        return []

    def _take_queued(self, max_events: int) -> list[WatchEvent]:
        queue = self.queue
        if len(queue) <= max_events:
            self.queue = []
            return queue
        self.queue = queue[max_events:]
        return queue[:max_events]

    def _take_initial(self, max_events: int) -> list[WatchEvent]:
        """Convert the next stretch of what it began with; the mark is the last."""
        if not self._initial:
            self._starting = False
            mark, self._mark = self._mark, None
            return [mark] if mark is not None else []
        stretch = self._initial[self._at : self._at + max_events]
        self._went_on(self._at + len(stretch))
        predicate = self._predicate
        batch = []
        for item in stretch:
            if isinstance(item, CacheEvent):
                type = item.type_for(predicate)
                if type is not None:
                    batch.append(item.shown(type))
            elif selects(predicate, item):
                batch.append(WatchEvent(EventType.ADDED, item))
        return batch

    def _went_on(self, at: int) -> None:
        self._at = at
        if at >= len(self._initial):
            self._initial, self._at = (), 0  # nobody needs to remember what a watch began with
        self._starting = bool(self._initial) or self._mark is not None

    def take_initial(self, max_bytes: int) -> list[StoredObject] | None:
        """As `BeginningWatcher` says."""
        initial, at = self._initial, self._at
        stretch: list[StoredObject] = []
        left = max_bytes
        while left > 0 and at < len(initial):
            item = initial[at]
            if isinstance(item, CacheEvent):
                break
            stretch.append(item)
            left -= len(item.tail)
            at += 1
        if not stretch:
            return None
        self._went_on(at)
        predicate = self._predicate
        return stretch if predicate is None else [item for item in stretch if selects(predicate, item)]

    def fail(self, error: Exception) -> None:
        """Tell the client of an error, behind what it has not taken yet, and end. No more events must come."""
        self._ending = True
        self._on_close(self)
        self.put(WatchEvent(EventType.ERROR, error=error))

    def finish(self) -> None:
        """End once the client has taken what is there. Idempotent."""
        if self.closed or self._ending:
            return
        self._ending = True
        self._on_close(self)
        self._wake()

    def close(self) -> None:
        """End now. Idempotent."""
        if self.closed:
            return
        self.closed = True
        self._initial, self._mark, self.queue = (), None, []
        self._on_close(self)
        self._wake()

    def _wake(self) -> None:
        waiter = self._waiter
        if waiter is not None and not waiter.done():
            waiter.set_result(None)
