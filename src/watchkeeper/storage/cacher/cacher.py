"""The Cacher: a `storage.Interface` that answers GET, LIST and WATCH from memory and passes writes on.

A Feed keeps a WatchCache equal to the store; changes are dispatched to watchers in the same step. What memory cannot
answer (a revision too long ago, a cache that is still starting) goes to the store underneath.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from watchkeeper.aio.clock import SYSTEM_CLOCK, Clock
from watchkeeper.kv import errors as kv_errors
from watchkeeper.storage.cacher.cache_watcher import CacheWatcher
from watchkeeper.storage.cacher.consistency import PERIOD_SECONDS
from watchkeeper.storage.cacher.feed import Feed
from watchkeeper.storage.cacher.history import History
from watchkeeper.storage.cacher.ready import State
from watchkeeper.storage.cacher.snapshot import prefix_end
from watchkeeper.storage.cacher.watch_cache import WatchCache
from watchkeeper.storage.cacher.watchers import Watchers
from watchkeeper.storage.errors import CorruptObjects, Expired, KeyNotFound, TooLargeResourceVersion
from watchkeeper.storage.interface import (
    DeleteOptions,
    EventType,
    ListOptions,
    ListResult,
    Object,
    Stats,
    StoredObject,
    UpdateFunc,
    UpdateOptions,
    Watcher,
    WatchEvent,
    WatchOptions,
)
from watchkeeper.storage.keys import check_key
from watchkeeper.storage.kv_errors import translate
from watchkeeper.storage.list_rules import ListPlan, plan_list
from watchkeeper.storage.store import Store
from watchkeeper.storage.versioner import parse_resource_version
from watchkeeper.storage.watch_rules import WatchPlan, plan_watch
from watchkeeper.storage.watcher import FailedWatcher

R = TypeVar("R")

READY_SECONDS = 2.0
"""So long a request waits for a cache that is starting, if the store underneath should not be asked instead."""

_SAMPLE = 1000


class Cacher:
    """One resource in memory, in front of its Store. It starts when it is first asked for something.

    The revisions it hands out never fall, and whatever a list shows a watch from the list's version goes on behind.
    """

    def __init__(
        self,
        store: Store,
        *,
        index_fields: Sequence[str] = (),
        clock: Clock = SYSTEM_CLOCK,
        history: History | None = None,
        ready_seconds: float = READY_SECONDS,
        check_seconds: float = PERIOD_SECONDS,
        compacted: Callable[[], int] = lambda: 0,
    ) -> None:
        """`index_fields`: field labels worth an index, such as spec.nodeName. `store` is closed with the cacher.

        `check_seconds`: how often the cache is compared with the store; 0 is never. `compacted`: the last revision at
        which the store is known to have been compacted.
        """
        self.store = store
        self.codec = store.codec
        self._root = store.root
        self._ready_seconds = ready_seconds
        self._compacted = compacted
        fields = ("metadata.name", *index_fields)
        self.watchers = Watchers(store.root, fields, clock)
        self.cache = WatchCache(
            store.root,
            clock,
            index_fields=fields,
            history=history,
            on_event=self.watchers.dispatch,
            on_corrupt=self.watchers.tell_corrupt,
        )
        self.feed = Feed(store, self.cache, clock, self.watchers.close_all, check_seconds=check_seconds)
        self.watchers.bookmarks.revision = self.feed.seen_revision
        self.watchers.bookmarks.refresh = self.feed.refresh
        self._lookup = self.cache.snapshot.get

    def __repr__(self) -> str:
        return f"<Cacher {self._root} {self.feed!r} {self.watchers!r}>"

    # Life

    def start(self) -> None:
        """Begin to fill the cache, if that has not been done. Needs a running event loop."""
        if self.feed.start():
            self.watchers.start()

    async def wait_until_ready(self, seconds: float = READY_SECONDS) -> None:
        """Start if need be and wait. Raises NotReady when it takes longer than `seconds`."""
        self.start()
        await self.feed.ready.wait(seconds)
        self.feed.ready.check()

    def ready(self) -> str:
        """ "" when requests are served as they should be, also by a cache that nobody has needed yet."""
        return "" if self.feed.ready.state is State.IDLE else self.feed.ready.reason()

    async def close(self) -> None:
        """End watches and tasks, and close the store. Idempotent."""
        await self.feed.close()
        await self.watchers.close()
        await self.store.close()

    # Reads

    def get_nowait(self, key: str, *, resource_version: str = "") -> StoredObject | None:
        """The object, when memory is known to be fresh enough; None also when it does not exist."""
        feed = self.feed
        if not resource_version:
            if feed.is_fresh_nowait():
                return self._lookup(key)
        elif feed.is_ready and (resource_version == "0" or self._has_reached(resource_version)):
            return self._lookup(key)
        if not feed.is_ready:
            self.start()
        return None

    def _has_reached(self, resource_version: str) -> bool:
        if len(resource_version) > 20 or not (resource_version.isascii() and resource_version.isdecimal()):
            return False
        return int(resource_version) <= self.feed.freshness.revision

    async def get(self, key: str, *, resource_version: str = "") -> StoredObject:
        """Read one object. Raises KeyNotFound, TooLargeResourceVersion, CorruptObject."""
        found = self.get_nowait(key, resource_version=resource_version)
        if found is not None:
            return found
        check_key(key, self._root)
        minimum = parse_resource_version(resource_version)
        if not self.feed.is_ready or (not resource_version and not self.feed.catch_up()):
            return await self.store.get(key, resource_version=resource_version, known=self._lookup(key))
        if not await self.feed.reach(minimum):
            return await _instead(self.store.get(key, resource_version=resource_version))
        found = self._lookup(key)
        if found is not None:
            return found
        if key in self.cache.broken:
            return await self.store.get(key, resource_version=resource_version)
        raise KeyNotFound(f"key not found: {key}", key)

    async def get_list(self, prefix: str, options: ListOptions) -> ListResult:
        """List from memory, or from the store what memory cannot answer."""
        check_key(prefix, self._root)
        plan = plan_list(prefix, options)
        if not self.feed.is_ready:
            self.start()
            if options.limit > 0 and options.predicate.is_empty():
                return await self.store.get_list(prefix, options)  # cheap enough
            await self.wait_until_ready(self._ready_seconds)
        found = await self._list(prefix, options, plan)
        return found if found is not None else await _instead(self.store.get_list(prefix, options))

    async def _list(self, prefix: str, options: ListOptions, plan: ListPlan) -> ListResult | None:
        """None for what the store has to answer."""
        feed = self.feed
        if plan.exact:
            if not prefix.endswith("/"):
                return None
            if not await feed.reach(plan.exact):
                return None
            # Pages end when the store forgets their revision, also where memory still knows it: clients expect that.
            if plan.exact < self._compacted():
                return None
            return self.cache.list_exact(prefix, plan.start, options, plan.exact)
        if plan.consistent:
            if not await feed.make_fresh():
                return None
        else:
            feed.catch_up()
            if not await feed.reach(plan.minimum):
                return None
        if not feed.is_ready:
            return None  # it went while this waited
        return self.cache.list_latest(prefix, plan.start, options, feed.freshness.revision)

    def list_nowait(self, prefix: str) -> list[StoredObject] | None:
        """What is under `prefix`, from memory after catching up; None when memory cannot tell all of it."""
        if not (self.feed.is_fresh_nowait() or self.feed.is_ready) or self.cache.broken:
            self.start()
            return None
        snapshot = self.cache.snapshot
        return snapshot.objects(prefix, prefix_end(prefix)) if snapshot else []

    def is_absent_nowait(self, key: str) -> bool:
        """Whether memory is known to be fresh enough, and has no such object."""
        return self.feed.is_fresh_nowait() and self._lookup(key) is None and key not in self.cache.broken

    async def count(self, prefix: str) -> int:
        """How many objects are under `prefix`, from memory if possible."""
        check_key(prefix, self._root)
        if not self.feed.is_ready:
            self.start()
            return await self.store.count(prefix)
        self.feed.catch_up()
        if not prefix.endswith("/"):
            return int(self._lookup(prefix) is not None)
        return self.cache.snapshot.count(prefix, prefix_end(prefix))

    async def stats(self) -> Stats:
        """From memory; the average size is that of a sample."""
        if not self.feed.is_ready:
            return await self.store.stats()
        snapshot = self.cache.snapshot
        sample = snapshot.objects(limit=_SAMPLE)
        size = sum(len(stored.head) + len(stored.tail) for stored in sample) // len(sample) if sample else 0
        return Stats(len(snapshot), size)

    async def current_resource_version(self) -> int:
        """The store's latest version, linearizable."""
        return await self.store.current_resource_version()

    # Watches

    async def watch(self, prefix: str, options: WatchOptions) -> Watcher:
        """Follow from memory. Raises InvalidRequest, NotReady; what fails later comes as an ERROR event."""
        check_key(prefix, self._root)
        plan = plan_watch(options)
        await self.wait_until_ready(self._ready_seconds)
        feed = self.feed
        try:
            minimum = plan.version if plan.initial else 0
            if plan.consistent and not feed.catch_up():
                minimum = await self.store.kv.current_revision()
            if not await feed.reach(minimum):
                return await self.store.watch(prefix, options)
            feed.ready.check()  # it may have gone while this waited
            return self._open(prefix, options, plan)
        except kv_errors.KVError as e:
            return FailedWatcher(translate(e, prefix))
        except (TooLargeResourceVersion, Expired, CorruptObjects) as e:
            return FailedWatcher(e)

    def _open(self, prefix: str, options: WatchOptions, plan: WatchPlan) -> CacheWatcher:
        """Synchronous from the look at the state to the registration, so nothing can fall in between."""
        revision = self.feed.seen_revision()
        if plan.initial:
            objects = self.cache.list_latest(prefix, "", ListOptions(predicate=options.predicate), revision).items
            mark = WatchEvent(EventType.BOOKMARK, None, revision, initial_events_end=True) if plan.marked else None
            return self.watchers.open(prefix, options, objects, revision, mark)
        version = plan.version or revision
        floor = self.cache.history.floor
        if version < floor:
            raise Expired(f"too old resource version: {version} ({floor})")
        events = self.cache.events_since(version, prefix)
        return self.watchers.open(prefix, options, events, max(version, revision), None)

    # Writes

    async def create(self, key: str, obj: Object, *, ttl: int = 0, settled: bool = False) -> StoredObject:
        """Passed on."""
        if not self.feed.is_ready:
            await self._before_write()
        return self._told(await self.store.create(key, obj, ttl=ttl, settled=settled))

    async def guaranteed_update(
        self, key: str, update: UpdateFunc, options: UpdateOptions = UpdateOptions()
    ) -> StoredObject:
        """Passed on, with what is cached as the suggestion."""
        if not self.feed.is_ready:
            await self._before_write()
        suggestion = self._suggestion(key) if not options.exact else None
        if suggestion is not None:
            options = UpdateOptions(
                ignore_not_found=options.ignore_not_found,
                preconditions=options.preconditions,
                suggestion=suggestion,
                ttl=options.ttl,
                settled=options.settled,
                keeps_settled=options.keeps_settled,
            )
        return self._told(await self.store.guaranteed_update(key, update, options))

    async def delete(self, key: str, options: DeleteOptions = DeleteOptions()) -> StoredObject:
        """Passed on, with what is cached as the suggestion."""
        if not self.feed.is_ready:
            await self._before_write()
        suggestion = self._suggestion(key)
        if suggestion is not None:
            options = DeleteOptions(
                preconditions=options.preconditions,
                validate=options.validate,
                suggestion=suggestion,
                unsafe=options.unsafe,
            )
        return self._told(await self.store.delete(key, options))

    async def _before_write(self) -> None:
        """The first write waits for the cache, so that its version is one that can be watched from."""
        if self.feed.ready.state is State.IDLE:
            self.start()
            await self.feed.ready.wait(self._ready_seconds)

    def _told(self, stored: StoredObject) -> StoredObject:
        """What has been written, once watchers have heard of it, where that takes no waiting.

        Controllers compare the versions that they have written with those that they have been told of, and start over
        when they are behind: kube-apiserver's answers come after its events.
        """
        if self.feed.is_ready:
            self.feed.catch_up()
            self.watchers.flush()
        return stored

    def _suggestion(self, key: str) -> StoredObject | None:
        feed = self.feed
        return self._lookup(key) if feed.is_fresh_nowait() or feed.is_ready else None


async def _instead(answer: Awaitable[R]) -> R:
    """What the store says where memory cannot tell how far it is. A version that is not there yet may come to be."""
    try:
        return await answer
    except TooLargeResourceVersion as error:
        raise TooLargeResourceVersion(error.requested, error.current) from error
