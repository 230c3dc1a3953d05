"""Dispatch: shared events, slow watchers, bookmarks; on a clock of the test's."""

from __future__ import annotations

import asyncio

from cache_objects import ROOT, by, change, stored

from watchkeeper.storage.cacher.bookmarks import Bookmarks
from watchkeeper.storage.cacher.cache_watcher import CacheWatcher
from watchkeeper.storage.cacher.dispatch import Dispatcher
from watchkeeper.storage.cacher.watcher_index import WatcherIndex
from watchkeeper.storage.interface import EventType, WatchEvent
from watchkeeper.storage.predicate import SelectionPredicate
from watchkeeper.testing.clock import ManualClock


class Hall:
    """Watchers, a dispatcher and bookmarks."""

    def __init__(self, *, limit: int = 5, most: int = 20) -> None:
        self.clock = ManualClock()
        self.index = WatcherIndex(ROOT, frozenset())
        self.dispatcher = Dispatcher(self.index, self.clock, queue_limit=limit, queue_max=most)
        self.revision = 0
        self.bookmarks = Bookmarks(self.clock)
        self.bookmarks.revision = lambda: self.revision
        self.tasks = [asyncio.create_task(self.dispatcher.run()), asyncio.create_task(self.bookmarks.run())]

    def forget(self, watcher: CacheWatcher) -> None:
        self.index.remove(watcher)
        self.bookmarks.remove(watcher)
        self.dispatcher.forget(watcher)

    def open(self, predicate: SelectionPredicate | None = None, *, after: int = 0, deadline: float | None = None):
        watcher = CacheWatcher(predicate, (), after, self.forget, deadline=deadline)
        self.index.add(watcher, ROOT, predicate)
        self.bookmarks.add(watcher)
        return watcher

    def write(self, times: int = 1) -> None:
        for _ in range(times):
            self.revision += 1
            self.dispatcher.dispatch(change(stored("x", self.revision, {"app": "a"}), None, self.revision))

    async def close(self) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)


def in_hall(test, **options: int) -> None:
    async def run() -> None:
        hall = Hall(**options)
        try:
            await test(hall)
        finally:
            await hall.close()

    asyncio.run(run())


def test_watchers_that_see_the_same_share_one_event() -> None:
    async def test(hall: Hall) -> None:
        watchers = [hall.open(), hall.open(), hall.open(by("app=a")), hall.open(by("app in (a,b)"))]
        hall.write()
        events = {id(event) for watcher in watchers for event in watcher.queue}
        assert len(events) == 1
        assert hall.open(by("app=b")).queue == []

    in_hall(test)


def test_what_enters_for_one_and_changes_for_another_is_two_events() -> None:
    async def test(hall: Hall) -> None:
        all_of_it, entering, leaving = hall.open(), hall.open(by("app=b")), hall.open(by("app=a"))
        hall.dispatcher.dispatch(change(stored("x", 2, {"app": "b"}), stored("x", 1, {"app": "a"}), 2))
        assert [w.queue[0].type for w in (all_of_it, entering, leaving)] == [
            EventType.MODIFIED,
            EventType.ADDED,
            EventType.DELETED,
        ]
        assert leaving.queue[0].object.attributes.labels == {"app": "a"}
        assert leaving.queue[0].resource_version == 2

    in_hall(test)


def test_a_watcher_is_not_told_of_what_it_began_behind() -> None:
    async def test(hall: Hall) -> None:
        watcher = hall.open(after=3)
        hall.write(5)
        assert [event.resource_version for event in watcher.queue] == [4, 5]

    in_hall(test)


def test_a_watcher_that_is_slow_for_too_long_is_closed_and_the_others_stay() -> None:
    async def test(hall: Hall) -> None:
        slow, fast = hall.open(), hall.open()
        hall.write(6)
        assert len(await fast.next_batch()) == 6
        await hall.clock.advance(0.9)
        assert not slow.closed
        await hall.clock.advance(0.5)
        assert slow.closed
        assert hall.dispatcher.terminated == 1
        assert await slow.next_batch() == []
        hall.write()
        assert len(await fast.next_batch()) == 1
        assert len(hall.index) == 1

    in_hall(test)


def test_a_watcher_that_catches_up_in_time_stays() -> None:
    async def test(hall: Hall) -> None:
        watcher = hall.open()
        for _ in range(5):
            hall.write(8)
            await hall.clock.advance(0.5)
            assert len(await watcher.next_batch()) == 8
            await hall.clock.advance(0.5)
        await hall.clock.advance(5)
        assert not watcher.closed
        assert repr(hall.dispatcher) == "<Dispatcher 1 watchers, 0 slow>"

    in_hall(test)


def test_a_watcher_far_behind_is_closed_at_once() -> None:
    async def test(hall: Hall) -> None:
        watcher = hall.open()
        hall.write(20)
        assert not watcher.closed
        hall.write()
        assert watcher.closed

    in_hall(test)


def test_watchers_of_one_group_can_be_closed_while_it_is_told() -> None:
    async def test(hall: Hall) -> None:
        watchers = [hall.open() for _ in range(10)]
        hall.write(25)
        assert all(watcher.closed for watcher in watchers)
        assert len(hall.index) == 0

    in_hall(test)


async def bookmarks_of(watcher: CacheWatcher) -> list[int]:
    taken = await asyncio.wait_for(watcher.next_batch(), 1) if watcher.queue else []
    return [event.resource_version for event in taken if event.type is EventType.BOOKMARK]


def test_a_bookmark_comes_about_once_a_minute() -> None:
    async def test(hall: Hall) -> None:
        watcher = hall.open()
        hall.revision = 7
        await hall.clock.advance(59)
        assert await bookmarks_of(watcher) == []
        await hall.clock.advance(2.5)
        assert await bookmarks_of(watcher) == [7]
        hall.revision = 8
        await hall.clock.advance(57)
        assert await bookmarks_of(watcher) == []
        await hall.clock.advance(5)
        assert await bookmarks_of(watcher) == [8]

    in_hall(test)


def test_a_bookmark_comes_shortly_before_the_end_of_a_watch() -> None:
    async def test(hall: Hall) -> None:
        now = hall.clock.monotonic()
        brief, long = hall.open(deadline=now + 30), hall.open(deadline=now + 100)
        hall.revision = 3
        await hall.clock.advance(29.5)
        assert await bookmarks_of(brief) == [3]
        assert await bookmarks_of(long) == []
        await hall.clock.advance(33)
        assert await bookmarks_of(long) == [3]
        await hall.clock.advance(37)
        assert await bookmarks_of(long) == [3]
        assert await bookmarks_of(brief) == []

    in_hall(test)


def test_a_watch_that_ends_early_gets_its_bookmark_though_it_came_later() -> None:
    async def test(hall: Hall) -> None:
        long = hall.open()
        await hall.clock.advance(10)
        brief = hall.open(deadline=hall.clock.monotonic() + 5)
        hall.revision = 4
        await hall.clock.advance(4.5)
        assert await bookmarks_of(brief) == [4]
        assert await bookmarks_of(long) == []
        await hall.clock.advance(47)
        assert await bookmarks_of(long) == [4]

    in_hall(test)


def test_nothing_wakes_while_no_bookmark_is_due() -> None:
    async def test(hall: Hall) -> None:
        hall.open()
        await hall.clock.advance(1)
        before = hall.clock.slept
        await hall.clock.advance(50)
        assert hall.clock.slept == before

    in_hall(test)


def test_all_that_are_due_share_one_bookmark() -> None:
    async def test(hall: Hall) -> None:
        watchers = [hall.open() for _ in range(100)]
        await hall.clock.advance(62)
        assert len({id(event) for watcher in watchers for event in watcher.queue}) == 1
        assert all(len(watcher.queue) == 1 for watcher in watchers)

    in_hall(test)


def test_a_bookmark_stands_behind_the_events_it_covers() -> None:
    async def test(hall: Hall) -> None:
        watcher = hall.open()
        hall.write(3)
        await hall.clock.advance(62)
        hall.write()
        told = [(event.type, event.resource_version) for event in await watcher.next_batch()]
        added, bookmark = EventType.ADDED, EventType.BOOKMARK
        assert told == [(added, 1), (added, 2), (added, 3), (bookmark, 3), (added, 4)]

    in_hall(test)


def test_a_watcher_that_begins_in_the_future_gets_no_bookmark_of_the_past() -> None:
    async def test(hall: Hall) -> None:
        watcher = hall.open(after=10)
        hall.revision = 9
        await hall.clock.advance(62)
        assert watcher.queue == []
        hall.revision = 10
        await hall.clock.advance(62)
        assert await bookmarks_of(watcher) == [10]

    in_hall(test)


def test_watchers_that_come_and_go_leave_nothing_behind() -> None:
    async def test(hall: Hall) -> None:
        for _ in range(1000):
            hall.open(by("app=a")).close()
        assert len(hall.index) == 0
        assert len(hall.bookmarks) == 0
        assert hall.bookmarks._buckets == {}
        assert hall.index._buckets == {}

    in_hall(test)


def test_an_error_is_the_last_event_and_comes_behind_what_is_queued() -> None:
    async def test(hall: Hall) -> None:
        watcher = hall.open()
        hall.write(2)
        watcher.fail(ValueError("broken"))
        hall.write()
        batch = await watcher.next_batch(2)
        batch += await watcher.next_batch(2)
        assert [event.type for event in batch] == [EventType.ADDED, EventType.ADDED, EventType.ERROR]
        assert await watcher.next_batch() == []

    in_hall(test)


def test_a_watcher_that_is_to_finish_gives_what_is_queued_and_nothing_more() -> None:
    async def test(hall: Hall) -> None:
        watcher, idle = hall.open(), hall.open()
        waiting = asyncio.create_task(idle.next_batch())
        await asyncio.sleep(0)
        hall.write(2)
        for each in (watcher, idle):
            each.finish()
            each.finish()
        hall.write()
        for batch in (await watcher.next_batch(), await waiting):
            assert [event.resource_version for event in batch] == [1, 2]
        for each in (watcher, idle):
            assert await each.next_batch() == []
            assert each.closed
        assert len(hall.index) == 0

    in_hall(test)


def test_initial_objects_are_converted_as_they_are_taken() -> None:
    async def run() -> None:
        objects = [stored(f"x{n:03}", n, {"app": "ab"[n % 2]}) for n in range(100)]
        mark = WatchEvent(EventType.BOOKMARK, None, 100, initial_events_end=True)
        watcher = CacheWatcher(by("app=a"), objects, 100, lambda w: None, mark=mark)
        watcher.put(WatchEvent(EventType.ADDED, stored("y", 101)))
        batches = []
        while not batches or batches[-1][-1].resource_version != 101:
            batches.append(await watcher.next_batch(30))
        assert [len(batch) for batch in batches] == [15, 15, 15, 5, 1, 1]
        assert batches[4] == [mark]

    asyncio.run(run())
