"""The Cacher: a `storage.Interface` that answers GET, LIST and WATCH from memory and passes writes on.

A Reflector keeps a WatchCache equal to the store; changes are dispatched to watchers in the same step. What memory
cannot answer (a revision too long ago, a cache that is still starting) goes to the store underneath.
"""

from __future__ import annotations

from collections.abc import Sequence

from watchkeeper.aio.backoff import Backoff
from watchkeeper.aio.clock import SYSTEM_CLOCK, Clock
from watchkeeper.aio.tasks import TaskOwner
from watchkeeper.kv import errors as kv_errors
from watchkeeper.reflector.interface import Expired as ListAnew
from watchkeeper.reflector.reflector import Reflector
from watchkeeper.storage.cacher.bookmarks import Bookmarks
from watchkeeper.storage.cacher.cache_watcher import CacheWatcher
from watchkeeper.storage.cacher.consistency import ConsistencyCheck
from watchkeeper.storage.cacher.consistency import State as CheckedState
from watchkeeper.storage.cacher.dispatch import Dispatcher
from watchkeeper.storage.cacher.events import CacheEvent
from watchkeeper.storage.cacher.freshness import Freshness
from watchkeeper.storage.cacher.history import History
from watchkeeper.storage.cacher.lister_watcher import Change, KVListerWatcher
from watchkeeper.storage.cacher.ready import Readiness, State
from watchkeeper.storage.cacher.watch_cache import WatchCache
from watchkeeper.storage.cacher.watcher_index import WatcherIndex
from watchkeeper.storage.closing import Closer
from watchkeeper.storage.errors import CorruptObject, CorruptObjects, Expired, KeyNotFound, TooLargeResourceVersion
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
from watchkeeper.storage.own_writes import OwnWrites
from watchkeeper.storage.store import Store
from watchkeeper.storage.value.interface import KeyNeeded
from watchkeeper.storage.versioner import parse_resource_version
from watchkeeper.storage.watch_rules import WatchPlan, plan_watch
from watchkeeper.storage.watcher import FailedWatcher

LIST_PAGE = 10_000
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
    ) -> None:
        """`index_fields`: field labels worth an index, such as spec.nodeName. `store` is closed with the cacher."""
        self.store = store
        self.codec = store.codec
        self._kv = store.kv
        self._root = store.root
        self._clock = clock
        self._ready_seconds = ready_seconds
        self._tasks = TaskOwner(f"cacher {store.root}")
        self._closer = Closer(f"cacher {store.root}")
        self._ready = Readiness(clock)
        self._freshness = Freshness(clock, self._tasks, self._request_progress)
        fields = frozenset({"metadata.name", *index_fields})
        self._watchers = WatcherIndex(store.root, fields)
        self._dispatcher = Dispatcher(self._watchers, clock)
        self._bookmarks = Bookmarks(clock, self._seen_revision)
        self._cache = WatchCache(
            store.root,
            clock,
            index_fields=tuple(fields),
            history=history,
            on_event=self._dispatcher.dispatch,
            on_corrupt=self._tell_corrupt,
        )
        own_writes = OwnWrites()
        self._own_writes = own_writes
        self._source = KVListerWatcher(
            store.kv, store.decoder, store.root, own_writes, self._closer, lambda: self._freshness.revision
        )
        self._lookup = self._cache.snapshot.get
        # Whether this process knows all revisions, so that reads can be proven fresh without asking the store.
        self._in_process = store.kv.current_revision_nowait() is not None and not store.decoder.needs_keys

    def __repr__(self) -> str:
        state = self._ready.state.value
        return f"<Cacher {self._root} {state} at {self._freshness.revision}, {len(self._watchers)} watchers>"

    # Life

    def start(self) -> None:
        """Begin to fill the cache, if that has not been done. Needs a running event loop."""
        if self._ready.start():
            self.store.own_writes = self._own_writes
            reflector: Reflector[Change, Change] = Reflector(
                self._root,
                self._source,
                self,
                page_size=LIST_PAGE,
                initial_version="",
                backoff=Backoff(initial=0.1, limit=5.0),
                clock=self._clock,
            )
            self._tasks.start("reflector", reflector.run())
            self._tasks.start("bookmarks", self._bookmarks.run())
            self._tasks.start("slow-watchers", self._dispatcher.run())
            check = ConsistencyCheck(self._kv, self._root, self._checked_state, self._fill_anew, self._clock)
            self._tasks.start("consistency", check.run())

    def _checked_state(self) -> CheckedState | None:
        if self._ready.state is not State.READY:
            return None
        cache = self._cache
        versions = {stored.key.encode(): stored.resource_version for stored in cache.snapshot.all()}
        return self._freshness.revision, versions, frozenset(key.encode() for key in cache.broken)

    def _fill_anew(self, reason: str) -> None:
        stream = self._source.stream
        if stream is not None:
            stream.fail(ListAnew(f"the cache differs from the store: {reason}"))

    async def wait_until_ready(self, seconds: float = READY_SECONDS) -> None:
        """Start if need be and wait. Raises NotReady when it takes longer than `seconds`."""
        self.start()
        await self._ready.wait(seconds)
        self._ready.check()

    def ready(self) -> str:
        """ "" when requests are served as they should be, also by a cache that nobody has needed yet."""
        return "" if self._ready.state is State.IDLE else self._ready.reason()

    async def close(self) -> None:
        """End watches and tasks, and close the store. Idempotent."""
        self._ready.stop()
        self.store.own_writes = None
        self._close_watchers()
        await self._tasks.close()
        await self._closer.drain()
        await self.store.close()

    # The Reflector's sink

    def replace(self, items: Sequence[Change], resource_version: str) -> None:
        """The whole state has been listed."""
        revision = int(resource_version)
        self._close_watchers()
        self._own_writes.clear()
        self._cache.replace(items, revision)
        self._freshness.reset(revision)
        self._ready.set_ready()

    def apply(self, changes: Sequence[Change], resource_version: str) -> None:
        """The store has told of changes, or of progress."""
        self._cache.apply(changes, self._freshness.revision)
        self._freshness.advance(int(resource_version))

    def interrupted(self, error: Exception) -> None:
        """What is cached cannot be followed any more."""
        self._ready.set_pending(error)
        self._close_watchers()

    def _close_watchers(self) -> None:
        for watcher in self._watchers:
            watcher.close()

    def _tell_corrupt(self, error: CorruptObject) -> None:
        for watcher in self._watchers.covering(error.key):
            watcher.fail(error)

    # Freshness

    def _catch_up(self) -> bool:
        """Take in what the store has told already. Whether everything is known that the store has acknowledged.

        This is what makes a read after a write see it without waiting: store and cache are in one process.
        """
        stream = self._source.stream
        if not self._in_process or stream is None or self._ready.state is not State.READY:
            return False
        try:
            while (batch := stream.take_nowait()) is not None:
                self.apply(batch.changes, batch.resource_version)
        except (kv_errors.KVError, StopAsyncIteration):
            return False  # the Reflector meets the same and acts on it
        except KeyNeeded:
            # The batch is taken and cannot be given back: follow anew from where the cache is, and fetch the key.
            stream.fail(kv_errors.Unavailable("a key has to be fetched"))
            return False
        delivered = stream.watch.delivered_revision_nowait()
        if delivered is None or delivered != self._kv.current_revision_nowait():
            return False
        self._freshness.advance(delivered)
        return True

    def _seen_revision(self) -> int:
        self._catch_up()
        return self._freshness.revision

    async def _make_fresh(self) -> bool:
        """Get everything that the store has acknowledged so far. False when that took too long."""
        if self._catch_up():
            return True
        try:
            revision = await self._kv.current_revision()
        except kv_errors.KVError as e:
            raise translate(e, self._root) from e
        return await self._freshness.wait(revision)

    async def _reach(self, revision: int) -> None:
        """Wait until a revision has been seen. Raises TooLargeResourceVersion."""
        if revision <= self._freshness.revision or (self._catch_up() and revision <= self._freshness.revision):
            return
        if not await self._freshness.wait(revision):
            raise TooLargeResourceVersion(revision, self._freshness.revision)

    async def _request_progress(self) -> None:
        stream = self._source.stream
        if stream is not None:
            try:
                await self._kv.request_progress(stream.watch)
            except kv_errors.KVError:
                pass  # whoever waits is told when the time is over

    # Reads

    def get_nowait(self, key: str, *, resource_version: str = "") -> StoredObject | None:
        """The object, when memory is known to be fresh enough; None also when it does not exist."""
        stream = self._source.stream
        if stream is None or self._ready.state is not State.READY:
            self.start()
            return None
        if not resource_version:
            if not self._in_process:
                return None
            if stream.watch.delivered_revision_nowait() != self._kv.current_revision_nowait() and not self._catch_up():
                return None
        elif resource_version != "0" and not self._has_reached(resource_version):
            return None
        return self._lookup(key)

    def _has_reached(self, resource_version: str) -> bool:
        return resource_version.isdecimal() and int(resource_version) <= self._freshness.revision

    async def get(self, key: str, *, resource_version: str = "") -> StoredObject:
        """Read one object. Raises KeyNotFound, TooLargeResourceVersion, CorruptObject."""
        found = self.get_nowait(key, resource_version=resource_version)
        if found is not None:
            return found
        check_key(key, self._root)
        minimum = parse_resource_version(resource_version)
        if self._ready.state is not State.READY or (not resource_version and not self._catch_up()):
            return await self.store.get(key, resource_version=resource_version)
        await self._reach(minimum)
        found = self._lookup(key)
        if found is not None:
            return found
        if key in self._cache.broken:
            return await self.store.get(key, resource_version=resource_version)
        raise KeyNotFound(f"key not found: {key}", key)

    async def get_list(self, prefix: str, options: ListOptions) -> ListResult:
        """List from memory, or from the store what memory cannot answer."""
        check_key(prefix, self._root)
        plan = plan_list(prefix, options)
        if self._ready.state is not State.READY:
            self.start()
            if options.limit > 0 and options.predicate.is_empty():
                return await self.store.get_list(prefix, options)  # cheap enough
            await self._ready.wait(self._ready_seconds)
            self._ready.check()
        found = await self._list(prefix, options, plan)
        return found if found is not None else await self.store.get_list(prefix, options)

    async def _list(self, prefix: str, options: ListOptions, plan: ListPlan) -> ListResult | None:
        """None for what the store has to answer."""
        if plan.exact:
            if not prefix.endswith("/"):
                return None
            await self._reach(plan.exact)
            return self._cache.list_exact(prefix, plan.start, options, plan.exact)
        if plan.consistent:
            if not await self._make_fresh():
                return None
        else:
            self._catch_up()
            await self._reach(plan.minimum)
        if self._ready.state is not State.READY:
            return None  # it went while this waited
        return self._cache.list_latest(prefix, plan.start, options, self._freshness.revision)

    async def count(self, prefix: str) -> int:
        """How many objects are under `prefix`, from memory if possible."""
        check_key(prefix, self._root)
        if self._ready.state is not State.READY:
            return await self.store.count(prefix)
        self._catch_up()
        if not prefix.endswith("/"):
            return int(self._lookup(prefix) is not None)
        return self._cache.snapshot.count(prefix, prefix[:-1] + "0")

    async def stats(self) -> Stats:
        """From memory; the average size is that of a sample."""
        if self._ready.state is not State.READY:
            return await self.store.stats()
        snapshot = self._cache.snapshot
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
        self.start()
        await self._ready.wait(self._ready_seconds)
        self._ready.check()
        try:
            if plan.consistent:
                revision = await self._kv.current_revision() if not self._catch_up() else 0
                await self._reach(revision)
            elif plan.initial:
                await self._reach(plan.version)
            self._ready.check()  # it may have gone while this waited
            return self._open(prefix, options, plan)
        except kv_errors.KVError as e:
            return FailedWatcher(translate(e, prefix))
        except (TooLargeResourceVersion, Expired, CorruptObjects) as e:
            return FailedWatcher(e)

    def _open(self, prefix: str, options: WatchOptions, plan: WatchPlan) -> CacheWatcher:
        """Synchronous from the look at the state to the registration, so nothing can fall in between."""
        self._catch_up()
        revision = self._freshness.revision
        predicate = None if options.predicate.is_empty() else options.predicate
        initial: Sequence[StoredObject] | Sequence[CacheEvent]
        mark = None
        after = max(plan.version, revision)
        if plan.initial:
            initial = self._cache.list_latest(prefix, "", ListOptions(predicate=options.predicate), revision).items
            after = revision
            if plan.marked:
                mark = WatchEvent(EventType.BOOKMARK, None, revision, initial_events_end=True)
        else:
            version = plan.version or revision
            floor = self._cache.history.floor
            if version < floor:
                raise Expired(f"too old resource version: {version} ({floor})")
            initial = self._cache.events_since(version, prefix)
        watcher = CacheWatcher(
            predicate,
            initial,
            after,
            self._forget,
            mark=mark,
            bookmarks=options.bookmarks,
            deadline=options.deadline,
        )
        self._watchers.add(watcher, prefix, predicate)
        if options.bookmarks:
            self._bookmarks.add(watcher)
        return watcher

    def _forget(self, watcher: CacheWatcher) -> None:
        self._watchers.remove(watcher)
        self._bookmarks.remove(watcher)
        self._dispatcher.forget(watcher)

    # Writes

    async def _before_write(self) -> None:
        """The first write waits for the cache, so that its version is one that can be watched from."""
        if self._ready.state is State.IDLE:
            self.start()
            await self._ready.wait(self._ready_seconds)

    async def create(self, key: str, obj: Object, *, ttl: int = 0) -> StoredObject:
        """Passed on."""
        if self._ready.state is not State.READY:
            await self._before_write()
        return await self.store.create(key, obj, ttl=ttl)

    async def guaranteed_update(
        self, key: str, update: UpdateFunc, options: UpdateOptions = UpdateOptions()
    ) -> StoredObject:
        """Passed on, with what is cached as the suggestion."""
        if self._ready.state is not State.READY:
            await self._before_write()
        suggestion = self._suggestion(key)
        if suggestion is not None:
            options = UpdateOptions(
                ignore_not_found=options.ignore_not_found,
                preconditions=options.preconditions,
                suggestion=suggestion,
                ttl=options.ttl,
            )
        return await self.store.guaranteed_update(key, update, options)

    async def delete(self, key: str, options: DeleteOptions = DeleteOptions()) -> StoredObject:
        """Passed on, with what is cached as the suggestion."""
        if self._ready.state is not State.READY:
            await self._before_write()
        suggestion = self._suggestion(key)
        if suggestion is not None:
            options = DeleteOptions(
                preconditions=options.preconditions,
                validate=options.validate,
                suggestion=suggestion,
                unsafe=options.unsafe,
            )
        return await self.store.delete(key, options)

    def _suggestion(self, key: str) -> StoredObject | None:
        if self._ready.state is not State.READY:
            return None
        self._catch_up()
        return self._lookup(key)
