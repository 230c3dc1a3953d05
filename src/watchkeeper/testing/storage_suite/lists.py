"""Cases about lists: what is in them, in which order, of which version."""

# ruff: noqa: D103  (the names are the sentences)

from __future__ import annotations

import asyncio

from watchkeeper.storage.errors import Expired, InvalidRequest, TooLargeResourceVersion
from watchkeeper.storage.interface import ListOptions, Match
from watchkeeper.testing.cases import collector
from watchkeeper.testing.storage_suite.rig import (
    ROOT,
    Rig,
    by,
    key,
    names,
    raises,
    set_labels,
    set_spec,
    thing,
)

CASES, case = collector()

EXACT, NOT_OLDER = Match.EXACT, Match.NOT_OLDER_THAN


async def fill(rig: Rig, *objects: str) -> None:
    """Create `namespace/name`s."""
    for text in objects:
        namespace, name = text.split("/")
        await rig.create(name, namespace)


@case
async def an_empty_list_has_a_version_and_no_items(rig: Rig) -> None:
    revision = await rig.bump()
    for options in (ListOptions(), ListOptions(limit=5), ListOptions(predicate=by("a=b"))):
        result = await rig.storage.get_list(ROOT, options)
        assert (result.items, result.resource_version, result.continue_token, result.remaining) == (
            [],
            revision,
            "",
            None,
        )


@case
async def items_come_in_the_order_of_their_keys(rig: Rig) -> None:
    await fill(rig, "b/x", "a/y", "x/z", "a/x", "x-b/a", "a-b/x", "a/x-y", "a/x.y", "a/xy")
    result = await rig.storage.get_list(ROOT, ListOptions())
    expected = ["a-b/x", "a/x", "a/x-y", "a/x.y", "a/xy", "a/y", "b/x", "x-b/a", "x/z"]
    assert [stored.key.removeprefix(ROOT) for stored in result.items] == expected


@case
async def a_namespace_shows_only_its_own(rig: Rig) -> None:
    await fill(rig, "a/x", "a-b/y", "ab/z", "a/w", "b/v")
    assert names((await rig.storage.get_list(f"{ROOT}a/", ListOptions())).items) == ["w", "x"]
    assert names((await rig.storage.get_list(f"{ROOT}a-b/", ListOptions())).items) == ["y"]
    assert (await rig.storage.get_list(f"{ROOT}c/", ListOptions())).items == []


@case
async def a_list_of_one_key_shows_that_object_or_nothing(rig: Rig) -> None:
    await fill(rig, "a/x", "a/x-y")
    assert names((await rig.storage.get_list(key("x"), ListOptions())).items) == ["x"]
    assert (await rig.storage.get_list(key("y"), ListOptions())).items == []
    assert (await rig.storage.get_list(key("x"), ListOptions(predicate=by("app=web")))).items == []


@case
async def a_list_is_of_the_latest_version_by_default(rig: Rig) -> None:
    await fill(rig, "a/x")
    for n in range(10):
        stored = await rig.storage.guaranteed_update(key("x"), set_spec(n=n))
        result = await rig.storage.get_list(ROOT, ListOptions())
        assert result.resource_version >= stored.resource_version
        assert result.items[0].encoded == stored.encoded


@case
async def what_another_server_wrote_is_in_the_next_list(rig: Rig) -> None:
    for n in range(10):
        stored = await rig.other.create(key(f"x{n}"), thing(f"x{n}"))
        result = await rig.storage.get_list(ROOT, ListOptions())
        assert len(result.items) == n + 1
        assert result.resource_version >= stored.resource_version


@case
async def own_writes_are_in_the_next_list_while_others_write(rig: Rig) -> None:
    async def write(client: int) -> None:
        for n in range(10):
            name = f"c{client}-{n}"
            await rig.create(name)
            assert name in names((await rig.storage.get_list(ROOT, ListOptions())).items)
            await rig.storage.delete(key(name))
            assert name not in names((await rig.storage.get_list(ROOT, ListOptions())).items)

    await asyncio.gather(*(write(client) for client in range(5)))


@case
async def the_version_of_a_list_covers_writes_elsewhere(rig: Rig) -> None:
    await fill(rig, "a/x")
    revision = await rig.bump()
    assert (await rig.storage.get_list(ROOT, ListOptions())).resource_version == revision


@case
async def every_combination_of_version_and_match_shows_the_right_state(rig: Rig) -> None:
    x = await rig.create("x")
    y = await rig.create("y")
    z = await rig.create("z")
    await rig.settle()
    latest = ["x", "y", "z"]
    for version, match, limit, expected in (
        ("", Match.UNSET, 0, latest),
        ("0", Match.UNSET, 0, latest),
        ("0", NOT_OLDER, 0, latest),
        (str(x.resource_version), Match.UNSET, 0, latest),
        (str(x.resource_version), NOT_OLDER, 0, latest),
        (str(x.resource_version), EXACT, 0, ["x"]),
        (str(y.resource_version), EXACT, 0, ["x", "y"]),
        (str(z.resource_version), EXACT, 0, latest),
        (str(y.resource_version), Match.UNSET, 5, ["x", "y"]),
        (str(y.resource_version), NOT_OLDER, 5, latest),
        (str(y.resource_version), EXACT, 5, ["x", "y"]),
    ):
        options = ListOptions(resource_version=version, match=match, limit=limit)
        result = await rig.storage.get_list(ROOT, options)
        assert names(result.items) == expected, options
        if match is EXACT or (limit and match is Match.UNSET):
            assert result.resource_version == int(version), options
        else:
            assert result.resource_version >= int(version or z.resource_version), options
        assert result.continue_token == "", options


@case
async def an_exact_list_shows_objects_as_they_were_also_those_gone_or_changed_since(rig: Rig) -> None:
    await fill(rig, "a/x", "a/y")
    then = (await rig.change("x", n=1)).resource_version
    await rig.change("x", n=2)
    await rig.storage.delete(key("y"))
    await fill(rig, "a/w", "b/z")
    for prefix in (ROOT, f"{ROOT}a/"):
        result = await rig.storage.get_list(prefix, ListOptions(resource_version=str(then), match=EXACT))
        assert names(result.items) == ["x", "y"]
        assert result.items[0].data()["spec"] == {"n": 1}
        assert result.items[0].resource_version == then
    assert (await rig.storage.get_list(f"{ROOT}b/", ListOptions(resource_version=str(then), match=EXACT))).items == []


@case
async def an_exact_list_of_one_key_shows_it_as_it_was(rig: Rig) -> None:
    then = (await rig.create("x", n=1)).resource_version
    await rig.change("x", n=2)
    result = await rig.storage.get_list(key("x"), ListOptions(resource_version=str(then), match=EXACT))
    assert result.items[0].data()["spec"] == {"n": 1}


@case
async def an_exact_list_selects_by_the_labels_of_then(rig: Rig) -> None:
    await rig.create("x", labels={"app": "web"})
    await rig.create("y", labels={"app": "db"})
    then = (await rig.create("z", labels={"app": "web"})).resource_version
    await rig.storage.guaranteed_update(key("x"), set_labels(app="db"))
    await rig.storage.guaranteed_update(key("y"), set_labels(app="web"))
    await rig.storage.delete(key("z"))
    options = ListOptions(resource_version=str(then), match=EXACT, predicate=by("app=web"))
    assert names((await rig.storage.get_list(ROOT, options)).items) == ["x", "z"]
    assert names((await rig.storage.get_list(ROOT, ListOptions(predicate=by("app=web")))).items) == ["y"]


@case
async def a_version_elsewhere_can_be_listed_exactly(rig: Rig) -> None:
    await fill(rig, "a/x")
    then = await rig.bump()
    await fill(rig, "a/y")
    result = await rig.storage.get_list(ROOT, ListOptions(resource_version=str(then), match=EXACT))
    assert names(result.items) == ["x"]
    assert result.resource_version == then


@case
async def a_version_that_is_not_reached_is_too_large_for_a_list(rig: Rig) -> None:
    await fill(rig, "a/x")
    for match in (Match.UNSET, NOT_OLDER, EXACT):
        with raises(TooLargeResourceVersion) as e:
            await rig.storage.get_list(ROOT, ListOptions(resource_version="1000000000", match=match))
        assert e.value.current > 0
        assert e.value.retry_after in (0, 1), "a cache knows when to ask again, a database does not"


@case
async def a_garbage_version_is_refused_for_a_list(rig: Rig) -> None:
    for options in (ListOptions(resource_version="abc"), ListOptions(resource_version="1.5", match=NOT_OLDER)):
        with raises(InvalidRequest, match="invalid resource version: resourceVersion: Invalid value: "):
            await rig.storage.get_list(ROOT, options)


@case
async def a_compacted_version_has_expired_or_is_still_remembered(rig: Rig) -> None:
    await fill(rig, "a/x")
    then = (await rig.create("y")).resource_version
    await fill(rig, "a/z")
    await rig.compact()
    options = ListOptions(resource_version=str(then), match=EXACT)
    try:
        result = await rig.storage.get_list(ROOT, options)
    except Expired as e:
        assert str(e) == "The resourceVersion for the provided list is too old."
    else:
        assert rig.cached
        assert names(result.items) == ["x", "y"]


@case
async def label_selectors_select(rig: Rig) -> None:
    await rig.create("bare")
    await rig.create("db", labels={"app": "db", "n": "5"})
    await rig.create("web1", labels={"app": "web", "tier": "front"})
    await rig.create("web2", "b", labels={"app": "web", "tier": "back"})
    for selector, expected in (
        ("app=web", ["web1", "web2"]),
        ("app!=web", ["bare", "db"]),
        ("app", ["db", "web1", "web2"]),
        ("!app", ["bare"]),
        ("app in (web,db)", ["db", "web1", "web2"]),
        ("app notin (web)", ["bare", "db"]),
        ("app=web,tier=back", ["web2"]),
        ("app=web,tier!=back", ["web1"]),
        ("app=web,app=db", []),
        ("n>4", ["db"]),
        ("app=other", []),
    ):
        result = await rig.storage.get_list(ROOT, ListOptions(predicate=by(selector)))
        assert names(result.items) == expected, selector
    result = await rig.storage.get_list(f"{ROOT}a/", ListOptions(predicate=by("app=web")))
    assert names(result.items) == ["web1"]


@case
async def labels_that_change_change_what_is_selected(rig: Rig) -> None:
    await rig.create("x", labels={"app": "web"})
    await rig.create("y", labels={"app": "web"})
    options = ListOptions(predicate=by("app=web"))
    assert names((await rig.storage.get_list(ROOT, options)).items) == ["x", "y"]
    await rig.storage.guaranteed_update(key("x"), set_labels(app="db"))
    assert names((await rig.storage.get_list(ROOT, options)).items) == ["y"]
    await rig.storage.guaranteed_update(key("x"), set_labels(app="web", more="1"))
    assert names((await rig.storage.get_list(ROOT, options)).items) == ["x", "y"]
    await rig.storage.delete(key("y"))
    await rig.create("w", labels={"app": "web"})
    assert names((await rig.storage.get_list(ROOT, options)).items) == ["w", "x"]


@case
async def field_selectors_select(rig: Rig) -> None:
    await rig.create("x", node="n1", color="red")
    await rig.create("y", "b", node="n2", color="red")
    await rig.create("z")
    for selector, expected in (
        ("spec.node=n1", ["x"]),
        ("spec.node!=n1", ["z", "y"]),
        ("spec.node=", ["z"]),
        ("spec.node!=", ["x", "y"]),
        ("spec.color=red", ["x", "y"]),
        ("spec.color=red,spec.node=n2", ["y"]),
        ("metadata.name=z", ["z"]),
        ("metadata.namespace=b", ["y"]),
        ("metadata.name=x,metadata.namespace=b", []),
    ):
        result = await rig.storage.get_list(ROOT, ListOptions(predicate=by("", selector)))
        assert names(result.items) == expected, selector
    await rig.change("z", node="n1")
    assert names((await rig.storage.get_list(ROOT, ListOptions(predicate=by("", "spec.node=n1")))).items) == ["x", "z"]


@case
async def both_selectors_must_hold(rig: Rig) -> None:
    await rig.create("x", labels={"app": "web"}, node="n1")
    await rig.create("y", labels={"app": "web"}, node="n2")
    await rig.create("z", labels={"app": "db"}, node="n1")
    result = await rig.storage.get_list(ROOT, ListOptions(predicate=by("app=web", "spec.node=n1")))
    assert names(result.items) == ["x"]
