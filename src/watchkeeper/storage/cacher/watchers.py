"""All watchers of one cache: found by index, told by the dispatcher, kept fresh by bookmarks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from watchkeeper.aio.clock import Clock
from watchkeeper.aio.tasks import TaskOwner
from watchkeeper.storage.cacher.bookmarks import Bookmarks
from watchkeeper.storage.cacher.cache_watcher import CacheWatcher
from watchkeeper.storage.cacher.delivery import Delivery
from watchkeeper.storage.cacher.dispatch import Dispatcher
from watchkeeper.storage.cacher.events import CacheEvent
from watchkeeper.storage.cacher.watcher_index import WatcherIndex
from watchkeeper.storage.errors import CorruptObject
from watchkeeper.storage.interface import StoredObject, WatchEvent, WatchOptions


class Watchers:
    """Opens and closes watchers and tells them what happens."""

    def __init__(self, root: str, index_fields: Iterable[str], clock: Clock) -> None:
        """`root`: the prefix of all keys, with its final slash. `index_fields`: fields by which watchers are found."""
        self._index = WatcherIndex(root, frozenset(index_fields))
        self._dispatcher = Dispatcher(self._index, clock)
        self._tasks = TaskOwner(f"watchers {root}")
        self._delivery = Delivery()
        self.flush = self._delivery.flush
        """Let watchers whose clients keep up have now what has been dispatched to them."""
        self.bookmarks = Bookmarks(clock)
        self.dispatch = self._dispatcher.dispatch
        """Give one change to everybody whom it concerns."""

    def __len__(self) -> int:
        return len(self._index)

    def __repr__(self) -> str:
        return f"<Watchers {self._dispatcher!r} {self.bookmarks!r}>"

    @property
    def terminated(self) -> int:
        """How many have been closed for being slow."""
        return self._dispatcher.terminated

    def start(self) -> None:
        """Look after slow watchers and bookmarks from now on."""
        self._tasks.start("bookmarks", self.bookmarks.run())
        self._tasks.start("slow", self._dispatcher.run())

    def open(
        self,
        prefix: str,
        options: WatchOptions,
        initial: Sequence[StoredObject] | Sequence[CacheEvent],
        after: int,
        mark: WatchEvent | None,
    ) -> CacheWatcher:
        """Add a watcher that begins with `initial` and `mark` and is told what comes after the revision `after`."""
        predicate = None if options.predicate.is_empty() else options.predicate
        watcher = CacheWatcher(
            predicate, initial, after, self._forget, mark=mark, deadline=options.deadline, delivery=self._delivery
        )
        self._index.add(watcher, prefix, predicate)
        if options.bookmarks:
            self.bookmarks.add(watcher)
        return watcher

    def _forget(self, watcher: CacheWatcher) -> None:
        self._index.remove(watcher)
        self.bookmarks.remove(watcher)
        self._dispatcher.forget(watcher)

    def close_all(self) -> None:
        """End all watchers; their clients resume, or list anew."""
        for watcher in self._index:
            watcher.close()

    def tell_corrupt(self, error: CorruptObject) -> None:
        """An object cannot be read: whoever watches it learns of it as the last thing."""
        for watcher in self._index.covering(error.key):
            watcher.fail(error)

    async def close(self) -> None:
        """End all watchers and tasks. Idempotent."""
        self.close_all()
        await self._tasks.close()
