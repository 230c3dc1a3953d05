"""Cases about what cannot be decrypted or decoded."""

# ruff: noqa: D103  (the names are the sentences)

from __future__ import annotations

from watchkeeper.storage.errors import CorruptObject, CorruptObjects, KeyNotFound
from watchkeeper.storage.interface import DeleteOptions, EventType, ListOptions
from watchkeeper.testing.cases import collector
from watchkeeper.testing.storage_suite.rig import ROOT, Rig, key, names, raises, set_spec, thing

CASES, case = collector()


@case
async def reading_an_object_that_cannot_be_decoded_fails_and_names_it(rig: Rig) -> None:
    for name, value in (
        ("text", b"not json"),
        ("cut", b'{"kind":"Thing","apiVersion":"test.example.com/v2","metadata":{"name":"cut"'),
        ("list", b"[1]"),
        ("kind", b'{"kind":"Other","apiVersion":"v1","metadata":{}}'),
        ("odd", b'{"kind":"Thing","apiVersion":"test.example.com/v2","metadata":{"name":"odd"},"spec":"text"}'),
        ("protobuf", b"k8s\x00\x0a\x0b"),
    ):
        await rig.put_raw(name, b"test:" + value)
        with raises(CorruptObject) as e:
            await rig.storage.get(key(name))
        assert e.value.key == key(name)
        assert key(name) in str(e.value)


@case
async def a_protobuf_value_is_refused_with_a_way_out(rig: Rig) -> None:
    await rig.put_raw("x", b"test:k8s\x00\x0a\x0b")
    with raises(CorruptObject, match="--storage-media-type=application/json"):
        await rig.storage.get(key("x"))


@case
async def reading_an_object_that_cannot_be_decrypted_fails_and_names_it(rig: Rig) -> None:
    await rig.put_raw("x", b"encrypted otherwise")
    with raises(CorruptObject, match="no key fits") as e:
        await rig.storage.get(key("x"))
    assert e.value.key == key("x")


@case
async def a_list_names_all_objects_that_cannot_be_read(rig: Rig) -> None:
    await rig.create("a")
    await rig.put_raw("b", b"test:junk")
    await rig.create("c")
    await rig.put_raw("d", b"junk")
    await rig.create("z", "other")
    with raises(CorruptObjects) as e:
        await rig.storage.get_list(ROOT, ListOptions())
    assert [error.key for error in e.value.errors] == [key("b"), key("d")]
    assert key("b") in str(e.value)
    assert names((await rig.storage.get_list(f"{ROOT}other/", ListOptions())).items) == ["z"]


@case
async def an_object_that_becomes_unreadable_fails_lists_until_it_is_repaired(rig: Rig) -> None:
    await rig.create("x")
    await rig.create("y")
    await rig.storage.get_list(ROOT, ListOptions())
    await rig.put_raw("x", b"test:junk")
    with raises(CorruptObjects):
        await rig.storage.get_list(ROOT, ListOptions())
    assert (await rig.storage.get(key("y"))).key == key("y")
    await rig.put_raw("x", b"test:" + rig.storage.codec.encode(thing("x", repaired=True)))
    result = await rig.storage.get_list(ROOT, ListOptions())
    assert names(result.items) == ["x", "y"]
    assert result.items[0].data()["spec"] == {"repaired": True}


@case
async def an_unreadable_object_cannot_be_updated_or_deleted_like_others(rig: Rig) -> None:
    await rig.put_raw("x", b"test:junk")
    with raises(CorruptObject):
        await rig.storage.guaranteed_update(key("x"), set_spec(n=1))
    with raises(CorruptObject):
        await rig.storage.delete(key("x"))


@case
async def an_unreadable_object_can_be_removed_unsafely(rig: Rig) -> None:
    await rig.put_raw("x", b"junk")
    await rig.create("y")
    await rig.storage.delete(key("x"), DeleteOptions(unsafe=True))
    with raises(KeyNotFound):
        await rig.storage.get(key("x"))
    assert names((await rig.storage.get_list(ROOT, ListOptions())).items) == ["y"]
    with raises(KeyNotFound):
        await rig.storage.delete(key("x"), DeleteOptions(unsafe=True))


@case
async def a_watch_tells_of_an_unreadable_object_by_name_and_ends(rig: Rig) -> None:
    await rig.create("x")
    reader = await rig.watch()
    assert (await reader.next()).type is EventType.ADDED
    await rig.put_raw("y", b"test:junk")
    await rig.other.create(key("z"), thing("z"))
    events = await reader.end()
    assert [event.type for event in events] == [EventType.ERROR]
    assert isinstance(events[0].error, CorruptObject)
    assert events[0].error.key == key("y")


@case
async def a_watch_of_something_else_does_not_mind_an_unreadable_object(rig: Rig) -> None:
    reader = await rig.watch(f"{ROOT}a/")
    single = await rig.watch(key("x"))
    await rig.put_raw("broken", b"test:junk", "b")
    stored = await rig.create("x")
    assert await reader.told(1) == [("ADDED", "x", stored.resource_version)]
    assert await single.told(1) == [("ADDED", "x", stored.resource_version)]


@case
async def a_watch_from_the_present_state_fails_when_that_cannot_be_read(rig: Rig) -> None:
    await rig.put_raw("x", b"test:junk")
    reader = await rig.watch()
    events = await reader.end()
    assert [event.type for event in events] == [EventType.ERROR]
    assert key("x") in str(events[0].error)
