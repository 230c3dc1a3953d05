"""Pushing: events reach readers that wait without waking them, and nothing is lost, doubled or moved."""

from __future__ import annotations

import asyncio
import random

import pytest
from cache_objects import by, change, stored

from watchkeeper.storage.cacher.cache_watcher import CacheWatcher
from watchkeeper.storage.cacher.delivery import Delivery
from watchkeeper.storage.interface import EventType, PushingWatcher, WatchEvent


class Reader:
    """Reads a watcher by both ways, and refuses what is pushed when it is told to."""

    def __init__(self, delivery: Delivery | None = None, initial: tuple[object, ...] = ()) -> None:
        self.watcher = CacheWatcher(None, initial, 0, lambda _: None, delivery=delivery or Delivery())  # type: ignore[arg-type]
        self.pushed: list[list[int]] = []
        self.seen: list[int] = []
        self.woken = 0
        self.takes = True
        self.watcher.push_to(self.take)
        self.task = asyncio.create_task(self.read())

    def take(self, batch: list[WatchEvent]) -> bool:
        if not self.takes:
            return False
        self.pushed.append([event.resource_version for event in batch])
        self.seen += self.pushed[-1]
        return True

    async def read(self) -> None:
        while batch := await self.watcher.next_batch():
            self.woken += 1
            self.seen += [event.resource_version for event in batch]

    def put(self, *revisions: int) -> None:
        for revision in revisions:
            self.watcher.put(WatchEvent(EventType.BOOKMARK, None, revision))


async def settled() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def test_a_cache_watcher_can_push() -> None:
    assert isinstance(CacheWatcher(None, (), 0, lambda _: None), PushingWatcher)


def test_what_comes_in_one_round_is_pushed_together_and_wakes_nobody() -> None:
    async def run() -> None:
        reader = Reader()
        await settled()
        reader.put(1, 2, 3)
        assert reader.seen == []  # whoever dispatches waits for no client
        await settled()
        reader.put(4)
        await settled()
        assert (reader.pushed, reader.woken) == ([[1, 2, 3], [4]], 0)
        assert reader.watcher.queue == []
        reader.watcher.close()
        await reader.task

    asyncio.run(run())


def test_who_has_made_a_change_can_have_it_pushed_at_once_to_the_first() -> None:
    async def run() -> None:
        delivery = Delivery()
        readers = [Reader(delivery) for _ in range(70)]
        await settled()
        for reader in readers:
            reader.put(1)
        delivery.flush()
        assert [len(reader.seen) for reader in readers] == [1] * 16 + [0] * 54
        readers[0].put(2)
        await settled()
        assert [len(reader.seen) for reader in readers] == [2] + [1] * 69
        readers[1].put(3)
        await settled()
        assert readers[1].seen == [1, 3]
        for reader in readers:
            reader.watcher.close()
            await reader.task

    asyncio.run(run())


def test_a_reader_that_cannot_be_pushed_to_is_woken_and_gets_the_same() -> None:
    async def run() -> None:
        reader = Reader()
        await settled()
        reader.takes = False
        reader.put(1, 2)
        await settled()
        assert (reader.seen, reader.woken) == ([1, 2], 1)
        reader.takes = True
        reader.put(3)
        await settled()
        assert (reader.seen, reader.woken, reader.pushed) == ([1, 2, 3], 1, [[3]])
        reader.watcher.close()
        await reader.task

    asyncio.run(run())


def test_a_push_that_fails_leaves_the_events_to_the_reader(caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        reader = Reader()
        other = Reader(reader.watcher._delivery)
        await settled()

        def take(batch: list[WatchEvent]) -> bool:
            raise ValueError("no way to write this")

        reader.watcher.push_to(take)
        reader.put(1)
        other.put(1)
        await settled()
        assert (reader.seen, reader.woken) == ([1], 1)
        assert (other.seen, other.woken) == ([1], 0)
        for each in (reader, other):
            each.watcher.close()
            await each.task

    asyncio.run(run())
    assert "no way to write this" in caplog.text


def test_what_it_began_with_is_read_before_anything_is_pushed() -> None:
    async def run() -> None:
        initial = tuple(change(stored(f"x{n}", n), None, n) for n in range(1, 4))
        reader = Reader(initial=initial)
        reader.put(4, 5)
        await settled()
        assert reader.seen == [1, 2, 3, 4, 5]
        assert reader.pushed == []
        reader.put(6)
        await settled()
        assert reader.pushed == [[6]]
        reader.watcher.close()
        await reader.task

    asyncio.run(run())


def test_an_error_is_read_not_pushed_and_comes_last() -> None:
    async def run() -> None:
        reader = Reader()
        await settled()
        reader.put(1)
        reader.watcher.fail(ValueError("broken"))
        await asyncio.wait_for(reader.task, 5)
        assert (reader.pushed, reader.seen) == ([], [1, 0])

    asyncio.run(run())


def test_a_watcher_that_is_to_finish_lets_its_reader_have_what_is_queued() -> None:
    async def run() -> None:
        reader = Reader()
        await settled()
        reader.put(1, 2)
        reader.watcher.finish()
        await asyncio.wait_for(reader.task, 5)
        assert reader.seen == [1, 2]

    asyncio.run(run())


def test_nothing_is_pushed_to_a_watcher_that_was_closed() -> None:
    async def run() -> None:
        reader = Reader()
        await settled()
        reader.put(1)
        reader.watcher.close()
        await asyncio.wait_for(reader.task, 5)
        assert reader.seen == []

    asyncio.run(run())


def test_the_loop_has_a_turn_between_many_receivers() -> None:
    async def run() -> None:
        delivery = Delivery()
        readers = [Reader(delivery) for _ in range(150)]
        await settled()
        for reader in readers:
            reader.put(1)
        served = []
        while not served or served[-1] < 150:
            await asyncio.sleep(0)
            served.append(sum(bool(reader.seen) for reader in readers))
        assert served == [64, 128, 150]
        assert all(reader.woken == 0 for reader in readers)
        for reader in readers:
            reader.watcher.close()
            await reader.task
        assert repr(delivery) == "<Delivery to 0 receivers>"

    asyncio.run(run())


@pytest.mark.parametrize("seed", range(5))
def test_whichever_way_events_take_each_comes_once_and_in_order(seed: int) -> None:
    async def run() -> None:
        dice = random.Random(seed)
        delivery = Delivery()
        readers = [Reader(delivery) for _ in range(5)]
        for revision in range(1, 400):
            for reader in readers:
                reader.takes = dice.random() < 0.7
                reader.put(revision)
            for _ in range(dice.choice([0, 0, 0, 1, 2])):
                await asyncio.sleep(0)
        for reader in readers:
            reader.watcher.finish()
            await asyncio.wait_for(reader.task, 5)
            assert reader.seen == list(range(1, 400))
            assert reader.pushed
            assert reader.woken

    asyncio.run(run())


def test_without_a_delivery_readers_are_woken() -> None:
    async def run() -> None:
        watcher = CacheWatcher(by("a=b"), (), 0, lambda _: None)
        watcher.push_to(lambda batch: pytest.fail("it has no way to push"))
        reading = asyncio.create_task(watcher.next_batch())
        await settled()
        watcher.put(WatchEvent(EventType.BOOKMARK, None, 1))
        assert [event.resource_version for event in await reading] == [1]

    asyncio.run(run())


def test_a_client_that_is_gone_while_it_is_pushed_to_costs_the_others_nothing() -> None:
    async def run() -> list[int]:
        delivery = Delivery()
        leaving, staying = Reader(delivery), Reader(delivery)
        await settled()

        def find_out(batch: list[WatchEvent]) -> bool:
            leaving.task.cancel()
            leaving.watcher._waiter.cancel()  # type: ignore[union-attr]
            return False

        leaving.watcher.push_to(find_out)
        leaving.put(1)
        staying.put(1)
        await settled()
        staying.put(2)
        await settled()
        staying.watcher.close()
        await asyncio.gather(leaving.task, staying.task, return_exceptions=True)
        return staying.seen

    assert asyncio.run(run()) == [1, 2]


def test_a_receiver_that_fails_does_not_keep_others_from_theirs(caplog: pytest.LogCaptureFixture) -> None:
    class Failing:
        def deliver(self) -> None:
            raise ValueError("on purpose")

    async def run() -> list[int]:
        delivery = Delivery()
        reader = Reader(delivery)
        await settled()
        delivery.add(Failing())
        reader.put(1)
        await settled()
        reader.watcher.close()
        await reader.task
        return reader.seen

    assert asyncio.run(run()) == [1]
    assert "on purpose" in caplog.text
