"""What a watch begins with can be taken as objects: the same ones, in the same order, as events would tell of."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence

import pytest
from cache_objects import by, change, stored

from watchkeeper.storage.cacher.cache_watcher import CacheWatcher
from watchkeeper.storage.cacher.events import CacheEvent
from watchkeeper.storage.interface import BeginningWatcher, EventType, StoredObject, WatchEvent

Told = list[tuple[EventType, int]]


def watcher(
    initial: Sequence[StoredObject] | Sequence[CacheEvent], selector: str = "", *, mark: WatchEvent | None = None
) -> CacheWatcher:
    return CacheWatcher(by(selector) if selector else None, initial, 0, lambda _: None, mark=mark)


def state(count: int) -> list[StoredObject]:
    return [stored(f"a/{n:03}", n + 1, {"half": str(n % 2)}, fill="x" * (n % 7 * 100)) for n in range(count)]


def the_mark() -> WatchEvent:
    return WatchEvent(EventType.BOOKMARK, None, 1000, initial_events_end=True)


async def by_events(source: CacheWatcher) -> Told:
    source.finish()
    told: Told = []
    while batch := await source.next_batch():
        told += [(event.type, event.resource_version) for event in batch]
    return told


def test_a_cache_watcher_has_a_beginning() -> None:
    assert isinstance(watcher(()), BeginningWatcher)


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("selector", ["", "half=1", "half=2"])
def test_both_ways_give_out_one_sequence_wherever_one_goes_on_after_the_other(seed: int, selector: str) -> None:
    rng = random.Random(seed)
    initial = state(rng.choice([0, 1, 2, 40]))

    async def run() -> None:
        expected = await by_events(watcher(initial, selector, mark=the_mark()))
        source = watcher(initial, selector, mark=the_mark())
        told: Told = []
        while True:
            if rng.random() < 0.7:
                items = source.take_initial(rng.choice([1, 300, 5000]))
                if items is None:
                    break
                told += [(EventType.ADDED, item.resource_version) for item in items]
            elif len(told) < len(expected) - 1:
                told += [(event.type, event.resource_version) for event in await source.next_batch(rng.choice([1, 3]))]
        source.put(WatchEvent(EventType.BOOKMARK, None, 2000))
        assert source.take_initial(1) is None
        assert told + await by_events(source) == [*expected, (EventType.BOOKMARK, 2000)]

    asyncio.run(run())


def test_as_much_is_taken_as_was_asked_for_and_one_object_at_least() -> None:
    source = watcher(state(10))
    sizes = [len(item.tail) for item in state(10)]
    assert [item.resource_version for item in source.take_initial(1) or ()] == [1]
    assert [item.resource_version for item in source.take_initial(sizes[1] + sizes[2] + 1) or ()] == [2, 3, 4]
    assert [item.resource_version for item in source.take_initial(1_000_000) or ()] == list(range(5, 11))
    assert source.take_initial(1) is None


def test_nothing_selected_is_not_the_end() -> None:
    source = watcher(state(10), "half=2")
    assert source.take_initial(1) == []
    assert source.take_initial(1_000_000) == []
    assert source.take_initial(1_000_000) is None


def test_changes_since_a_version_are_events() -> None:
    first, second = stored("a/x", 1, n=1), stored("a/x", 2, n=2)

    async def run() -> None:
        source = watcher([change(first, None, 1), change(second, first, 2)])
        assert source.take_initial(1_000_000) is None
        assert await by_events(source) == [(EventType.ADDED, 1), (EventType.MODIFIED, 2)]

    asyncio.run(run())


def test_a_closed_watcher_has_nothing_left() -> None:
    source = watcher(state(10), mark=the_mark())
    assert source.take_initial(1)
    source.close()
    assert source.take_initial(1_000_000) is None
    assert asyncio.run(source.next_batch()) == []


@pytest.mark.parametrize("by_objects", [True, False])
def test_what_was_given_out_is_not_held_any_longer(by_objects: bool) -> None:
    source = watcher(state(10))
    if by_objects:
        assert source.take_initial(1_000_000)
    else:
        assert asyncio.run(source.next_batch())
    assert len(source._initial) == 0
    assert source.take_initial(1) is None
