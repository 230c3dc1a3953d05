"""Cases about reading one object, counting, and versions."""

# ruff: noqa: D103  (the names are the sentences)

from __future__ import annotations

from watchkeeper.storage.errors import InvalidRequest, KeyNotFound, TooLargeResourceVersion
from watchkeeper.storage.interface import Object
from watchkeeper.testing.cases import collector
from watchkeeper.testing.storage_suite.rig import ROOT, Rig, key, raises, set_spec, thing

CASES, case = collector()


@case
async def the_latest_state_is_read_by_default(rig: Rig) -> None:
    await rig.create("x", n=1)
    stored = await rig.change("x", n=2)
    assert (await rig.storage.get(key("x"))).encoded == stored.encoded


@case
async def what_another_server_wrote_is_read_at_once(rig: Rig) -> None:
    await rig.create("x", n=0)
    for n in range(1, 20):
        await rig.other.guaranteed_update(key("x"), set_spec(n=n))
        assert (await rig.storage.get(key("x"))).data()["spec"] == {"n": n}


@case
async def what_is_at_hand_at_once_is_never_out_of_date(rig: Rig) -> None:
    await rig.create("x", n=0)
    for n in range(1, 20):
        stored = await rig.storage.guaranteed_update(key("x"), set_spec(n=n))
        found = rig.storage.get_nowait(key("x"))
        assert found is None or found.resource_version == stored.resource_version
        stored = await rig.other.guaranteed_update(key("x"), set_spec(n=-n))
        found = rig.storage.get_nowait(key("x"))
        assert found is None or found.resource_version == stored.resource_version
    await rig.other.delete(key("x"))
    assert rig.storage.get_nowait(key("x")) is None


@case
async def any_version_will_do_for_zero(rig: Rig) -> None:
    stored = await rig.create("x")
    assert (await rig.storage.get(key("x"), resource_version=str(stored.resource_version))).encoded == stored.encoded
    await rig.settle()
    assert (await rig.storage.get(key("x"), resource_version="0")).encoded == stored.encoded


@case
async def a_version_is_a_minimum(rig: Rig) -> None:
    first = await rig.create("x", n=1)
    second = await rig.other.guaranteed_update(key("x"), set_spec(n=2))
    for version in (first.resource_version, second.resource_version):
        found = await rig.storage.get(key("x"), resource_version=str(version))
        assert found.resource_version >= version


@case
async def a_minimum_may_be_a_version_of_something_else(rig: Rig) -> None:
    stored = await rig.create("x")
    revision = await rig.bump()
    assert (await rig.storage.get(key("x"), resource_version=str(revision))).encoded == stored.encoded


@case
async def a_version_that_is_not_reached_is_too_large(rig: Rig) -> None:
    await rig.create("x")
    with raises(TooLargeResourceVersion) as e:
        await rig.storage.get(key("x"), resource_version="1000000000")
    assert str(e.value).startswith("Too large resource version: 1000000000, current: ")
    assert e.value.retry_after in (0, 1), "a cache knows when to ask again, a database does not"


@case
async def a_version_that_is_no_number_is_refused(rig: Rig) -> None:
    await rig.create("x")
    for version, why in (
        ("abc", "invalid syntax"),
        ("-1", "invalid syntax"),
        ("18446744073709551616", "value out of range"),
    ):
        with raises(InvalidRequest) as e:
            await rig.storage.get(key("x"), resource_version=version)
        assert str(e.value) == (
            f'invalid resource version: resourceVersion: Invalid value: "{version}": '
            f'strconv.ParseUint: parsing "{version}": {why}'
        )


@case
async def an_absent_object_is_not_found(rig: Rig) -> None:
    await rig.create("x")
    for version in ("", "0"):
        for missing in (key("y"), key("x", "b"), ROOT + "x"):
            with raises(KeyNotFound) as e:
                await rig.storage.get(missing, resource_version=version)
            assert e.value.key == missing


@case
async def the_beginning_of_a_name_finds_nothing(rig: Rig) -> None:
    await rig.create("x-y")
    with raises(KeyNotFound):
        await rig.storage.get(key("x"))


@case
async def labels_and_fields_come_with_the_object(rig: Rig) -> None:
    await rig.create("x", labels={"app": "web"}, node="n1")
    attributes = (await rig.storage.get(key("x"))).attributes
    assert attributes.labels == {"app": "web"}
    assert attributes.fields == {
        "metadata.name": "x",
        "metadata.namespace": "a",
        "spec.node": "n1",
        "spec.color": "",
    }
    assert attributes.uid == "uid-a-x"


@case
async def objects_are_counted_by_prefix(rig: Rig) -> None:
    for namespace, name in (("a", "x"), ("a", "y"), ("a-b", "x"), ("b", "x")):
        await rig.create(name, namespace)
    await rig.settle()
    assert await rig.storage.count(ROOT) == 4
    assert await rig.storage.count(f"{ROOT}a/") == 2
    assert await rig.storage.count(f"{ROOT}c/") == 0
    assert (await rig.storage.stats()).object_count == 4
    await rig.storage.delete(key("x"))
    await rig.settle()
    assert await rig.storage.count(ROOT) == 3


@case
async def the_current_version_counts_all_writes(rig: Rig) -> None:
    stored = await rig.create("x")
    assert await rig.storage.current_resource_version() == stored.resource_version
    revision = await rig.bump()
    assert await rig.storage.current_resource_version() == revision


@case
async def text_in_any_script_and_large_numbers_survive(rig: Rig) -> None:
    spec: Object = {
        "text": 'é漢\U0001f600\u2028"\\/\x1f',
        "big": 2**63 - 1,
        "small": -(2**63),
        "half": 0.5,
        "nothing": None,
        "no": False,
    }
    stored = await rig.storage.create(key("x"), thing("x", **spec))
    assert stored.data()["spec"] == spec
    assert (await rig.storage.get(key("x"))).data()["spec"] == spec


@case
async def a_ready_storage_says_so(rig: Rig) -> None:
    assert rig.storage.ready() == ""
