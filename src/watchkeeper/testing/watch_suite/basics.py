"""Cases about watches: where they begin, what they show, how they end."""

# ruff: noqa: D103  (the names are the sentences)

from __future__ import annotations

import asyncio

from watchkeeper.storage.errors import Expired, InvalidRequest
from watchkeeper.storage.interface import EventType, ListOptions, WatchEvent
from watchkeeper.testing.cases import collector
from watchkeeper.testing.storage_suite.rig import PATIENCE, ROOT, Rig, key, names, raises, set_spec, thing

CASES, case = collector()


@case
async def a_watch_tells_of_creation_change_and_deletion(rig: Rig) -> None:
    reader = await rig.watch()
    created = await rig.create("x", n=1)
    changed = await rig.change("x", n=2)
    deleted = await rig.storage.delete(key("x"))
    events = await reader.take(3)
    assert [event.type for event in events] == [EventType.ADDED, EventType.MODIFIED, EventType.DELETED]
    assert [event.object.encoded for event in events if event.object] == [
        created.encoded,
        changed.encoded,
        deleted.encoded,
    ]


@case
async def a_deleted_object_is_shown_as_it_was_last_at_the_version_of_the_deletion(rig: Rig) -> None:
    reader = await rig.watch()
    await rig.create("x", n=1)
    await rig.change("x", n=2)
    await rig.other.delete(key("x"))
    event = (await reader.take(3))[2]
    assert event.object is not None
    assert event.object.data()["spec"] == {"n": 2}
    assert event.resource_version == event.object.resource_version == await rig.kv.current_revision()
    assert event.object.data()["metadata"]["resourceVersion"] == str(event.resource_version)


@case
async def an_object_deleted_and_created_again_is_added_again(rig: Rig) -> None:
    reader = await rig.watch()
    for _ in range(3):
        await rig.create("x")
        await rig.storage.delete(key("x"))
    assert [what for what, _, _ in await reader.told(6)] == ["ADDED", "DELETED"] * 3


@case
async def a_watch_without_a_version_begins_with_what_is_there(rig: Rig) -> None:
    x = await rig.create("x")
    y = await rig.create("y", "b")
    for version in ("", "0"):
        reader = await rig.watch(resource_version=version)
        assert await reader.told(2) == [("ADDED", "x", x.resource_version), ("ADDED", "y", y.resource_version)]
    reader = await rig.watch(f"{ROOT}b/")
    assert await reader.told(1) == [("ADDED", "y", y.resource_version)]


@case
async def what_is_there_is_shown_in_its_present_state_in_the_order_of_keys(rig: Rig) -> None:
    for name in "dbca":
        await rig.create(name, n=1)
    changed = await rig.change("c", n=2)
    await rig.storage.delete(key("b"))
    await rig.settle()
    reader = await rig.watch(resource_version="0")
    events = await reader.take(3)
    assert names([event.object for event in events if event.object]) == ["a", "c", "d"]
    assert {event.type for event in events} == {EventType.ADDED}
    assert events[1].resource_version == changed.resource_version


@case
async def a_watch_from_zero_survives_compaction(rig: Rig) -> None:
    await rig.create("x", n=1)
    x = await rig.change("x", n=2)
    await rig.compact()
    reader = await rig.watch(resource_version="0")
    assert await reader.told(1) == [("ADDED", "x", x.resource_version)]


@case
async def a_watch_from_a_version_tells_what_came_after_it(rig: Rig) -> None:
    first = await rig.create("x", n=1)
    second = await rig.change("x", n=2)
    third = await rig.create("y")
    reader = await rig.watch(resource_version=str(first.resource_version))
    fourth = await rig.storage.delete(key("y"))
    assert await reader.told(3) == [
        ("MODIFIED", "x", second.resource_version),
        ("ADDED", "y", third.resource_version),
        ("DELETED", "y", fourth.resource_version),
    ]


@case
async def a_watch_goes_on_behind_a_list_without_a_gap(rig: Rig) -> None:
    await rig.create("x")
    for n in range(10):
        result = await rig.storage.get_list(ROOT, ListOptions())
        stored = await rig.other.create(key(f"y{n}"), thing(f"y{n}"))
        reader = await rig.watch(resource_version=str(result.resource_version))
        assert await reader.told(1) == [("ADDED", f"y{n}", stored.resource_version)]
        reader.close()


@case
async def a_watch_may_begin_in_the_future_and_is_silent_until_then(rig: Rig) -> None:
    x = await rig.create("x", n=0)
    reader = await rig.watch(resource_version=str(x.resource_version + 3))
    stored = [await rig.change("x", n=n) for n in range(1, 6)]
    assert await reader.told(2) == [("MODIFIED", "x", s.resource_version) for s in stored[3:]]


@case
async def a_watch_of_one_key_tells_of_nothing_else(rig: Rig) -> None:
    reader = await rig.watch(key("x"))
    await rig.create("x-y")
    await rig.create("x", "b")
    await rig.create("xy")
    x = await rig.create("x")
    await rig.storage.delete(key("xy"))
    deleted = await rig.storage.delete(key("x"))
    assert await reader.told(2) == [("ADDED", "x", x.resource_version), ("DELETED", "x", deleted.resource_version)]


@case
async def a_watch_of_a_namespace_tells_of_no_other(rig: Rig) -> None:
    reader = await rig.watch(f"{ROOT}a/")
    await rig.create("x", "a-b")
    await rig.create("y", "ab")
    z = await rig.create("z", "a")
    assert await reader.told(1) == [("ADDED", "z", z.resource_version)]


@case
async def an_update_that_changes_nothing_is_not_told(rig: Rig) -> None:
    await rig.create("x", n=1)
    reader = await rig.watch()
    await reader.take(1)
    await rig.change("x", n=1)
    changed = await rig.change("x", n=2)
    assert await reader.told(1) == [("MODIFIED", "x", changed.resource_version)]


@case
async def what_another_server_does_is_told_alike(rig: Rig) -> None:
    reader = await rig.watch()
    x = await rig.other.create(key("x"), thing("x"))
    changed = await rig.other.guaranteed_update(key("x"), set_spec(n=1))
    deleted = await rig.other.delete(key("x"))
    assert await reader.told(3) == [
        ("ADDED", "x", x.resource_version),
        ("MODIFIED", "x", changed.resource_version),
        ("DELETED", "x", deleted.resource_version),
    ]


@case
async def a_compacted_version_has_expired_for_a_watch_or_is_still_remembered(rig: Rig) -> None:
    first = await rig.create("x")
    second = await rig.create("y")
    await rig.compact()
    reader = await rig.watch(resource_version=str(first.resource_version))
    event = await reader.next()
    if event.type is EventType.ERROR:
        assert isinstance(event.error, Expired)
        assert await reader.end() == []
    else:
        assert rig.cached
        assert event.resource_version == second.resource_version


@case
async def a_version_before_anything_that_is_remembered_has_expired(rig: Rig) -> None:
    await rig.create("x")
    await rig.compact()
    if rig.cached:
        return  # it may remember more than the store
    reader = await rig.watch(resource_version="1")
    event = await reader.next()
    assert isinstance(event.error, Expired)
    assert str(event.error) == "The resourceVersion for the provided watch is too old."


@case
async def a_garbage_version_is_refused_for_a_watch(rig: Rig) -> None:
    for version in ("abc", "-1"):
        with raises(InvalidRequest):
            await rig.watch(resource_version=version)


@case
async def a_watch_outside_of_the_resource_is_refused(rig: Rig) -> None:
    for prefix in ("/registry/other/", "/registry/thingsandmore/", f"{ROOT}a/../"):
        with raises(InvalidRequest):
            await rig.watch(prefix)


@case
async def a_closed_watch_ends_for_whoever_waits_for_it(rig: Rig) -> None:
    reader = await rig.watch()
    waiting = asyncio.create_task(reader.watcher.next_batch())
    await asyncio.sleep(0)
    reader.close()
    reader.close()
    assert await asyncio.wait_for(waiting, PATIENCE) == []
    await rig.create("x")
    assert await reader.watcher.next_batch() == []


@case
async def a_cancelled_wait_loses_no_event(rig: Rig) -> None:
    reader = await rig.watch()
    told: list[WatchEvent] = []
    for n in range(5):
        waiting = asyncio.create_task(reader.watcher.next_batch())
        await asyncio.sleep(0)
        waiting.cancel()
        results = await asyncio.gather(waiting, return_exceptions=True)
        told += [event for batch in results if isinstance(batch, list) for event in batch]
        await rig.create(f"x{n}")
    told += await reader.take(5 - len(told))
    assert [event.object.key for event in told if event.object] == [key(f"x{n}") for n in range(5)]


@case
async def no_more_events_are_taken_at_once_than_asked_for(rig: Rig) -> None:
    for n in range(5):
        await rig.create(f"x{n}")
    watcher = (await rig.watch(resource_version="0")).watcher
    taken: list[WatchEvent] = []
    while len(taken) < 5:
        batch = await watcher.next_batch(max_events=2)
        assert 1 <= len(batch) <= 2
        taken += batch
    for n in range(5):
        await rig.change(f"x{n}", n=n)
    while len(taken) < 10:
        batch = await watcher.next_batch(max_events=2)
        assert 1 <= len(batch) <= 2
        taken += batch
    assert len(taken) == 10


@case
async def an_object_that_expires_is_told_as_deleted(rig: Rig) -> None:
    reader = await rig.watch()
    await rig.storage.create(key("x"), thing("x", n=1), ttl=2)
    added, deleted = await reader.take(2)
    assert deleted.type is EventType.DELETED
    assert deleted.object is not None
    assert deleted.object.data()["spec"] == {"n": 1}
    assert deleted.resource_version > added.resource_version


@case
async def closing_the_storage_ends_its_watches(rig: Rig) -> None:
    reader = await rig.watch()
    await rig.create("x")
    await reader.take(1)
    waiting = asyncio.create_task(reader.watcher.next_batch())
    await asyncio.sleep(0)
    await rig.storage.close()
    assert await asyncio.wait_for(waiting, PATIENCE) == []
