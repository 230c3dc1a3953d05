"""What a cache's Reflector lists and watches: one resource in the key-value store, decoded."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import NamedTuple

from watchkeeper.kv import errors as kv_errors
from watchkeeper.kv.interface import KV, EventType, KeyValue, Watch, WatchBatch, prefix_end
from watchkeeper.reflector.interface import Batch, Expired, Page
from watchkeeper.storage.closing import Closer
from watchkeeper.storage.decoder import Decoder
from watchkeeper.storage.errors import CorruptObject
from watchkeeper.storage.interface import StoredObject
from watchkeeper.storage.lister import STRETCH
from watchkeeper.storage.own_writes import OwnWrites
from watchkeeper.storage.value.interface import KeyNeeded, with_keys

_BATCHES = 100
"""Store batches taken at once."""


class Change(NamedTuple):
    """A key as a revision left it: its object, None if it is gone, or why it cannot be read."""

    key: str
    stored: StoredObject | None
    revision: int
    error: CorruptObject | None = None


Changes = list[Change]


class KVListerWatcher:
    """Implements the Reflector's `ListerWatcher`, with items and changes both told as `Change`."""

    def __init__(
        self,
        kv: KV,
        decoder: Decoder,
        root: str,
        own_writes: OwnWrites,
        closer: Closer,
        seen: Callable[[], int],
        *,
        first: int = 0,
    ) -> None:
        """`seen`: the revision up to which the cache has everything; a watch never starts before it.

        `first`: the revision to begin with, if the store still knows it, so that the cache has what came after it as
        history; 0 is the latest.
        """
        self._kv = kv
        self._decoder = decoder
        self._prefix = root.encode()
        self._own_writes = own_writes
        self._closer = closer
        self._seen = seen
        self._first = first
        self.stream: KVStream | None = None
        """The open watch, if there is one."""

    def __repr__(self) -> str:
        return f"<KVListerWatcher {self._prefix.decode()} {self.stream or 'without a watch'}>"

    async def list(self, *, resource_version: str, limit: int, continue_token: str) -> Page[Change]:
        """One page of the latest state; the token is `revision/next key`."""
        if self._first and not continue_token:
            known, self._first = self._first, 0
            try:
                return await self._page(str(known), "", limit)
            except Expired:
                pass  # begin with the latest, then
        revision, _, start = continue_token.partition("/")
        return await self._page(revision, start, limit)

    async def _page(self, revision: str, start: str, limit: int) -> Page[Change]:
        first = start.encode(errors="surrogateescape") if start else self._prefix
        try:
            result = await self._kv.range(
                first, prefix_end(self._prefix), limit=limit, revision=int(revision or 0), counted=False
            )
        except kv_errors.Compacted as e:
            raise Expired(str(e)) from e
        revision = revision or str(result.revision)
        items = []
        for i, kv in enumerate(result.kvs):
            if i % STRETCH == STRETCH - 1:
                await asyncio.sleep(0)
            items.append(await self._read_with_keys(kv))
        if not result.more:
            return Page(items, revision)
        last = result.kvs[-1].key.decode(errors="surrogateescape")
        return Page(items, revision, f"{revision}/{last}\0")

    async def watch(self, *, resource_version: str) -> KVStream:
        """Follow from behind a version, or from where the cache is, if that is further."""
        after = max(int(resource_version), self._seen())
        try:
            watch = await self._kv.watch(self._prefix, after_revision=after)
        except kv_errors.Compacted as e:
            raise Expired(str(e)) from e
        self.stream = KVStream(watch, self._changes, self._closed)
        return self.stream

    def _closed(self, stream: KVStream) -> None:
        if self.stream is stream:
            self.stream = None
        self._closer.close_soon(stream.watch.close())

    def _changes(self, batch: WatchBatch) -> Changes:
        """Raises KeyNeeded."""
        changes: Changes = []
        for event in batch.events:
            kv = event.kv
            if event.type is EventType.DELETE:
                changes.append(Change(kv.key.decode(errors="surrogateescape"), None, kv.mod_revision))
                continue
            stored = self._own_writes.take(kv)
            if stored is not None:
                changes.append(Change(stored.key, stored, kv.mod_revision))
            else:
                changes.append(self._read(kv))
        return changes

    async def _read_with_keys(self, kv: KeyValue) -> Change:
        try:
            return self._read(kv)
        except KeyNeeded:
            return await with_keys(lambda: self._read(kv))

    def _read(self, kv: KeyValue) -> Change:
        key = kv.key.decode(errors="surrogateescape")
        try:
            return Change(key, self._decoder.decode(kv), kv.mod_revision)
        except CorruptObject as e:
            return Change(key, None, kv.mod_revision, e)


class KVStream:
    """A watch of the store whose batches can also be taken without waiting.

    Between taking a batch from the store and handing it on there is no pause, unless a key has to be fetched for it.
    So when nothing waits in the store's watch, everything has been handed on.
    """

    def __init__(
        self,
        watch: Watch,
        changes: Callable[[WatchBatch], Changes],
        on_close: Callable[[KVStream], None],
    ) -> None:
        self.watch = watch
        self._changes = changes
        self._on_close = on_close
        self._open = True
        self._failure: Exception | None = None

    def __repr__(self) -> str:
        return f"<KVStream {'open' if self._open else 'closed'}>"

    async def next_batch(self) -> Batch[Change] | None:
        """What comes next, several batches of the store in one when they are there. Raises Expired, KVError."""
        try:
            batch = await self.watch.__anext__()
            if self._failure is not None:
                raise self._failure
            changes = await with_keys(lambda: self._changes(batch))
            revision = batch.revision
            for _ in range(_BATCHES):
                more = self.watch.take_nowait()
                if more is None:
                    break
                following = more
                changes += await with_keys(lambda: self._changes(following))  # noqa: B023  called at once
                revision = following.revision
        except StopAsyncIteration:
            if self._failure is not None:
                raise self._failure from None
            return None
        except kv_errors.Compacted as e:
            raise Expired(str(e)) from e
        return Batch(changes, str(revision))

    def take_nowait(self) -> Batch[Change] | None:
        """The same for one batch, if one is there. Only for resources whose values need no keys from elsewhere."""
        batch = self.watch.take_nowait()
        if batch is None:
            return None
        return Batch(self._changes(batch), str(batch.revision))

    def fail(self, error: Exception) -> None:
        """End as if the store had ended it with `error`."""
        self._failure = error
        self.close()

    def close(self) -> None:
        """Stop. Idempotent."""
        if self._open:
            self._open = False
            self._on_close(self)
