"""Cases about sendInitialEvents, the bookmark behind the initial events, and what may be combined."""

# ruff: noqa: D103  (the names are the sentences)

from __future__ import annotations

from typing import Any

from watchkeeper.storage.errors import TooLargeResourceVersion
from watchkeeper.storage.interface import EventType, Match
from watchkeeper.testing.cases import collector
from watchkeeper.testing.storage_suite.rig import ROOT, Reader, Rig, by, describe, key, thing

CASES, case = collector()


async def watch_list(rig: Rig, prefix: str = ROOT, **options: Any) -> Reader:
    """Open a watch-list."""
    options = {"send_initial_events": True, "bookmarks": True, "match": Match.NOT_OLDER_THAN, **options}
    return await rig.watch(prefix, **options)


@case
async def a_marked_bookmark_comes_behind_the_initial_events(rig: Rig) -> None:
    x = await rig.create("x")
    y = await rig.create("y")
    reader = await watch_list(rig)
    assert await reader.told(2) == [("ADDED", "x", x.resource_version), ("ADDED", "y", y.resource_version)]
    mark = await reader.next()
    assert mark.type is EventType.BOOKMARK
    assert mark.initial_events_end
    assert mark.object is None
    assert mark.resource_version >= y.resource_version
    z = await rig.create("z")
    assert await reader.told(1) == [("ADDED", "z", z.resource_version)]


@case
async def with_nothing_there_the_marked_bookmark_comes_first(rig: Rig) -> None:
    for options in ({}, {"predicate": by("app=none")}, {"resource_version": "0"}):
        reader = await watch_list(rig, **options)
        mark = await reader.next()
        assert (mark.type, mark.initial_events_end) == (EventType.BOOKMARK, True)


@case
async def the_mark_covers_all_that_was_acknowledged_before(rig: Rig) -> None:
    for n in range(10):
        stored = await rig.other.create(key(f"x{n}"), thing(f"x{n}"))
        reader = await watch_list(rig)
        events = await reader.take(n + 2)
        assert [event.object.key for event in events if event.object] == [key(f"x{i}") for i in range(n + 1)]
        assert events[-1].initial_events_end
        assert events[-1].resource_version >= stored.resource_version
        reader.close()


@case
async def a_watch_from_the_mark_repeats_nothing_and_misses_nothing(rig: Rig) -> None:
    await rig.create("x")
    reader = await watch_list(rig)
    mark = (await reader.take(2))[1]
    reader.close()
    stored = await rig.create("y")
    resumed = await rig.watch(resource_version=str(mark.resource_version))
    assert await resumed.told(1) == [("ADDED", "y", stored.resource_version)]


@case
async def without_bookmarks_nothing_marks_the_end_of_the_initial_events(rig: Rig) -> None:
    await rig.create("x")
    reader = await watch_list(rig, bookmarks=False)
    await rig.create("y")
    assert [(what, name) for what, name, _ in await reader.told(2)] == [("ADDED", "x"), ("ADDED", "y")]


@case
async def initial_events_are_selected(rig: Rig) -> None:
    await rig.create("x", labels={"app": "web"}, node="n1")
    await rig.create("y", labels={"app": "db"}, node="n1")
    await rig.create("z", "b", labels={"app": "web"})
    for prefix, predicate, expected in (
        (ROOT, by("app=web"), [key("x"), key("z", "b")]),
        (f"{ROOT}a/", by("app=web"), [key("x")]),
        (ROOT, by("", "spec.node=n1"), [key("x"), key("y")]),
        (ROOT, by("", "metadata.name=z"), [key("z", "b")]),
        (key("y"), by(), [key("y")]),
        (key("y"), by("app=web"), []),
    ):
        reader = await watch_list(rig, prefix, predicate=predicate)
        events = await reader.take(len(expected) + 1)
        assert [event.object.key for event in events if event.object] == expected
        assert events[-1].initial_events_end


@case
async def initial_events_are_not_older_than_the_version_asked_for(rig: Rig) -> None:
    await rig.create("x", n=1)
    stored = await rig.change("x", n=2)
    reader = await watch_list(rig, resource_version=str(stored.resource_version - 1))
    assert await reader.told(1) == [("ADDED", "x", stored.resource_version)]
    mark = await reader.next()
    assert mark.initial_events_end
    assert mark.resource_version >= stored.resource_version


@case
async def a_watch_list_from_the_future_fails_with_an_error_event(rig: Rig) -> None:
    await rig.create("x")
    reader = await watch_list(rig, resource_version="1000000000")
    events = await reader.end()
    assert [event.type for event in events] == [EventType.ERROR]
    assert isinstance(events[0].error, TooLargeResourceVersion)
    assert events[0].error.requested == 1_000_000_000


@case
async def without_initial_events_a_watch_begins_now(rig: Rig) -> None:
    await rig.create("x")
    await rig.other.create(key("x2"), thing("x2"))
    for version in ("", "0"):
        reader = await watch_list(rig, send_initial_events=False, resource_version=version)
        stored = await rig.create(f"y{version}")
        event = await reader.next()
        if version == "":
            assert describe(event) == ("ADDED", "y", stored.resource_version)
        else:
            assert event.type is EventType.ADDED
        reader.close()


@case
async def without_initial_events_a_watch_goes_on_from_the_version_asked_for(rig: Rig) -> None:
    first = await rig.create("x")
    second = await rig.create("y")
    reader = await watch_list(rig, send_initial_events=False, resource_version=str(first.resource_version))
    assert await reader.told(1) == [("ADDED", "y", second.resource_version)]


@case
async def many_initial_events_come_in_order_and_complete(rig: Rig) -> None:
    expected = []
    for n in range(250):
        stored = await rig.create(f"x{n:03}", "ab"[n % 2])
        expected.append((stored.key, stored.resource_version))
    reader = await watch_list(rig)
    events = await reader.take(251)
    found = [(event.object.key, event.resource_version) for event in events[:-1] if event.object]
    assert found == sorted(expected)
    assert events[-1].initial_events_end


@case
async def what_happens_while_the_initial_events_are_read_comes_behind_the_mark(rig: Rig) -> None:
    for n in range(5):
        await rig.create(f"x{n}", n=0)
    reader = await watch_list(rig)
    changed = await rig.change("x0", n=1)
    deleted = await rig.storage.delete(key("x4"))
    events = await reader.take(8)
    assert [event.type.value for event in events] == ["ADDED"] * 5 + ["BOOKMARK", "MODIFIED", "DELETED"]
    assert events[5].resource_version < changed.resource_version
    assert events[6].resource_version == changed.resource_version
    assert events[7].resource_version == deleted.resource_version
