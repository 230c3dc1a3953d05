"""When each watcher is due for a bookmark: about once a minute, and shortly before it ends.

Precision is a second, so that everybody due in the same one is served by one shared event.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable

from watchkeeper.aio.clock import Clock, set_or_reached
from watchkeeper.storage.cacher.cache_watcher import CacheWatcher
from watchkeeper.storage.interface import EventType, WatchEvent

PERIOD_SECONDS = 60.0
BEFORE_DEADLINE_SECONDS = 2.0


class Bookmarks:
    """Watchers by the second in which their next bookmark is due."""

    def __init__(self, clock: Clock) -> None:
        self.revision: Callable[[], int] = lambda: 0
        """Up to which everything has been dispatched, at the moment of the call. To be set before `run`."""
        self.refresh: Callable[[], Awaitable[None]] = _nothing
        """Bring the revision up to date, if that takes asking somebody. To be set before `run`."""
        self._clock = clock
        self._buckets: dict[int, dict[CacheWatcher, None]] = {}
        self._next = math.inf
        """The bucket that `run` waits for."""
        self._earlier = asyncio.Event()
        """A watcher is due before that one."""

    def __len__(self) -> int:
        return sum(map(len, self._buckets.values()))

    def __repr__(self) -> str:
        return f"<Bookmarks for {len(self)} watchers>"

    def add(self, watcher: CacheWatcher) -> None:
        """Schedule a watcher's next bookmark, unless it ends before."""
        now = self._clock.monotonic()
        due = now + PERIOD_SECONDS
        if watcher.deadline is not None:
            due = min(due, watcher.deadline - BEFORE_DEADLINE_SECONDS)
        if due < now:
            return
        bucket = int(due)
        watcher.bookmark_due = bucket
        self._buckets.setdefault(bucket, {})[watcher] = None
        if bucket < self._next:
            self._earlier.set()

    def remove(self, watcher: CacheWatcher) -> None:
        """Forget a watcher. Unknown ones are ignored."""
        bucket = watcher.bookmark_due
        if bucket is None:
            return
        watcher.bookmark_due = None
        watchers = self._buckets[bucket]
        del watchers[watcher]
        if not watchers:
            del self._buckets[bucket]

    def send_due(self) -> None:
        """Give all that are due the same bookmark, and schedule their next."""
        now = int(self._clock.monotonic())
        due = self._due(now)
        if not due:
            return
        event = WatchEvent(EventType.BOOKMARK, None, self.revision())
        for bucket in due:
            for watcher in list(self._buckets[bucket]):
                self.remove(watcher)
                # It began in the future, or has not got so far: a bookmark would tell of what it has not been given.
                if event.resource_version >= watcher.after:
                    watcher.put(event)
                if watcher.deadline is None or watcher.deadline - BEFORE_DEADLINE_SECONDS > now + 1:
                    self.add(watcher)

    async def run(self) -> None:
        """Send bookmarks for ever. Every resource has such a task: while nothing is due it does not wake."""
        while True:
            self._earlier.clear()
            self._next = min(self._buckets, default=math.inf)
            await set_or_reached(self._earlier, self._clock, self._next + 1, name="bookmarks")
            if self._due(int(self._clock.monotonic())):
                await self.refresh()
                self.send_due()

    def _due(self, now: int) -> list[int]:
        return [bucket for bucket in self._buckets if bucket <= now]


async def _nothing() -> None:
    """The revision is always up to date."""
