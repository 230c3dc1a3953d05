"""Cases about watches with selectors: what enters and leaves a selection."""

# ruff: noqa: D103  (the names are the sentences)

from __future__ import annotations

from watchkeeper.storage.interface import EventType
from watchkeeper.testing.cases import collector
from watchkeeper.testing.storage_suite.rig import ROOT, Rig, by, describe, key, set_labels, set_spec, thing

CASES, case = collector()


@case
async def only_what_is_selected_is_told(rig: Rig) -> None:
    await rig.create("before", labels={"app": "web"})
    await rig.create("other", labels={"app": "db"})
    reader = await rig.watch(predicate=by("app=web"))
    await rig.change("other", n=1)
    await rig.create("another", labels={"app": "db"})
    await rig.storage.delete(key("other"))
    await rig.create("after", labels={"app": "web"})
    assert [(what, name) for what, name, _ in await reader.told(2)] == [("ADDED", "before"), ("ADDED", "after")]


@case
async def entering_a_selection_is_added_and_leaving_it_deleted(rig: Rig) -> None:
    reader = await rig.watch(predicate=by("app=web"))
    await rig.create("x")
    entered = await rig.storage.guaranteed_update(key("x"), set_labels(app="web"))
    changed = await rig.change("x", n=1)
    left = await rig.storage.guaranteed_update(key("x"), set_labels(app="db"))
    await rig.change("x", n=2)
    again = await rig.storage.guaranteed_update(key("x"), set_labels(app="web"))
    assert await reader.told(4) == [
        ("ADDED", "x", entered.resource_version),
        ("MODIFIED", "x", changed.resource_version),
        ("DELETED", "x", left.resource_version),
        ("ADDED", "x", again.resource_version),
    ]


@case
async def what_leaves_a_selection_is_shown_as_it_was_at_the_version_of_the_change(rig: Rig) -> None:
    await rig.create("x", labels={"app": "web"}, n=1)
    reader = await rig.watch(predicate=by("app=web"))
    await reader.take(1)

    def relabel_and_change(stored):  # type: ignore[no-untyped-def]
        return set_spec(n=2)(stored) | {"metadata": {**stored.data()["metadata"], "labels": {"app": "db"}}}

    left = await rig.storage.guaranteed_update(key("x"), relabel_and_change)
    event = await reader.next()
    assert describe(event) == ("DELETED", "x", left.resource_version)
    assert event.object is not None
    assert event.object.data()["spec"] == {"n": 1}
    assert event.object.attributes.labels == {"app": "web"}
    assert event.object.data()["metadata"]["resourceVersion"] == str(left.resource_version)


@case
async def a_deletion_of_what_is_not_selected_is_not_told(rig: Rig) -> None:
    await rig.create("x", labels={"app": "web"})
    reader = await rig.watch(predicate=by("app=web"))
    await reader.take(1)
    await rig.storage.guaranteed_update(key("x"), set_labels(app="db"))
    await reader.take(1)
    await rig.storage.delete(key("x"))
    await rig.create("y", labels={"app": "web"})
    assert [(what, name) for what, name, _ in await reader.told(1)] == [("ADDED", "y")]


@case
async def fields_are_selected_alike(rig: Rig) -> None:
    reader = await rig.watch(predicate=by("", "spec.node=n1"))
    elsewhere = await rig.watch(predicate=by("", "spec.node!=n1"))
    await rig.create("x")
    await rig.change("x", node="n1")
    await rig.change("x", node="n1", n=1)
    await rig.change("x", node="n2")
    await rig.storage.delete(key("x"))
    assert [what for what, _, _ in await reader.told(3)] == ["ADDED", "MODIFIED", "DELETED"]
    assert [what for what, _, _ in await elsewhere.told(4)] == ["ADDED", "DELETED", "ADDED", "DELETED"]


@case
async def both_selectors_must_hold_for_a_watch(rig: Rig) -> None:
    reader = await rig.watch(predicate=by("app=web", "spec.node=n1"))
    await rig.create("x", labels={"app": "web"})
    await rig.create("y", labels={"app": "db"}, node="n1")
    await rig.create("z", labels={"app": "web"}, node="n1")
    assert [(what, name) for what, name, _ in await reader.told(1)] == [("ADDED", "z")]
    await rig.change("x", node="n1")
    await rig.storage.guaranteed_update(key("z"), set_labels(app="db"))
    assert [(what, name) for what, name, _ in await reader.told(2)] == [("ADDED", "x"), ("DELETED", "z")]


@case
async def one_name_can_be_selected_over_all_namespaces(rig: Rig) -> None:
    reader = await rig.watch(predicate=by("", "metadata.name=x"))
    for namespace in ("a", "b"):
        await rig.create("x", namespace)
        await rig.create("y", namespace)
    events = await reader.take(2)
    assert [event.object.key for event in events if event.object] == [key("x", "a"), key("x", "b")]


@case
async def selectors_apply_to_history_too(rig: Rig) -> None:
    start = (await rig.create("x", labels={"app": "web"})).resource_version
    await rig.create("y", labels={"app": "db"})
    await rig.storage.guaranteed_update(key("x"), set_labels(app="db"))
    await rig.storage.guaranteed_update(key("y"), set_labels(app="web"))
    await rig.storage.delete(key("y"))
    reader = await rig.watch(resource_version=str(start), predicate=by("app=web"))
    assert [(what, name) for what, name, _ in await reader.told(3)] == [
        ("DELETED", "x"),
        ("ADDED", "y"),
        ("DELETED", "y"),
    ]


@case
async def a_namespace_and_a_selector_go_together(rig: Rig) -> None:
    reader = await rig.watch(f"{ROOT}b/", predicate=by("app=web"))
    await rig.create("x", "a", labels={"app": "web"})
    await rig.create("y", "b")
    await rig.create("z", "b", labels={"app": "web"})
    assert [(what, name) for what, name, _ in await reader.told(1)] == [("ADDED", "z")]


@case
async def watchers_with_different_selectors_each_see_their_own(rig: Rig) -> None:
    readers = {
        selector: await rig.watch(predicate=by(selector))
        for selector in ("", "app=web", "app=db", "app", "!app", "app in (web,db)", "app!=web")
    }
    await rig.create("x", labels={"app": "web"})
    await rig.storage.guaranteed_update(key("x"), set_labels(app="db"))
    await rig.storage.guaranteed_update(key("x"), set_labels())
    await rig.storage.delete(key("x"))
    expected = {
        "": ["ADDED", "MODIFIED", "MODIFIED", "DELETED"],
        "app=web": ["ADDED", "DELETED"],
        "app=db": ["ADDED", "DELETED"],
        "app": ["ADDED", "MODIFIED", "DELETED"],
        "!app": ["ADDED", "DELETED"],
        "app in (web,db)": ["ADDED", "MODIFIED", "DELETED"],
        "app!=web": ["ADDED", "MODIFIED", "DELETED"],
    }
    for selector, reader in readers.items():
        assert [what for what, _, _ in await reader.told(len(expected[selector]))] == expected[selector], selector


@case
async def watchers_that_come_and_go_do_not_disturb_the_others(rig: Rig) -> None:
    staying = await rig.watch(predicate=by("app=web"))
    for n in range(20):
        going = [await rig.watch(predicate=by("app=web")), await rig.watch(predicate=by(f"n={n}"))]
        await rig.create(f"x{n}", labels={"app": "web", "n": str(n)})
        for reader in going:
            names = [event.object.key for event in await reader.take(1) if event.object]
            assert names == [key("x0")] or n == 0 or reader is going[1]
            reader.close()
    events = await staying.take(20)
    assert [event.object.key for event in events if event.object] == [key(f"x{n}") for n in range(20)]
    assert {event.type for event in events} == {EventType.ADDED}


@case
async def a_single_key_with_a_selector_that_it_does_not_meet_shows_nothing(rig: Rig) -> None:
    await rig.create("x", labels={"app": "db"})
    reader = await rig.watch(key("x"), predicate=by("app=web"))
    await rig.change("x", n=1)
    entered = await rig.storage.guaranteed_update(key("x"), set_labels(app="web"))
    assert await reader.told(1) == [("ADDED", "x", entered.resource_version)]
    await rig.other.create(key("y"), thing("y", labels={"app": "web"}))
