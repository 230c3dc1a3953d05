"""Informers: what handlers are told, and what can be looked up."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest
from tests.waiting import until

from watchkeeper.aio.backoff import Backoff
from watchkeeper.aio.mailbox import Mailbox
from watchkeeper.client.handlers import KeyHandler, OwnerHandler
from watchkeeper.client.indexer import Indexer
from watchkeeper.client.informer import Informer
from watchkeeper.client.interface import DeletedFinalStateUnknown
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.gvk import GroupResource, GroupVersionResource
from watchkeeper.reflector.interface import Batch, Expired, Page
from watchkeeper.testing.clock import ManualClock

MAPS = GroupVersionResource("", "v1", "configmaps")


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(test, 20))


def obj(name: str, version: int, namespace: str = "x", **meta: Any) -> dict[str, Any]:
    return {"metadata": {"namespace": namespace, "name": name, "resourceVersion": str(version), **meta}}


class Stream:
    def __init__(self) -> None:
        self.mailbox: Mailbox[Any] = Mailbox()

    async def next_batch(self) -> Batch[Any] | None:
        item = await self.mailbox.take()
        if isinstance(item, Exception):
            raise item
        return item  # type: ignore[no-any-return]

    def close(self) -> None:
        pass

    def send(self, kind: str, o: dict[str, Any]) -> None:
        self.mailbox.put_nowait(Batch([(kind, o)], o["metadata"]["resourceVersion"]))


class Source:
    """Lists what it is given and hands out one stream after the other."""

    def __init__(self) -> None:
        self.items: list[dict[str, Any]] = []
        self.version = 0
        self.streams: list[Stream] = []

    async def list(self, *, resource_version: str, limit: int, continue_token: str) -> Page[Any]:
        return Page(list(self.items), str(self.version))

    async def watch(self, *, resource_version: str) -> Stream:
        self.streams.append(Stream())
        return self.streams[-1]


class Record:
    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def on_add(self, o: Any, *, is_in_initial_list: bool) -> None:
        self.calls.append(("add", o["metadata"]["name"], is_in_initial_list))

    def on_update(self, old: Any, new: Any) -> None:
        self.calls.append(("update", old["metadata"]["resourceVersion"], new["metadata"]["resourceVersion"]))

    def on_delete(self, o: Any) -> None:
        if isinstance(o, DeletedFinalStateUnknown):
            self.calls.append(("vanished", o.key, o.object["metadata"]["resourceVersion"]))
        else:
            self.calls.append(("delete", o["metadata"]["name"], o["metadata"]["resourceVersion"]))

    def taken(self) -> list[tuple[Any, ...]]:
        found, self.calls = self.calls, []
        return found


class Rig:
    """An informer over a scripted source, on a clock that the test moves."""

    def __init__(self, **options: Any) -> None:
        self.clock = ManualClock()
        self.source = Source()
        self.backoff = Backoff(initial=0.01, limit=0.01)
        self.informer = Informer("maps", self.source, backoff=self.backoff, clock=self.clock, **options)
        self.record = Record()

    async def __aenter__(self) -> Rig:
        self.task = asyncio.create_task(self.informer.run())
        await self.clock.advance(0)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


def test_handlers_are_told_of_what_is_there_and_of_what_changes() -> None:
    async def scenario() -> None:
        rig = Rig()
        rig.source.items, rig.source.version = [obj("a", 1)], 1
        rig.informer.add_handler(rig.record)
        assert not rig.informer.has_synced
        async with rig:
            await rig.informer.wait_for_sync()
            assert rig.record.taken() == [("add", "a", True)]
            stream = rig.source.streams[0]
            stream.send("ADDED", obj("b", 2))
            stream.send("MODIFIED", obj("b", 3))
            stream.send("DELETED", obj("a", 4))
            await rig.clock.advance(0)
            assert rig.record.taken() == [("add", "b", False), ("update", "2", "3"), ("delete", "a", "4")]
            assert rig.informer.indexer.keys() == ["x/b"]

    run(scenario())


def test_a_new_list_tells_of_what_was_missed_and_of_nothing_else() -> None:
    async def scenario() -> None:
        rig = Rig()
        rig.source.items, rig.source.version = [obj("a", 1), obj("b", 2), obj("c", 3)], 3
        rig.informer.add_handler(rig.record)
        async with rig:
            rig.record.taken()
            rig.source.items, rig.source.version = [obj("b", 2), obj("c", 7), obj("d", 8)], 8
            rig.source.streams[0].mailbox.put_nowait(Expired("too old"))
            await rig.clock.advance(1)
            told = rig.record.taken()
            assert told == [("update", "3", "7"), ("add", "d", False), ("vanished", "x/a", "1")]

    run(scenario())


def test_resyncs_go_to_those_who_want_them() -> None:
    async def scenario() -> None:
        rig = Rig()
        rig.source.items, rig.source.version = [obj("a", 1)], 1
        quiet = Record()
        rig.informer.add_handler(quiet)
        async with rig:
            registration = rig.informer.add_handler(rig.record, resync_seconds=30)
            assert rig.record.taken() == [("add", "a", True)]
            await rig.clock.advance(61)
            assert rig.record.taken() == [("update", "1", "1")] * 2
            assert quiet.taken() == [("add", "a", True)]
            rig.informer.remove_handler(registration)
            rig.informer.remove_handler(registration)
            await rig.clock.advance(60)
            assert rig.record.taken() == []

    run(scenario())


def test_who_wants_resyncs_sooner_than_those_before_gets_them_sooner() -> None:
    async def scenario() -> None:
        rig = Rig()
        rig.source.items, rig.source.version = [obj("a", 1)], 1
        slow = Record()
        rig.informer.add_handler(slow, resync_seconds=3600)
        async with rig:
            await rig.clock.advance(1)
            rig.informer.add_handler(rig.record, resync_seconds=10)
            rig.record.taken()
            await rig.clock.advance(21)
            assert rig.record.taken() == [("update", "1", "1")] * 2
            assert slow.taken() == [("add", "a", True)]
            await rig.clock.advance(3600)
            assert slow.taken() == [("update", "1", "1")]

    run(scenario())


def test_a_handler_that_fails_keeps_nobody_else_from_being_told(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Record):
        def on_add(self, o: Any, *, is_in_initial_list: bool) -> None:
            raise ValueError("on purpose")

    async def scenario() -> None:
        rig = Rig()
        rig.source.items = [obj("a", 1)]
        rig.informer.add_handler(Broken())
        rig.informer.add_handler(rig.record)
        async with rig:
            assert rig.record.taken() == [("add", "a", True)]

    run(scenario())
    assert "on purpose" in caplog.text


def test_objects_are_found_by_key_by_index_by_label_and_in_their_namespace() -> None:
    async def scenario() -> None:
        def by_color(o: dict[str, Any]) -> list[str]:
            return [o["metadata"].get("labels", {}).get("color", "none")]

        rig = Rig(resource=GroupResource("", "configmaps"), indexers={"color": by_color})
        rig.source.items = [obj("a", 1, labels={"color": "red"}), obj("b", 2), obj("a", 3, namespace="y")]
        async with rig:
            indexer, lister = rig.informer.indexer, rig.informer.lister
            assert [o["metadata"]["name"] for o in indexer.by_index("color", "red")] == ["a"]
            rig.source.streams[0].send("MODIFIED", obj("a", 4, labels={"color": "blue"}))
            await rig.clock.advance(0)
            assert indexer.by_index("color", "red") == []
            assert sorted(indexer.index_values("color")) == ["blue", "none"]
            assert [o["metadata"]["resourceVersion"] for o in lister.list("color=blue")] == ["4"]
            assert len(lister.list()) == 3
            assert len(lister.within("x").list()) == 2
            assert lister.within("y").get("a")["metadata"]["resourceVersion"] == "3"
            with pytest.raises(ApiError, match='configmaps "b" not found') as caught:
                lister.within("y").get("b")
            assert caught.value.code == 404

    run(scenario())


def test_indexes_can_be_added_later_and_none_twice() -> None:
    indexer = Indexer()
    indexer.set("x/a", obj("a", 1))
    indexer.add_indexers({"name": lambda o: [o["metadata"]["name"]]})
    assert indexer.by_index("name", "a") == [obj("a", 1)]
    with pytest.raises(ValueError, match="already"):
        indexer.add_indexers({"name": lambda o: []})
    with pytest.raises(KeyError):
        indexer.by_index("color", "red")


def test_objects_are_kept_as_a_transform_makes_them() -> None:
    def slim(o: dict[str, Any]) -> dict[str, Any]:
        o["metadata"].pop("managedFields", None)
        return o

    async def scenario() -> None:
        rig = Rig(transform=slim)
        rig.source.items = [obj("a", 1, managedFields=[1])]
        async with rig:
            assert rig.informer.indexer.get("x/a") == obj("a", 1)

    run(scenario())


def test_key_handlers_pass_on_keys_of_what_is_wanted() -> None:
    keys: list[str] = []
    handler = KeyHandler(keys.append, wants=lambda o: o["metadata"]["name"] != "other")
    handler.on_add(obj("a", 1), is_in_initial_list=False)
    handler.on_add(obj("other", 1), is_in_initial_list=False)
    handler.on_update(obj("a", 1), obj("a", 2))
    handler.on_delete(DeletedFinalStateUnknown("x/b", obj("b", 1)))
    handler.on_delete({"metadata": {"name": "cluster"}})
    assert keys == ["x/a", "x/a", "x/b", "cluster"]


def test_owner_handlers_pass_on_the_key_of_the_controller() -> None:
    keys: list[str] = []
    handler = OwnerHandler(keys.append, api_version="apps/v1", kind="ReplicaSet")

    def owned(name: str, **reference: Any) -> dict[str, Any]:
        full = {"apiVersion": "apps/v1beta1", "kind": "ReplicaSet", "name": name, "controller": True, **reference}
        return obj("pod", 1, ownerReferences=[full])

    handler.on_add(owned("rs"), is_in_initial_list=False)
    handler.on_update(owned("old"), owned("new"))
    handler.on_delete(DeletedFinalStateUnknown("x/pod", owned("gone")))
    handler.on_delete(owned("loose", controller=False))
    handler.on_delete(owned("foreign", apiVersion="batch/v1"))
    assert keys == ["x/rs", "x/old", "x/new", "x/gone"]


def test_an_informer_follows_a_real_server(kit: Any, namespace: str) -> None:
    async def scenario() -> None:
        client = kit.dynamic().resource(MAPS, namespace=namespace)
        informer, record = Informer.of(client, label_selector="app=a"), Record()
        informer.add_handler(record)
        await client.create({"metadata": {"name": "a", "labels": {"app": "a"}}})
        await client.create({"metadata": {"name": "b"}})
        task = asyncio.create_task(informer.run())
        await informer.wait_for_sync()
        assert record.taken() == [("add", "a", True)]
        assert informer.indexer.list()[0]["kind"] == "ConfigMap"
        await client.patch("b", {"metadata": {"labels": {"app": "a"}}})
        await until(lambda: record.calls)
        assert record.taken() == [("add", "b", False)]
        await client.delete("a")
        await until(lambda: record.calls)
        assert [call[:2] for call in record.taken()] == [("delete", "a")]
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await client.rest.close()

    run(scenario())
