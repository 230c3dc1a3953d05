"""Waiting on a clock for something else, too."""

import asyncio
import math

from watchkeeper.aio.clock import set_or_reached
from watchkeeper.testing.clock import ManualClock


async def others() -> set[str]:
    """The names of the tasks besides this one, when those that were cancelled are gone."""
    await asyncio.sleep(0)
    return {task.get_name() for task in asyncio.all_tasks() - {asyncio.current_task()}}


def test_time_ends_the_wait_for_an_event() -> None:
    async def run() -> None:
        clock, event = ManualClock(), asyncio.Event()
        waiting = asyncio.create_task(set_or_reached(event, clock, clock.monotonic() + 5, name="test"))
        await clock.advance(4)
        assert not waiting.done()
        await clock.advance(1)
        assert waiting.done()
        assert await others() == set()

    asyncio.run(run())


def test_an_event_ends_the_wait_for_a_time() -> None:
    async def run() -> None:
        clock, event = ManualClock(), asyncio.Event()
        waiting = asyncio.create_task(set_or_reached(event, clock, clock.monotonic() + 5, name="test"))
        await clock.advance(1)
        event.set()
        await waiting
        assert clock.time() == 1_700_000_001
        assert await others() == set()

    asyncio.run(run())


def test_a_moment_that_never_comes_leaves_the_event() -> None:
    async def run() -> None:
        clock, event = ManualClock(), asyncio.Event()
        waiting = asyncio.create_task(set_or_reached(event, clock, math.inf, name="test"))
        await clock.advance(1_000_000)
        assert not waiting.done()
        event.set()
        await waiting

    asyncio.run(run())


def test_who_is_cancelled_leaves_nothing_waiting() -> None:
    async def run() -> None:
        clock = ManualClock()
        waiting = asyncio.create_task(set_or_reached(asyncio.Event(), clock, clock.monotonic() + 5, name="test"))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        assert waiting.cancelled()
        assert await others() == set()

    asyncio.run(run())
