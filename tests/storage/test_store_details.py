"""The store's calls to the key-value store, its leases, and how errors are translated."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from watchkeeper.kv import errors as kv_errors
from watchkeeper.kv.interface import RangeResult, TxnResult
from watchkeeper.kv.memory import MemoryKV
from watchkeeper.meta import labels
from watchkeeper.meta.gvk import GroupVersionKind
from watchkeeper.storage import errors
from watchkeeper.storage.codec import JsonCodec
from watchkeeper.storage.interface import DeleteOptions, ListOptions, Object, StoredObject, UpdateOptions, WatchOptions
from watchkeeper.storage.leases import LeaseManager
from watchkeeper.storage.predicate import SelectionPredicate
from watchkeeper.storage.store import Store
from watchkeeper.testing.clock import ManualClock

KIND = GroupVersionKind("", "v1", "Thing")
ROOT = "/registry/things/"


class CountingKV(MemoryKV):
    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.calls: list[Any] = []
        self.fail: Exception | None = None

    def _note(self, call: Any) -> None:
        self.calls.append(call)
        if self.fail is not None:
            raise self.fail

    async def get(self, key: bytes, *, revision: int = 0):  # type: ignore[no-untyped-def]
        self._note("get")
        return await super().get(key, revision=revision)

    async def range(self, start: bytes, end: bytes, **options: Any) -> RangeResult:
        self._note(("range", options.get("limit")))
        return await super().range(start, end, **options)

    async def optimistic_put(self, key: bytes, value: bytes, expected: int, **options: Any) -> TxnResult:
        self._note("put")
        return await super().optimistic_put(key, value, expected, **options)

    async def optimistic_delete(self, key: bytes, expected: int, **options: Any) -> TxnResult:
        self._note("delete")
        return await super().optimistic_delete(key, expected, **options)


def thing(name: str, **labels: str) -> Object:
    return {"kind": "Thing", "apiVersion": "v1", "metadata": {"name": name, "labels": labels}, "spec": {}}


def touched(stored: StoredObject | None) -> Object:
    assert stored is not None
    obj = stored.data()
    obj["spec"] = {"touched": stored.resource_version}
    return obj


def with_store(test: Callable[[Store, CountingKV], Awaitable[None]], **options: Any) -> None:
    async def run() -> None:
        kv = CountingKV(**options)
        store = Store(kv, JsonCodec(KIND), ROOT, **options)
        await test(store, kv)
        await store.close()
        await kv.close()

    asyncio.run(run())


def test_a_suggestion_spares_the_read() -> None:
    async def test(store: Store, kv: CountingKV) -> None:
        stored = await store.create(ROOT + "x", thing("x"))
        stored = await store.guaranteed_update(ROOT + "x", touched, UpdateOptions(suggestion=stored))
        await store.delete(ROOT + "x", DeleteOptions(suggestion=stored))
        assert kv.calls == ["put", "put", "delete"]

    with_store(test)


def test_without_one_the_state_is_read_once() -> None:
    async def test(store: Store, kv: CountingKV) -> None:
        await store.create(ROOT + "x", thing("x"))
        await store.guaranteed_update(ROOT + "x", touched)
        await store.delete(ROOT + "x")
        assert kv.calls == ["put", "get", "put", "get", "delete"]

    with_store(test)


def test_an_outdated_suggestion_costs_one_failed_write_which_brings_the_latest_state() -> None:
    async def test(store: Store, kv: CountingKV) -> None:
        outdated = await store.create(ROOT + "x", thing("x"))
        await store.guaranteed_update(ROOT + "x", touched)
        kv.calls.clear()
        await store.guaranteed_update(ROOT + "x", touched, UpdateOptions(suggestion=outdated))
        assert kv.calls == ["put", "put"]
        kv.calls.clear()
        await store.delete(ROOT + "x", DeleteOptions(suggestion=outdated))
        assert kv.calls == ["delete", "delete"]

    with_store(test)


def test_nothing_to_change_is_verified_by_one_read() -> None:
    async def test(store: Store, kv: CountingKV) -> None:
        stored = await store.create(ROOT + "x", thing("x"))
        kv.calls.clear()
        same = await store.guaranteed_update(ROOT + "x", lambda s: s.data(), UpdateOptions(suggestion=stored))  # type: ignore[union-attr]
        assert same.resource_version == stored.resource_version
        assert kv.calls == ["get"]

    with_store(test)


def test_pages_double_while_little_is_selected() -> None:
    async def test(store: Store, kv: CountingKV) -> None:
        for i in range(1000):
            await store.create(f"{ROOT}x{i:04}", thing(f"x{i:04}", **({"rare": "yes"} if i == 999 else {})))
        kv.calls.clear()
        rare = SelectionPredicate(label=labels.parse("rare=yes"))
        result = await store.get_list(ROOT, ListOptions(limit=1, predicate=rare))
        assert len(result.items) == 1
        assert result.continue_token == ""
        assert kv.calls == [("range", 2**n) for n in range(10)]
        kv.calls.clear()
        await store.get_list(ROOT, ListOptions(limit=600, predicate=rare))
        assert kv.calls == [("range", 600), ("range", 1200)]
        kv.calls.clear()
        await store.get_list(ROOT, ListOptions())
        assert kv.calls == [("range", 0)]

    with_store(test)


def test_a_long_list_lets_others_run() -> None:
    async def test(store: Store, kv: CountingKV) -> None:
        for i in range(1000):
            await store.create(f"{ROOT}x{i:04}", thing(f"x{i:04}"))
        turns = 0

        async def count() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        counter = asyncio.create_task(count())
        await store.get_list(ROOT, ListOptions())
        counter.cancel()
        assert turns >= 4

    with_store(test)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (kv_errors.Unavailable("no leader"), errors.Unreachable),
        (kv_errors.Timeout("too late"), errors.StorageTimeout),
        (kv_errors.Closed("closed"), errors.Unreachable),
        (kv_errors.ValueTooLarge("too large"), errors.ObjectTooLarge),
        (kv_errors.AccessDenied("long words").saying("no"), errors.Refused),
        (kv_errors.Corrupt("damaged"), errors.CorruptObject),
        (kv_errors.KVError("other"), errors.StorageError),
    ],
)
def test_every_operation_translates_errors(error: Exception, expected: type[Exception]) -> None:
    async def test(store: Store, kv: CountingKV) -> None:
        await store.create(ROOT + "x", thing("x"))
        kv.fail = error
        operations: list[Callable[[], Awaitable[Any]]] = [
            lambda: store.get(ROOT + "x"),
            lambda: store.create(ROOT + "y", thing("y")),
            lambda: store.guaranteed_update(ROOT + "x", touched),
            lambda: store.delete(ROOT + "x"),
            lambda: store.get_list(ROOT, ListOptions()),
            lambda: store.get_list(ROOT + "x", ListOptions()),
            lambda: store.count(ROOT),
        ]
        for operation in operations:
            with pytest.raises(expected) as e:
                await operation()
            assert isinstance(e.value, errors.StorageError)
        watcher = await store.watch(ROOT, WatchOptions(resource_version="0"))
        event = (await watcher.next_batch())[0]
        assert isinstance(event.error, expected)
        assert await watcher.next_batch() == []

    with_store(test)


def test_an_object_over_the_limit_is_refused() -> None:
    async def test(store: Store, kv: CountingKV) -> None:
        with pytest.raises(errors.ObjectTooLarge):
            await store.create(ROOT + "x", {**thing("x"), "spec": {"text": "x" * 2_000_000}})

    with_store(test)


def test_a_lease_that_is_gone_is_replaced() -> None:
    async def test(store: Store, kv: CountingKV) -> None:
        await store.create(ROOT + "x", thing("x"), ttl=3600)
        first = (await kv.get((ROOT + "x").encode())).kv
        assert first is not None
        await kv.revoke_lease(first.lease)
        await store.create(ROOT + "y", thing("y"), ttl=3600)
        second = (await kv.get((ROOT + "y").encode())).kv
        assert second is not None
        assert second.lease not in (0, first.lease)

    with_store(test)


def test_leases_are_shared_by_what_expires_together_up_to_a_number_of_objects() -> None:
    async def run() -> None:
        clock = ManualClock()
        kv = MemoryKV(clock=clock)
        manager = LeaseManager(kv, clock, reuse_seconds=60, max_objects=3)
        first = await manager.lease(3600)
        assert [await manager.lease(3600), await manager.lease(3600)] == [first, first]
        second = await manager.lease(3600)
        assert second != first  # three objects were given the first
        await clock.advance(59)
        assert await manager.lease(3600) == second
        await clock.advance(2)
        third = await manager.lease(3600)
        assert third != second  # it would end too soon
        assert await manager.lease(60) != third  # and this one too late
        await kv.close()

    asyncio.run(run())


def test_short_lived_objects_share_leases_for_a_twentieth_of_their_life() -> None:
    async def run() -> None:
        clock = ManualClock()
        kv = MemoryKV(clock=clock)
        manager = LeaseManager(kv, clock)
        first = await manager.lease(100)
        await clock.advance(4)
        assert await manager.lease(100) == first
        await clock.advance(2)
        assert await manager.lease(100) != first
        await kv.close()

    asyncio.run(run())


def test_every_object_can_be_changed_as_it_is_read() -> None:
    class Defaulting(JsonCodec):
        def stored(self, key: str, value: bytes, revision: int) -> StoredObject:
            obj = self.parse_value(key, value, revision)
            obj["spec"].setdefault("size", 1)
            return self.wrap(key, self.body(obj), revision)

    async def run() -> None:
        kv = MemoryKV()
        plain, defaulting = Store(kv, JsonCodec(KIND), ROOT), Store(kv, Defaulting(KIND), ROOT)
        stored = await plain.create(ROOT + "x", thing("x"))
        read = await defaulting.get(ROOT + "x")
        assert read.data()["spec"] == {"size": 1}
        assert read.resource_version == stored.resource_version
        assert (await plain.get(ROOT + "x")).data()["spec"] == {}
        written = await defaulting.guaranteed_update(ROOT + "x", lambda s: s.data())  # type: ignore[union-attr]
        assert written.resource_version > stored.resource_version
        assert (await plain.get(ROOT + "x")).data()["spec"] == {"size": 1}
        await kv.close()

    asyncio.run(run())


def test_a_store_without_a_sensible_prefix_is_refused() -> None:
    for prefix in ("", "/", "registry/things"):
        with pytest.raises(ValueError, match="a resource prefix begins with a slash"):
            Store(MemoryKV(), JsonCodec(KIND), prefix)


def test_a_watch_that_is_to_finish_gives_what_the_store_has_told_and_ends() -> None:
    async def run() -> None:
        store = Store(MemoryKV(), JsonCodec(KIND), ROOT)
        watcher = await store.watch(ROOT, WatchOptions(resource_version="1"))
        waiting = asyncio.ensure_future(watcher.next_batch())
        await asyncio.sleep(0)
        for name in "ab":
            await store.create(f"{ROOT}{name}", thing(name))
        await store.delete(f"{ROOT}a")
        watcher.finish()
        watcher.finish()
        events = await waiting
        while batch := await watcher.next_batch():
            events += batch
        assert [(e.type.value, e.object.key[len(ROOT) :]) for e in events if e.object is not None] == [
            ("ADDED", "a"),
            ("ADDED", "b"),
            ("DELETED", "a"),
        ]
        other = await store.watch(ROOT, WatchOptions(resource_version="1"))
        other.finish()
        other.close()
        assert await other.next_batch() == []
        await store.close()

    asyncio.run(run())
