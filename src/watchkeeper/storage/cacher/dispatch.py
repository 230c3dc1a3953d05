"""Giving changes to watchers: one synchronous pass, in which nobody waits for anybody."""

from __future__ import annotations

import asyncio
import logging

from watchkeeper.aio.clock import Clock
from watchkeeper.storage.cacher.cache_watcher import CacheWatcher
from watchkeeper.storage.cacher.events import CacheEvent
from watchkeeper.storage.cacher.watcher_index import Group, WatcherIndex
from watchkeeper.storage.interface import EventType, WatchEvent

log = logging.getLogger(__name__)

QUEUE_LIMIT = 1_000
"""Events that may wait for one watcher before it counts as slow."""

QUEUE_MAX = 10_000
"""Events that may wait for a slow watcher; with more it is closed at once."""

GRACE_SECONDS = 1.0
"""So long a watcher may be slow."""

_REAP_PERIOD = 0.25


class Dispatcher:
    """Puts events into the watchers' queues and closes those that fall behind.

    A watcher whose queue exceeds its limit becomes a victim: it has a little time to catch up, and is then closed. Its
    client resumes from the last version it has, by which time it costs nobody anything.
    """

    def __init__(
        self, watchers: WatcherIndex, clock: Clock, *, queue_limit: int = QUEUE_LIMIT, queue_max: int = QUEUE_MAX
    ) -> None:
        self._watchers = watchers
        self._clock = clock
        self._limit = queue_limit
        self._max = queue_max
        self._victims: dict[CacheWatcher, None] = {}
        self._any_victim = asyncio.Event()
        self.terminated = 0
        """Watchers closed for being slow."""

    def __repr__(self) -> str:
        return f"<Dispatcher {len(self._watchers)} watchers, {len(self._victims)} slow>"

    def dispatch(self, event: CacheEvent) -> None:
        """Give one change to everybody whom it concerns. All of them share one WatchEvent per outcome."""
        shown: dict[EventType, WatchEvent] = {}
        for group in self._watchers.interested(event):
            type = event.type_for(group.predicate)
            if type is None:
                continue
            watch_event = shown.get(type)
            if watch_event is None:
                watch_event = shown[type] = event.shown(type)
            self._give(group, watch_event)

    def _give(self, group: Group, event: WatchEvent) -> None:
        limit = self._limit
        revision = event.resource_version
        overfull: list[CacheWatcher] | None = None
        for watcher in group.watchers:
            if revision > watcher.after and watcher.put(event) > limit:
                overfull = [watcher] if overfull is None else [*overfull, watcher]
        if overfull is not None:
            for watcher in overfull:
                self._overfull(watcher)

    def _overfull(self, watcher: CacheWatcher) -> None:
        if len(watcher.queue) > self._max:
            self._terminate(watcher)
        elif watcher.overfull_since is None:
            watcher.overfull_since = self._clock.monotonic()
            self._victims[watcher] = None
            self._any_victim.set()

    def _terminate(self, watcher: CacheWatcher) -> None:
        log.info("closing a watcher that is too slow: %r", watcher)
        self.terminated += 1
        watcher.close()

    def forget(self, watcher: CacheWatcher) -> None:
        """A watcher has been closed."""
        self._victims.pop(watcher, None)

    def reap(self) -> None:
        """Close victims whose time is up; those that caught up are none any more."""
        now = self._clock.monotonic()
        for watcher in list(self._victims):
            since = watcher.overfull_since
            if len(watcher.queue) <= self._limit or since is None:
                watcher.overfull_since = None
                del self._victims[watcher]
            elif now - since >= GRACE_SECONDS:
                self._terminate(watcher)

    async def run(self) -> None:
        """Look after victims for ever; sleeps while there are none."""
        while True:
            self._any_victim.clear()
            if not self._victims:
                await self._any_victim.wait()
            await self._clock.sleep(_REAP_PERIOD)
            self.reap()
