"""Cases about what a watch promises under load: ordered, unique, reliable, atomic, resumable."""

# ruff: noqa: D103  (the names are the sentences)

from __future__ import annotations

import asyncio

from watchkeeper.storage.interface import EventType, ListOptions, WatchEvent
from watchkeeper.testing.cases import collector
from watchkeeper.testing.storage_suite.rig import ROOT, Rig, by, key, set_spec, thing

CASES, case = collector()


@case
async def a_watch_opened_right_behind_the_first_create_sees_it(rig: Rig) -> None:
    created, reader = await asyncio.gather(rig.create("x"), rig.watch())
    assert await reader.told(1) == [("ADDED", "x", created.resource_version)]


@case
async def a_quiet_resource_can_be_watched_from_a_version_of_its_own_while_others_move_on(rig: Rig) -> None:
    stored = await rig.create("x")
    for _ in range(200):
        await rig.bump()
    reader = await rig.watch(resource_version=str(stored.resource_version))
    changed = await rig.change("x", n=1)
    assert await reader.told(1) == [("MODIFIED", "x", changed.resource_version)]


@case
async def a_watch_of_one_name_that_races_its_creation_always_sees_it(rig: Rig) -> None:
    for n in range(50 if rig.remote else 500):
        name = f"x{n}"
        reader, created = await asyncio.gather(rig.watch(key(name)), rig.create(name))
        assert await reader.told(1) == [("ADDED", name, created.resource_version)]
        reader.close()


@case
async def watches_opened_inside_a_burst_of_writes_see_each_state_once_and_versions_rise(rig: Rig) -> None:
    names = [f"x{n}" for n in range(5)]
    for name in names:
        await rig.create(name, n=0)
    rounds = 20
    written: dict[int, str] = {}

    async def write(name: str) -> None:
        for n in range(1, rounds + 1):
            stored = await rig.storage.guaranteed_update(key(name), set_spec(n=n))
            written[stored.resource_version] = name
            await asyncio.sleep(0)

    async def watch(delay: int) -> None:
        for _ in range(delay):
            await asyncio.sleep(0)
        listed = await rig.storage.get_list(ROOT, ListOptions())
        if len(listed.items) > len(names):
            return  # too late: all is written
        start = listed.resource_version
        reader = await rig.watch(resource_version=str(start))
        seen: list[WatchEvent] = []
        last: dict[str, int] = dict.fromkeys(names, 0)
        while True:
            event = await reader.next()
            assert event.object is not None
            if event.object.key == key("the-end"):
                break
            assert not seen or event.resource_version > seen[-1].resource_version
            name, n = event.object.attributes.fields["metadata.name"], event.object.data()["spec"]["n"]
            assert n > last[name]
            last[name] = n
            seen.append(event)
        assert [event.resource_version for event in seen] == sorted(version for version in written if version > start)
        reader.close()

    async def write_all() -> None:
        await asyncio.gather(*(write(name) for name in names))
        await rig.create("the-end")

    await asyncio.gather(write_all(), *(watch(delay) for delay in range(0, 100, 2)))


@case
async def every_watcher_sees_the_same(rig: Rig) -> None:
    readers = [await rig.watch() for _ in range(20)]
    for n in range(20):
        await rig.create(f"x{n}")
        await rig.change(f"x{n}", n=n)
    seen = [await reader.told(40) for reader in readers]
    assert all(told == seen[0] for told in seen)


@case
async def a_watch_resumed_at_each_version_repeats_and_misses_nothing(rig: Rig) -> None:
    start = (await rig.create("x", n=0)).resource_version
    expected = []
    for n in range(1, 10):
        expected.append(("MODIFIED", "x", (await rig.change("x", n=n)).resource_version))
        await rig.bump()
    version = start
    for i in range(len(expected)):
        reader = await rig.watch(resource_version=str(version))
        assert await reader.told(len(expected) - i) == expected[i:]
        reader.close()
        version = expected[i][2]


@case
async def a_reader_that_takes_its_time_is_served_in_full_and_delays_nobody(rig: Rig) -> None:
    slow = await rig.watch()
    fast = await rig.watch()
    for n in range(300):
        await rig.create(f"x{n:03}")
        if n % 50 == 49:
            assert [name for _, name, _ in await fast.told(50)] == [f"x{i:03}" for i in range(n - 49, n + 1)]
    assert [name for _, name, _ in await slow.told(300)] == [f"x{i:03}" for i in range(300)]


@case
async def lists_and_watches_agree(rig: Rig) -> None:
    """Replaying a watch from one list gives the next list, for any pair of lists."""
    for n in range(6):
        await rig.create(f"x{n}", n=0)
    lists = []
    for n in range(12):
        lists.append(await rig.storage.get_list(ROOT, ListOptions()))
        name = f"x{n % 6}"
        if n % 4 == 3:
            await rig.storage.delete(key(name))
            await rig.create(name, n=n)
        else:
            await rig.change(name, n=n)
    for first, last in ((0, 11), (0, 1), (5, 9), (3, 11)):
        state = {stored.key: stored.encoded for stored in lists[first].items}
        reader = await rig.watch(resource_version=str(lists[first].resource_version))
        while True:
            event = await reader.next()
            assert event.object is not None
            if event.resource_version > lists[last].resource_version:
                break
            if event.type is EventType.DELETED:
                del state[event.object.key]
            else:
                assert (event.object.key in state) is (event.type is EventType.MODIFIED)
                state[event.object.key] = event.object.encoded
        assert state == {stored.key: stored.encoded for stored in lists[last].items}
        reader.close()


@case
async def selections_and_watches_agree(rig: Rig) -> None:
    """A watch with a selector keeps a copy equal to what a list with it shows."""
    predicate = by("app=web")
    reader = await rig.watch(predicate=predicate, resource_version="0")
    state: dict[str, bytes] = {}
    for n in range(40):
        name, app = f"x{n * 7 % 5}", ("web", "db", None)[n * 11 % 3]
        current = await rig.storage.get_list(key(name), ListOptions())
        if current.items and n % 5 == 0:
            await rig.storage.delete(key(name))
        else:
            obj = thing(name, n=n, labels={"app": app} if app else None)
            if current.items:
                await rig.storage.guaranteed_update(key(name), lambda stored, obj=obj: obj)  # type: ignore[misc]
            else:
                await rig.storage.create(key(name), obj)
    result = await rig.storage.get_list(ROOT, ListOptions(predicate=predicate))
    await rig.create("sentinel", "z", labels={"app": "web"})
    while True:
        event = await reader.next()
        assert event.object is not None
        if event.object.key == key("sentinel", "z"):
            break
        if event.type is EventType.DELETED:
            del state[event.object.key]
        else:
            assert (event.object.key in state) is (event.type is EventType.MODIFIED)
            state[event.object.key] = event.object.encoded
    assert state == {stored.key: stored.encoded for stored in result.items}
