"""Keeps a WatchCache equal to the store, and knows how fresh it is.

In one process with its store (SQLite, memory) the cache takes in on demand what the store has told already, so that
whoever reads after a write sees it without waiting. A store elsewhere is asked for its revision and for progress.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from watchkeeper.aio.backoff import Backoff
from watchkeeper.aio.clock import Clock
from watchkeeper.aio.tasks import TaskOwner
from watchkeeper.kv import errors as kv_errors
from watchkeeper.reflector.interface import Expired as ListAnew
from watchkeeper.reflector.reflector import Reflector
from watchkeeper.storage.cacher.consistency import PERIOD_SECONDS, ConsistencyCheck
from watchkeeper.storage.cacher.consistency import State as CheckedState
from watchkeeper.storage.cacher.freshness import Freshness
from watchkeeper.storage.cacher.lister_watcher import Change, KVListerWatcher, KVStream
from watchkeeper.storage.cacher.ready import Readiness, State
from watchkeeper.storage.cacher.watch_cache import WatchCache
from watchkeeper.storage.closing import Closer
from watchkeeper.storage.errors import TooLargeResourceVersion
from watchkeeper.storage.kv_errors import translate
from watchkeeper.storage.own_writes import OwnWrites
from watchkeeper.storage.store import Store
from watchkeeper.storage.value.interface import KeyNeeded

LIST_PAGE = 10_000
REFRESH_SECONDS = 1.0


class Feed:
    """Fills one cache from one store. It is the Reflector's sink."""

    def __init__(
        self,
        store: Store,
        cache: WatchCache,
        clock: Clock,
        on_restart: Callable[[], None],
        *,
        check_seconds: float = PERIOD_SECONDS,
    ) -> None:
        """`on_restart` is called whenever what is cached stops being continuous with what was.

        `check_seconds`: how often the cache is compared with the store; 0 is never.
        """
        self._store = store
        self._kv = store.kv
        self._cache = cache
        self._clock = clock
        self._on_restart = on_restart
        self._tasks = TaskOwner(f"feed {store.root}")
        self._closer = Closer(f"feed {store.root}")
        self._own_writes = OwnWrites(store.codec)
        self.ready = Readiness(clock)
        self.freshness = Freshness(clock, self._tasks, self._request_progress)
        # A cache begins when somebody asks for it, and yet knows what came since the process could have been asked.
        self._source = KVListerWatcher(
            store.kv,
            store.decoder,
            store.root,
            self._own_writes,
            self._closer,
            lambda: self.freshness.revision,
            first=store.kv.current_revision_nowait() or 0,
        )
        self.check = ConsistencyCheck(
            store.kv, store.root, self._checked_state, self._fill_anew, clock, period=check_seconds
        )
        self._told: bool | None = None
        """Whether the store, when it was last asked for progress, could be asked; None when it never was."""
        # Whether this process knows all revisions, so that reads can be proven fresh without asking the store.
        self._in_process = store.kv.current_revision_nowait() is not None and not store.decoder.needs_keys

    def __repr__(self) -> str:
        return f"<Feed {self.ready.state.value} at {self.freshness.revision}>"

    @property
    def is_ready(self) -> bool:
        """Whether the cache can be used."""
        return self.ready.state is State.READY

    @property
    def stream(self) -> KVStream | None:
        """The watch of the store, when one is open."""
        return self._source.stream

    def start(self) -> bool:
        """Begin, unless that was done. Needs a running event loop. Returns whether it began."""
        if not self.ready.start():
            return False
        self._store.own_writes = self._own_writes
        reflector: Reflector[Change, Change] = Reflector(
            self._store.root,
            self._source,
            self,
            page_size=LIST_PAGE,
            initial_version="",
            backoff=Backoff(initial=0.1, limit=5.0),
            clock=self._clock,
        )
        self._tasks.start("reflector", reflector.run())
        self._tasks.start("consistency", self.check.run())
        return True

    async def close(self) -> None:
        """Stop for good. Idempotent."""
        self.ready.stop()
        self._store.own_writes = None
        self._on_restart()
        await self._tasks.close()
        await self._closer.drain()

    # The Reflector's sink

    def replace(self, items: Sequence[Change], resource_version: str) -> None:
        """The whole state has been listed."""
        revision = int(resource_version)
        self._on_restart()
        self._own_writes.clear()
        self._cache.replace(items, revision)
        self.freshness.reset(revision)
        self.ready.set_ready()

    def apply(self, changes: Sequence[Change], resource_version: str) -> None:
        """The store has told of changes, or of progress."""
        self._cache.apply(changes, self.freshness.revision)
        self.freshness.advance(int(resource_version))

    def interrupted(self, error: Exception) -> None:
        """What is cached cannot be followed any more."""
        self.ready.set_pending(error)
        self._on_restart()

    # Freshness

    def is_fresh_nowait(self) -> bool:
        """Whether everything that the store has acknowledged has been taken in; does that first where it can."""
        stream = self._source.stream
        if not self._in_process or stream is None or self.ready.state is not State.READY:
            return False
        return stream.watch.is_current_nowait() or self.catch_up()

    def catch_up(self) -> bool:
        """Take in what the store has told. Returns whether this is now all that the store has acknowledged."""
        stream = self._source.stream
        if not self._in_process or stream is None or self.ready.state is not State.READY:
            return False
        if stream.watch.is_current_nowait():
            self._advance()
            return True
        try:
            while (batch := stream.take_nowait()) is not None:
                self.apply(batch.changes, batch.resource_version)
        except (kv_errors.KVError, StopAsyncIteration):
            return False  # the Reflector meets the same and acts on it
        except KeyNeeded:
            # The batch is taken and cannot be given back: follow anew from where the cache is, and fetch the key.
            stream.fail(kv_errors.Unavailable("a key has to be fetched"))
            return False
        if not stream.watch.is_current_nowait():
            return False
        self._advance()
        return True

    def _advance(self) -> None:
        """Nothing has been acknowledged that was not taken in."""
        current = self._kv.current_revision_nowait()
        if current is not None:
            self.freshness.advance(current)

    def seen_revision(self) -> int:
        """The revision up to which everything has been taken in, after catching up."""
        self.catch_up()
        return self.freshness.revision

    async def make_fresh(self) -> bool:
        """Get everything that the store has acknowledged so far. False when that takes too long."""
        if self.catch_up():
            return True
        try:
            revision = await self._kv.current_revision()
        except kv_errors.KVError as e:
            raise translate(e, self._store.root) from e
        if revision <= self.freshness.revision:
            return True
        if not self._told and not await self._request_progress():
            return False
        return await self.freshness.wait(revision)

    async def refresh(self) -> None:
        """Learn, of a store elsewhere, how far it is, so that bookmarks are worth something. Never fails."""
        if self._in_process or not self.is_ready:
            return
        try:
            revision = await self._kv.current_revision()
        except kv_errors.KVError:
            return
        if revision > self.freshness.revision and await self._request_progress():
            await self.freshness.wait(revision, REFRESH_SECONDS)

    async def reach(self, revision: int) -> bool:
        """Wait until a revision has been taken in. Raises TooLargeResourceVersion when that takes too long.

        False when the store cannot tell how far its watch is (an old etcd): who must know asks the store itself.
        """
        if revision > self.freshness.revision:
            self.catch_up()
            if not await self.freshness.wait(revision):
                if self._told is False:
                    return False
                raise TooLargeResourceVersion(revision, self.freshness.revision)
        return True

    async def _request_progress(self) -> bool:
        stream = self._source.stream
        if stream is not None:
            try:
                self._told = await self._kv.request_progress(stream.watch)
            except kv_errors.KVError:
                pass  # whoever waits is told when the time is over
        return self._told is not False

    # Consistency

    def _checked_state(self) -> CheckedState | None:
        if not self.is_ready:
            return None
        cache = self._cache
        versions = {stored.key.encode(): stored.resource_version for stored in cache.snapshot.all()}
        return self.freshness.revision, versions, frozenset(key.encode() for key in cache.broken)

    def _fill_anew(self, reason: str) -> None:
        stream = self._source.stream
        if stream is not None:
            stream.fail(ListAnew(f"the cache differs from the store: {reason}"))
