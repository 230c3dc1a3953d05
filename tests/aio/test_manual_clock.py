"""Clocks for tests."""

import asyncio

from watchkeeper.testing.clock import FastClock, ManualClock


def test_sleepers_wake_in_the_order_of_their_deadlines_at_the_right_time() -> None:
    async def run() -> None:
        clock = ManualClock(start=100)
        woken: list[tuple[str, float]] = []

        async def sleep(name: str, seconds: float) -> None:
            await clock.sleep(seconds)
            woken.append((name, clock.monotonic()))

        async def twice() -> None:
            await sleep("first", 1)
            await sleep("again", 3)

        tasks = [asyncio.ensure_future(work) for work in (sleep("late", 5), twice(), sleep("now", 0))]
        await clock.advance(4.5)
        assert woken == [("now", 100), ("first", 101), ("again", 104)]
        assert clock.time() == 104.5
        await clock.advance(1)
        assert woken[-1] == ("late", 105)
        await asyncio.gather(*tasks)

    asyncio.run(run())


def test_a_fast_clock_runs_ahead() -> None:
    async def run() -> None:
        clock = FastClock(speed=1000)
        before = clock.monotonic(), clock.time()
        await clock.sleep(5)
        assert clock.monotonic() - before[0] >= 4.9
        assert clock.time() - before[1] >= 4.9

    asyncio.run(run())
