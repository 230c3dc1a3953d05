"""Watches straight from the key-value store, without a cache: each decodes for itself."""

from __future__ import annotations

from collections.abc import AsyncIterator

from watchkeeper.kv import errors as kv_errors
from watchkeeper.kv.interface import KV, Event, EventType, KeyValue, Watch, WatchBatch, prefix_end
from watchkeeper.storage import interface
from watchkeeper.storage.closing import Closer
from watchkeeper.storage.decoder import Decoder
from watchkeeper.storage.errors import CorruptDeletion, CorruptObject, StorageError, TooLargeResourceVersion
from watchkeeper.storage.interface import StoredObject, Watcher, WatchEvent, WatchOptions
from watchkeeper.storage.kv_errors import WATCH_EXPIRED, translate
from watchkeeper.storage.transition import outcome, selects
from watchkeeper.storage.watch_rules import WatchPlan, plan_watch

_PAGE = 1000


class FailedWatcher:
    """A watch that cannot be served: one ERROR event, then the end."""

    def __init__(self, error: Exception) -> None:
        self._event: WatchEvent | None = WatchEvent(interface.EventType.ERROR, error=error)

    async def next_batch(self, max_events: int = 1000) -> list[WatchEvent]:
        """The error, once."""
        event, self._event = self._event, None
        return [event] if event is not None else []

    def finish(self) -> None:
        """It ends by itself."""

    def close(self) -> None:
        """Nothing is held."""
        self._event = None


async def open_watcher(
    kv: KV, decoder: Decoder, prefix: str, options: WatchOptions, closer: Closer, open_watchers: set[Watcher]
) -> Watcher:
    """Begin a watch. Raises InvalidRequest; whatever else fails, now or later, is an ERROR event of the stream."""
    plan = plan_watch(options)
    try:
        revision = await kv.current_revision() if plan.version == 0 or plan.initial else plan.version
        if plan.initial and plan.version > revision:
            raise TooLargeResourceVersion(plan.version, revision)
        watch = await kv.watch(prefix.encode(), after_revision=revision, prev_kv=True)
    except kv_errors.KVError as e:
        return FailedWatcher(translate(e, prefix, expired=WATCH_EXPIRED))
    except TooLargeResourceVersion as e:
        return FailedWatcher(e)
    watcher = StoreWatcher(kv, decoder, prefix, options, plan, revision, watch, closer, open_watchers)
    open_watchers.add(watcher)
    return watcher


class StoreWatcher:
    """Pulls from a KV watch when its client asks; what the client does not take waits in the KV's watch."""

    def __init__(
        self,
        kv: KV,
        decoder: Decoder,
        prefix: str,
        options: WatchOptions,
        plan: WatchPlan,
        revision: int,
        watch: Watch,
        closer: Closer,
        open_watchers: set[Watcher],
    ) -> None:
        """`watch` delivers what comes after `revision`, the one at which the initial state is read."""
        self._kv = kv
        self._decoder = decoder
        self._prefix = prefix
        self._predicate = None if options.predicate.is_empty() else options.predicate
        self._watch = watch
        self._revision = revision
        self._initial = self._state() if plan.initial else None
        self._marked = plan.marked
        self._closer = closer
        self._open = open_watchers
        self._waiting: list[WatchEvent] = []
        self._left: list[WatchBatch] = []
        """What is still to be looked at after the watch of the store has ended."""
        self._closed = False

    def __repr__(self) -> str:
        return f"<StoreWatcher {self._prefix} {'closed' if self._closed else 'open'}>"

    async def next_batch(self, max_events: int = 1000) -> list[WatchEvent]:
        """The next events; [] when it has ended."""
        while not self._waiting and (self._left or not self._closed):
            try:
                await (self._take(self._left.pop(0)) if self._left else self._fill())
            except StopAsyncIteration:
                if not self._closed:
                    self.close()
            except kv_errors.KVError as e:
                self._fail(translate(e, self._prefix, expired=WATCH_EXPIRED))
            except StorageError as e:
                self._fail(e)
        batch, self._waiting = self._waiting[:max_events], self._waiting[max_events:]
        return batch

    def finish(self) -> None:
        """End with what the store has given so far."""
        if self._closed:
            return
        left = self._left
        try:
            while (batch := self._watch.take_nowait()) is not None:
                left.append(batch)
        except (kv_errors.KVError, StopAsyncIteration):
            pass
        waiting = self._waiting
        self.close()
        self._waiting, self._left = waiting, left

    def close(self) -> None:
        """Stop; what the client has not taken is dropped, but for an error."""
        self._left = []
        if not self._closed:
            self._closed = True
            self._open.discard(self)
            self._waiting = [e for e in self._waiting if e.type is interface.EventType.ERROR]
            self._closer.close_soon(self._watch.close())

    def _fail(self, error: StorageError) -> None:
        self._waiting.append(WatchEvent(interface.EventType.ERROR, error=error))
        self.close()

    async def _fill(self) -> None:
        if self._initial is not None:
            async for page in self._initial:
                self._waiting += page
                if self._waiting:
                    return
            self._initial = None
            if self._marked:
                bookmark = WatchEvent(interface.EventType.BOOKMARK, None, self._revision, initial_events_end=True)
                self._waiting.append(bookmark)
            return
        await self._take(await self._watch.__anext__())

    async def _take(self, batch: WatchBatch) -> None:
        for event in batch.events:
            if self._covers(event.kv):
                await self._convert(event)

    def _covers(self, kv: KeyValue) -> bool:
        return self._prefix.endswith("/") or kv.key == self._prefix.encode()

    async def _state(self) -> AsyncIterator[list[WatchEvent]]:
        """The current state in pages, in key order."""
        start = self._prefix.encode()
        end = prefix_end(start) if self._prefix.endswith("/") else start + b"\0"
        more = True
        while more:
            result = await self._kv.range(start, end, limit=_PAGE, revision=self._revision, counted=False)
            page = []
            for kv in result.kvs:
                stored = await self._decode(kv)
                if selects(self._predicate, stored):
                    page.append(WatchEvent(interface.EventType.ADDED, stored))
            if result.kvs:
                start = result.kvs[-1].key + b"\0"
            more = result.more
            yield page

    async def _decode(self, kv: KeyValue) -> StoredObject:
        return await self._decoder.read(kv)

    async def _convert(self, event: Event) -> None:
        deleted = event.type is EventType.DELETE
        current = None if deleted else await self._decode(event.kv)
        previous = None
        if event.prev is not None and (deleted or self._predicate is not None):
            try:
                previous = await self._decode(event.prev)
            except CorruptObject as e:
                if deleted:
                    raise CorruptDeletion(e) from e
                raise
        elif event.prev is not None:
            previous = current  # everything is selected: that there was something is all that matters
        what = outcome(self._predicate, current, previous)
        if what is interface.EventType.DELETED:
            assert previous is not None
            shown = self._decoder.codec.restamp(previous, event.kv.mod_revision)
            self._waiting.append(WatchEvent(what, shown))
        elif what is not None:
            self._waiting.append(WatchEvent(what, current))
