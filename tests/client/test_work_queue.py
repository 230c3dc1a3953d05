"""Work queues and the rate limiters that slow them."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from watchkeeper.client.rate_limiters import (
    BucketRateLimiter,
    ItemExponentialRateLimiter,
    MaxOfRateLimiter,
    default_rate_limiter,
)
from watchkeeper.client.work_queue import ShutDown, WorkQueue
from watchkeeper.testing.clock import ManualClock


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(test, 10))


def test_items_come_once_and_in_order_however_often_they_are_added() -> None:
    async def scenario() -> None:
        queue = WorkQueue[str]()
        for item in ("a", "b", "a", "c", "b"):
            queue.add(item)
        assert len(queue) == 3
        assert [await queue.get() for _ in range(3)] == ["a", "b", "c"]

    run(scenario())


def test_an_item_that_is_added_while_it_is_worked_on_comes_again_afterwards() -> None:
    async def scenario() -> None:
        queue = WorkQueue[str]()
        queue.add("a")
        assert await queue.get() == "a"
        queue.add("a")
        queue.add("a")
        assert len(queue) == 0, "nobody else may work on it"
        queue.done("a")
        assert await queue.get() == "a"
        queue.done("a")
        assert len(queue) == 0

    run(scenario())


def test_workers_that_wait_are_woken_one_for_each_item() -> None:
    async def scenario() -> None:
        queue = WorkQueue[int]()
        workers = [asyncio.create_task(queue.get()) for _ in range(3)]
        await asyncio.sleep(0)
        queue.add(1)
        queue.add(2)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert sorted(w.result() for w in workers if w.done()) == [1, 2]
        queue.shut_down()
        with pytest.raises(ShutDown):
            await workers[2]

    run(scenario())


def test_a_cancelled_worker_leaves_its_item_to_another() -> None:
    async def scenario() -> None:
        queue = WorkQueue[str]()
        first, second = (asyncio.create_task(queue.get()) for _ in range(2))
        await asyncio.sleep(0)
        queue.add("a")
        first.cancel()
        assert await second == "a"

    run(scenario())


def test_what_is_added_for_later_comes_at_the_earliest_of_its_times() -> None:
    async def scenario() -> None:
        clock = ManualClock()
        queue = WorkQueue[str](clock=clock)
        queue.add_after("a", 10)
        queue.add_after("a", 3)
        queue.add_after("a", 5)
        queue.add_after("b", 0)
        assert await queue.get() == "b"
        await clock.advance(2.9)
        assert len(queue) == 0
        await clock.advance(0.2)
        assert await queue.get() == "a"
        queue.done("a")
        await clock.advance(20)
        assert len(queue) == 0, "it was asked for once"
        await queue.close()

    run(scenario())


def test_failing_items_wait_longer_each_time_until_they_are_forgotten() -> None:
    async def scenario() -> None:
        clock = ManualClock()
        queue = WorkQueue[str](rate_limiter=ItemExponentialRateLimiter(1.0, 60.0), clock=clock)
        for wait in (1.0, 2.0, 4.0):
            queue.add_rate_limited("a")
            await clock.advance(wait - 0.01)
            assert len(queue) == 0
            await clock.advance(0.02)
            queue.done(await queue.get())
        assert queue.retries("a") == 3
        queue.forget("a")
        assert queue.retries("a") == 0
        queue.add_rate_limited("a")
        await clock.advance(1.01)
        assert len(queue) == 1
        await queue.close()

    run(scenario())


def test_a_queue_that_shuts_down_gives_out_what_waits_and_takes_nothing_more() -> None:
    async def scenario() -> None:
        queue = WorkQueue[str]()
        queue.add("a")
        queue.shut_down()
        queue.add("b")
        queue.add_after("c", 0.001)
        assert await queue.get() == "a"
        with pytest.raises(ShutDown):
            await queue.get()
        assert queue.is_shut_down

    run(scenario())


def test_draining_waits_for_what_waits_and_for_what_is_in_work() -> None:
    async def scenario() -> None:
        queue = WorkQueue[str]()
        queue.add("a")
        queue.add("b")
        item = await queue.get()
        draining = asyncio.create_task(queue.drain())
        await asyncio.sleep(0)
        queue.done(item)
        await asyncio.sleep(0.01)
        assert not draining.done()
        queue.done(await queue.get())
        await draining

    run(scenario())


def test_delays_double_up_to_a_bound() -> None:
    limiter = ItemExponentialRateLimiter[str](0.001, 1.0)
    assert [limiter.when("a") for _ in range(5)] == [0.001, 0.002, 0.004, 0.008, 0.016]
    assert limiter.when("b") == 0.001
    for _ in range(2000):
        last = limiter.when("a")
    assert last == 1.0
    limiter.forget("a")
    assert (limiter.when("a"), limiter.retries("a")) == (0.001, 1)


def test_a_bucket_lets_a_burst_through_and_then_so_many_a_second() -> None:
    async def scenario() -> None:
        clock = ManualClock()
        bucket = BucketRateLimiter[str](10.0, 2, clock=clock)
        waits = [round(bucket.when("x"), 3) for _ in range(4)]
        assert waits == [0.0, 0.0, 0.1, 0.2]
        assert not bucket.take()
        await clock.advance(10)
        assert bucket.take()
        assert bucket.when("x") == 0.0

    run(scenario())


def test_the_longest_of_several_delays_counts() -> None:
    slow, quick = ItemExponentialRateLimiter[str](2.0), ItemExponentialRateLimiter[str](0.5)
    limiter = MaxOfRateLimiter(quick, slow)
    assert limiter.when("a") == 2.0
    assert limiter.retries("a") == 1
    limiter.forget("a")
    assert (slow.retries("a"), quick.retries("a")) == (0, 0)
    assert default_rate_limiter().when("a") == 0.005


def test_an_earlier_time_takes_the_place_of_a_later_one_and_leaves_nothing_waiting() -> None:
    async def scenario() -> None:
        clock = ManualClock()
        queue = WorkQueue[str](clock=clock)
        for _ in range(50):
            queue.add_after("a", 3600)
            queue.add_after("a", 1)
            await clock.advance(1)
            assert await queue.get() == "a"
            queue.done("a")
        queue.add_after("a", 3600)
        await asyncio.sleep(0)
        delays = [task for task in asyncio.all_tasks() if "delays" in task.get_name()]
        assert len(delays) == 1
        await queue.close()

    run(scenario())
