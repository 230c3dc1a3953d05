"""Cases about creating and updating."""

# ruff: noqa: D103  (the names are the sentences)

from __future__ import annotations

import asyncio

from watchkeeper.storage.errors import InvalidRequest, KeyExists, KeyNotFound, PreconditionFailed
from watchkeeper.storage.interface import Interface, ListOptions, Object, Preconditions, StoredObject, UpdateOptions
from watchkeeper.testing.cases import collector
from watchkeeper.testing.storage_suite.rig import ROOT, Rig, key, names, raises, set_spec, thing

CASES, case = collector()


@case
async def a_created_object_comes_back_with_its_version(rig: Rig) -> None:
    before = await rig.kv.current_revision()
    stored = await rig.create("x", color="red")
    assert stored.resource_version > before
    assert stored.data() == {**thing("x", color="red"), "metadata": stored.data()["metadata"]}
    assert stored.data()["metadata"]["resourceVersion"] == str(stored.resource_version)
    assert stored.key == key("x")


@case
async def what_is_stored_carries_no_version_and_lies_under_its_key(rig: Rig) -> None:
    await rig.create("x")
    raw = await rig.raw("x")
    assert b"resourceVersion" not in raw
    assert raw.startswith(b'test:{"kind":"Thing","apiVersion":"test.example.com/v2","metadata":{')


@case
async def equal_objects_are_stored_as_equal_bytes_whatever_the_order_of_their_keys(rig: Rig) -> None:
    codec = rig.storage.codec
    obj = thing("x", labels={"b": "1", "a": "2"}, color="red", node="n")
    turned: Object = {k: obj[k] for k in reversed(obj)}
    turned["metadata"] = {k: obj["metadata"][k] for k in reversed(obj["metadata"])}
    turned["spec"] = {"node": "n", "color": "red"}
    assert codec.encode(obj) == codec.encode(turned)


@case
async def a_taken_key_refuses_another_create_and_keeps_its_object(rig: Rig) -> None:
    first = await rig.create("x", color="red")
    with raises(KeyExists):
        await rig.create("x", color="blue")
    assert (await rig.storage.get(key("x"))).encoded == first.encoded


@case
async def of_creates_that_race_for_a_key_one_wins(rig: Rig) -> None:
    results = await asyncio.gather(*(rig.create("x", number=i) for i in range(10)), return_exceptions=True)
    won = [result for result in results if isinstance(result, StoredObject)]
    assert len(won) == 1
    assert all(isinstance(result, KeyExists) for result in results if result is not won[0])
    assert (await rig.storage.get(key("x"))).encoded == won[0].encoded


@case
async def an_object_that_carries_a_version_cannot_be_created(rig: Rig) -> None:
    obj = thing("x")
    obj["metadata"]["resourceVersion"] = "5"
    with raises(InvalidRequest, match="resourceVersion should not be set on objects to be created"):
        await rig.storage.create(key("x"), obj)


@case
async def the_caller_may_change_its_dict_after_creating_from_it(rig: Rig) -> None:
    obj = thing("x", color="red")
    await rig.storage.create(key("x"), obj)
    obj["spec"]["color"] = "blue"
    obj["metadata"]["labels"] = {"late": "yes"}
    stored = await rig.storage.get(key("x"))
    assert stored.data()["spec"] == {"color": "red"}
    assert stored.attributes.labels == {}


@case
async def each_reader_gets_a_dict_of_its_own(rig: Rig) -> None:
    await rig.create("x", color="red")
    stored = await rig.storage.get(key("x"))
    stored.data()["spec"]["color"] = "blue"
    assert stored.data()["spec"] == {"color": "red"}


@case
async def an_object_with_a_time_to_live_vanishes(rig: Rig) -> None:
    await rig.storage.create(key("x"), thing("x"), ttl=2)
    await rig.create("y")
    reader = await rig.watch()
    assert [(await reader.told(1))[0][:2] for _ in range(2)] == [("ADDED", "x"), ("ADDED", "y")]
    assert (await reader.told(1))[0][:2] == ("DELETED", "x")
    with raises(KeyNotFound):
        await rig.storage.get(key("x"))
    assert names((await rig.storage.get_list(ROOT, ListOptions())).items) == ["y"]


@case
async def objects_with_the_same_time_to_live_share_a_lease(rig: Rig) -> None:
    for name in "xyz":
        await rig.storage.create(key(name), thing(name), ttl=3600)
    leases = set()
    for name in "xyz":
        kv = (await rig.kv.get(key(name).encode())).kv
        assert kv is not None
        leases.add(kv.lease)
    assert len(leases) == 1
    assert 0 not in leases


@case
async def an_update_sets_the_time_to_live_anew(rig: Rig) -> None:
    await rig.create("x")
    await rig.storage.guaranteed_update(key("x"), set_spec(color="red"), UpdateOptions(ttl=3600))
    kv = (await rig.kv.get(key("x").encode())).kv
    assert kv is not None
    assert kv.lease != 0
    await rig.change("x", color="blue")
    kv = (await rig.kv.get(key("x").encode())).kv
    assert kv is not None
    assert kv.lease == 0


@case
async def an_update_sees_the_present_state_and_returns_the_new_one(rig: Rig) -> None:
    first = await rig.create("x", number=1)
    second = await rig.change("x", number=2)
    assert second.resource_version > first.resource_version
    assert second.data()["spec"] == {"number": 2}
    assert (await rig.storage.get(key("x"))).encoded == second.encoded


@case
async def an_update_function_may_wait(rig: Rig) -> None:
    await rig.create("x", number=1)

    async def update(stored: StoredObject | None) -> Object:
        await asyncio.sleep(0)
        return set_spec(number=2)(stored)

    assert (await rig.storage.guaranteed_update(key("x"), update)).data()["spec"] == {"number": 2}


@case
async def an_absent_object_cannot_be_updated(rig: Rig) -> None:
    with raises(KeyNotFound):
        await rig.change("x", color="red")


@case
async def an_update_may_create_when_it_is_told_so(rig: Rig) -> None:
    seen: list[StoredObject | None] = []

    def update(stored: StoredObject | None) -> Object:
        seen.append(stored)
        return thing("x", color="red")

    stored = await rig.storage.guaranteed_update(key("x"), update, UpdateOptions(ignore_not_found=True))
    assert seen == [None]
    assert stored.data()["spec"] == {"color": "red"}


@case
async def nothing_is_written_when_nothing_changes(rig: Rig) -> None:
    first = await rig.create("x", color="red")
    revision = await rig.kv.current_revision()
    same = await rig.change("x", color="red")
    assert same.resource_version == first.resource_version
    assert await rig.kv.current_revision() == revision


@case
async def a_stale_stored_form_is_written_anew_even_when_nothing_changes(rig: Rig) -> None:
    first = await rig.create("x", color="red")
    rig.transformer.stale = True
    second = await rig.change("x", color="red")
    assert second.resource_version > first.resource_version
    rig.transformer.stale = False
    assert (await rig.change("x", color="red")).resource_version == second.resource_version


@case
async def whether_something_changes_is_judged_by_the_stored_bytes_not_by_a_suggestion(rig: Rig) -> None:
    first = await rig.create("x", color="red")
    await rig.other.guaranteed_update(key("x"), set_spec(color="blue"))

    def update(stored: StoredObject | None) -> Object:
        return thing("x", color="red")

    third = await rig.storage.guaranteed_update(key("x"), update, UpdateOptions(suggestion=first))
    assert third.data()["spec"] == {"color": "red"}
    assert third.resource_version > first.resource_version + 1
    assert (await rig.other.get(key("x"))).data()["spec"] == {"color": "red"}


@case
async def an_object_of_an_older_version_is_brought_to_the_present_one_by_any_update(rig: Rig) -> None:
    old = b'{"kind":"Thing","apiVersion":"test.example.com/v1","metadata":{"name":"x"},"spec":{"hue":"red"}}'
    await rig.put_raw("x", b"test:" + old)
    stored = await rig.storage.get(key("x"))
    assert stored.data()["spec"] == {"color": "red"}
    assert stored.data()["apiVersion"] == "test.example.com/v2"
    await rig.change("x", color="red")
    assert b'"apiVersion":"test.example.com/v2"' in await rig.raw("x")
    assert b"hue" not in await rig.raw("x")


@case
async def values_with_sorted_keys_and_a_newline_are_read_as_they_are(rig: Rig) -> None:
    value = b'test:{"apiVersion":"test.example.com/v2","kind":"Thing","metadata":{"name":"x"},"spec":{"color":"red"}}\n'
    revision = await rig.put_raw("x", value)
    stored = await rig.storage.get(key("x"))
    assert stored.encoded.endswith(b'"spec":{"color":"red"}}')
    assert stored.data()["metadata"] == {"name": "x", "resourceVersion": str(revision)}


@case
async def a_writer_that_interferes_makes_the_update_start_again_from_its_state(rig: Rig) -> None:
    await rig.create("x", number=1)
    interfered = False

    async def update(stored: StoredObject | None) -> Object:
        nonlocal interfered
        if not interfered:
            interfered = True
            await rig.other.guaranteed_update(key("x"), set_spec(other=True))
        return set_spec(number=2)(stored)

    stored = await rig.storage.guaranteed_update(key("x"), update)
    assert stored.data()["spec"] == {"number": 2, "other": True}


@case
async def of_many_concurrent_updates_none_is_lost(rig: Rig) -> None:
    await rig.create("x", number=0)

    def increment(stored: StoredObject | None) -> Object:
        assert stored is not None
        return set_spec(number=stored.data()["spec"]["number"] + 1)(stored)

    writers: list[Interface] = [rig.storage, rig.other]
    await asyncio.gather(*(writers[i % 2].guaranteed_update(key("x"), increment) for i in range(20)))
    assert (await rig.storage.get(key("x"))).data()["spec"] == {"number": 20}


@case
async def an_error_on_an_outdated_suggestion_is_not_final(rig: Rig) -> None:
    outdated = await rig.create("x", ok=False)
    await rig.other.guaranteed_update(key("x"), set_spec(ok=True))

    def update(stored: StoredObject | None) -> Object:
        assert stored is not None
        if not stored.data()["spec"]["ok"]:
            raise ValueError("not yet")
        return set_spec(done=True)(stored)

    stored = await rig.storage.guaranteed_update(key("x"), update, UpdateOptions(suggestion=outdated))
    assert stored.data()["spec"] == {"ok": True, "done": True}


@case
async def an_error_on_the_latest_state_is_final_and_nothing_is_written(rig: Rig) -> None:
    stored = await rig.create("x")

    def update(stored: StoredObject | None) -> Object:
        raise ValueError("never")

    for options in (UpdateOptions(), UpdateOptions(suggestion=stored)):
        with raises(ValueError, match="never"):
            await rig.storage.guaranteed_update(key("x"), update, options)
    assert (await rig.storage.get(key("x"))).resource_version == stored.resource_version


@case
async def a_suggestion_of_an_object_that_was_deleted_since_does_not_bring_it_back(rig: Rig) -> None:
    stored = await rig.create("x")
    await rig.other.delete(key("x"))
    with raises(KeyNotFound):
        await rig.storage.guaranteed_update(key("x"), set_spec(color="red"), UpdateOptions(suggestion=stored))


@case
async def an_update_requires_the_uid_it_is_given(rig: Rig) -> None:
    await rig.create("x")
    good = UpdateOptions(preconditions=Preconditions(uid="uid-a-x"))
    assert (await rig.storage.guaranteed_update(key("x"), set_spec(n=1), good)).data()["spec"] == {"n": 1}
    bad = UpdateOptions(preconditions=Preconditions(uid="wrong"))
    with raises(PreconditionFailed) as e:
        await rig.storage.guaranteed_update(key("x"), set_spec(n=2), bad)
    assert str(e.value) == "Precondition failed: UID in precondition: wrong, UID in object meta: uid-a-x"


@case
async def an_update_requires_the_version_it_is_given(rig: Rig) -> None:
    first = await rig.create("x")
    version = str(first.resource_version)
    required = UpdateOptions(preconditions=Preconditions(resource_version=version))
    second = await rig.storage.guaranteed_update(key("x"), set_spec(n=1), required)
    with raises(PreconditionFailed) as e:
        await rig.storage.guaranteed_update(key("x"), set_spec(n=2), required)
    assert str(e.value) == (
        f"Precondition failed: ResourceVersion in precondition: {version}, "
        f"ResourceVersion in object meta: {second.resource_version}"
    )


@case
async def a_precondition_that_fails_on_an_outdated_suggestion_is_checked_on_the_latest_state(rig: Rig) -> None:
    outdated = await rig.create("x")
    latest = await rig.other.guaranteed_update(key("x"), set_spec(n=1))
    options = UpdateOptions(
        suggestion=outdated, preconditions=Preconditions(resource_version=str(latest.resource_version))
    )
    assert (await rig.storage.guaranteed_update(key("x"), set_spec(n=2), options)).data()["spec"] == {"n": 2}


@case
async def keys_outside_of_the_resource_and_keys_with_dots_for_parts_are_refused(rig: Rig) -> None:
    for bad in ("/registry/others/a/x", "/registry/thingsandmore/a/x", f"{ROOT}a/../x", f"{ROOT}a/./x", f"{ROOT}a/.."):
        with raises(InvalidRequest):
            await rig.storage.create(bad, thing("x"))
        with raises(InvalidRequest):
            await rig.storage.get(bad)
    await rig.storage.create(f"{ROOT}a/..x", thing("..x"))
    assert (await rig.storage.get(f"{ROOT}a/..x")).key == f"{ROOT}a/..x"
