"""What a case works on: a storage, what lies under it, and a second server beside it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from watchkeeper.aio.clock import SYSTEM_CLOCK, Clock
from watchkeeper.kv.interface import KV
from watchkeeper.meta import fields, labels
from watchkeeper.meta.gvk import GroupVersionKind
from watchkeeper.storage.cacher.cacher import Cacher
from watchkeeper.storage.codec import JsonCodec
from watchkeeper.storage.interface import Interface, Object, StoredObject, Watcher, WatchEvent, WatchOptions
from watchkeeper.storage.predicate import SelectionPredicate
from watchkeeper.storage.store import Store
from watchkeeper.storage.value.interface import TransformError

KIND = GroupVersionKind("test.example.com", "v2", "Thing")
PREFIX = "/registry/things"
ROOT = PREFIX + "/"
PATIENCE = 20.0
"""Seconds until something that must come counts as missing. Only failures wait so long."""


class PrefixTransformer:
    """Puts a prefix before each value; can be told to call values stale, and to fail on some."""

    needs_keys = False

    def __init__(self) -> None:
        self.stale = False
        self.broken: set[str] = set()
        """Keys whose values cannot be read."""

    def from_storage(self, value: bytes, context: bytes) -> tuple[bytes, bool]:
        """Take the prefix off."""
        if context.decode() in self.broken or not value.startswith(b"test:"):
            raise TransformError("no key fits")
        return value[5:], self.stale

    def to_storage(self, value: bytes, context: bytes) -> bytes:
        """Put the prefix on."""
        return b"test:" + value


class Rig:
    """One resource of Things, which have a spec with free fields, on a key-value store.

    `storage` is what is tested. `other` is another server's storage over the same store: what it writes, the first must
    learn from the store. `cached` says whether `storage` answers from memory.
    """

    def __init__(self, kv: KV, *, cached: bool, clock: Clock = SYSTEM_CLOCK) -> None:
        self.kv = kv
        self.cached = cached
        self.transformer = PrefixTransformer()
        codec = JsonCodec(KIND, _selectable, decode_old=_decode_old)
        self.store = Store(kv, codec, PREFIX, transformer=self.transformer, clock=clock)
        self.other = Store(kv, JsonCodec(KIND, _selectable), PREFIX, transformer=self.transformer, clock=clock)
        self.storage: Interface = self.store
        if cached:
            self.storage = Cacher(self.store, index_fields=("spec.node",), clock=clock)

    async def start(self) -> None:
        """Make the storage ready."""
        if isinstance(self.storage, Cacher):
            await self.storage.wait_until_ready(PATIENCE)

    @property
    def remote(self) -> bool:
        """Whether only a round trip can tell the store's revision: memory learns of writes a little later."""
        return self.kv.current_revision_nowait() is None

    async def settle(self) -> None:
        """Wait until what is answered from memory, without asking the store, includes all writes so far."""
        if not isinstance(self.storage, Cacher):
            return
        revision, feed = await self.kv.current_revision(), self.storage.feed
        async with asyncio.timeout(PATIENCE):
            while feed.seen_revision() < revision:
                await feed.freshness.wait(revision)

    async def close(self) -> None:
        """Close storage and store."""
        await self.storage.close()
        await self.other.close()
        await self.kv.close()

    async def compact(self) -> int:
        """Write something elsewhere and forget all history before it. Returns the new revision."""
        revision = await self.bump()
        await self.settle()  # etcd does not let a watch go on that was behind the compaction
        await self.kv.compact(revision)
        return revision

    async def bump(self) -> int:
        """Raise the store's revision by a write that concerns no Thing."""
        before = (await self.kv.get(b"/elsewhere")).kv
        result = await self.kv.optimistic_put(b"/elsewhere", b"x", before.mod_revision if before else 0)
        assert result.succeeded
        return result.revision

    async def put_raw(self, name: str, value: bytes, namespace: str = "a") -> int:
        """Store bytes as they are. Returns the revision."""
        raw = key(name, namespace).encode()
        before = (await self.kv.get(raw)).kv
        result = await self.kv.optimistic_put(raw, value, before.mod_revision if before else 0)
        assert result.succeeded
        return result.revision

    async def raw(self, name: str, namespace: str = "a") -> bytes:
        """The bytes stored for a Thing."""
        kv = (await self.kv.get(key(name, namespace).encode())).kv
        assert kv is not None
        return kv.value

    async def create(self, name: str, namespace: str = "a", **more: Any) -> StoredObject:
        """Create a Thing through the storage."""
        return await self.storage.create(key(name, namespace), thing(name, namespace, **more))

    async def change(self, name: str, namespace: str = "a", **spec: Any) -> StoredObject:
        """Set fields of a Thing's spec."""
        return await self.storage.guaranteed_update(key(name, namespace), set_spec(**spec))

    async def watch(self, prefix: str = ROOT, **options: Any) -> Reader:
        """Open a watch and read from it."""
        return Reader(await self.storage.watch(prefix, WatchOptions(**options)))


def _selectable(obj: Object) -> dict[str, str]:
    spec = obj.get("spec") or {}
    return {"spec.node": str(spec.get("node", "")), "spec.color": str(spec.get("color", ""))}


def _decode_old(obj: Object) -> Object:
    """Version v1 called the color `hue`."""
    spec = dict(obj.get("spec") or {})
    if "hue" in spec:
        spec["color"] = spec.pop("hue")
    return {**obj, "apiVersion": KIND.api_version, "spec": spec}


def key(name: str, namespace: str = "a") -> str:
    """The key of a Thing."""
    return f"{ROOT}{namespace}/{name}"


def thing(name: str, namespace: str = "a", *, labels: dict[str, str] | None = None, **spec: Any) -> Object:
    """A Thing with fields in its spec."""
    metadata: Object = {"name": name, "namespace": namespace, "uid": f"uid-{namespace}-{name}"}
    if labels:
        metadata["labels"] = labels
    return {"kind": KIND.kind, "apiVersion": KIND.api_version, "metadata": metadata, "spec": spec}


def set_spec(**spec: Any) -> Callable[[StoredObject | None], Object]:
    """An update function that sets fields of the spec."""

    def update(stored: StoredObject | None) -> Object:
        assert stored is not None
        obj = stored.data()
        obj.setdefault("spec", {}).update(spec)
        return obj

    return update


def set_labels(**new: str) -> Callable[[StoredObject | None], Object]:
    """An update function that replaces the labels."""

    def update(stored: StoredObject | None) -> Object:
        assert stored is not None
        obj = stored.data()
        obj["metadata"]["labels"] = new
        return obj

    return update


def by(label: str = "", field: str = "") -> SelectionPredicate:
    """A predicate of both selectors' texts."""
    return SelectionPredicate(labels.parse(label), fields.parse(field))


def names(objects: list[StoredObject]) -> list[str]:
    """The names of objects, in their order."""
    return [stored.attributes.fields["metadata.name"] for stored in objects]


class raises:  # noqa: N801  (reads like the function it stands for)
    """`with raises(SomeError, match="part of its message") as e:` asserts that the block fails so; see `e.value`."""

    def __init__(self, expected: type[BaseException], *, match: str = "") -> None:
        self._expected = expected
        self._match = match
        self._value: BaseException | None = None

    def __enter__(self) -> raises:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        assert error is not None, f"{self._expected.__name__} was expected, and nothing was raised"
        if not isinstance(error, self._expected):
            return False
        assert self._match in str(error), f"{self._match!r} is not in {str(error)!r}"
        self._value = error
        return True

    @property
    def value(self) -> Any:
        """The error, behind the block."""
        assert self._value is not None
        return self._value


class Reader:
    """Takes events from a watcher, and checks the order that every watch keeps."""

    def __init__(self, watcher: Watcher) -> None:
        self.watcher = watcher
        self._waiting: list[WatchEvent] = []
        self.ended = False

    async def next(self) -> WatchEvent:
        """The next event. Fails when the watch ends or nothing comes."""
        while not self._waiting:
            batch = await asyncio.wait_for(self.watcher.next_batch(), PATIENCE)
            assert batch, "the watch has ended"
            self._waiting = batch
        return self._waiting.pop(0)

    async def take(self, count: int) -> list[WatchEvent]:
        """The next `count` events."""
        return [await self.next() for _ in range(count)]

    async def told(self, count: int) -> list[tuple[str, str, int]]:
        """The next `count` events as (type, name, version)."""
        return [describe(event) for event in await self.take(count)]

    async def end(self) -> list[WatchEvent]:
        """All events up to the end of the watch."""
        events = self._waiting
        while batch := await asyncio.wait_for(self.watcher.next_batch(), PATIENCE):
            events += batch
        return events

    def close(self) -> None:
        """Close the watch."""
        self.watcher.close()


def describe(event: WatchEvent) -> tuple[str, str, int]:
    """An event as (type, name, version)."""
    assert event.error is None, event.error
    name = event.object.attributes.fields["metadata.name"] if event.object is not None else ""
    return event.type.value, name, event.resource_version


Case = Callable[[Rig], Awaitable[None]]


async def prove(case: Case, rig: Rig) -> None:
    """Run one case on a rig, and close it."""
    try:
        await rig.start()
        await asyncio.wait_for(case(rig), 60)
    finally:
        await rig.close()
