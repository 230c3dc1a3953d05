"""Work that is ended when it takes too long."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from watchkeeper.aio.deadline import Deadlines


def deadlines() -> Deadlines:
    return Deadlines(grain=0.001)


def test_what_is_done_in_time_is_returned_and_nothing_is_left_behind() -> None:
    async def main() -> None:
        async def work() -> int:
            await asyncio.sleep(0)
            return 7

        assert await deadlines().within(0.01, work()) == 7
        await asyncio.sleep(0.03)
        task = asyncio.current_task()
        assert task is not None and task.cancelling() == 0

    asyncio.run(main())


def test_what_takes_too_long_is_cancelled_and_the_task_goes_on() -> None:
    async def main() -> None:
        ended: list[str] = []

        async def work() -> None:
            try:
                await asyncio.sleep(10)
            except asyncio.CancelledError:
                ended.append("cancelled")
                raise

        with pytest.raises(TimeoutError):
            await deadlines().within(0.01, work())
        assert ended == ["cancelled"]
        await asyncio.sleep(0)
        task = asyncio.current_task()
        assert task is not None and task.cancelling() == 0

    asyncio.run(main())


def test_errors_pass_and_so_does_the_end_of_the_task() -> None:
    async def main() -> None:
        async def fail() -> None:
            raise ValueError("no")

        with pytest.raises(ValueError, match="no"):
            await deadlines().within(1, fail())
        outer = asyncio.create_task(deadlines().within(10, asyncio.sleep(10)))
        await asyncio.sleep(0.01)
        outer.cancel()
        with pytest.raises(asyncio.CancelledError):
            await outer

    asyncio.run(main())


def test_a_task_that_is_cancelled_while_its_time_runs_out_is_cancelled() -> None:
    async def main() -> None:
        async def stubborn() -> None:
            try:
                await asyncio.sleep(10)
            finally:
                await asyncio.sleep(0.01)

        outer = asyncio.create_task(deadlines().within(0.01, stubborn()))
        await asyncio.sleep(0.015)
        outer.cancel()
        with pytest.raises(asyncio.CancelledError):
            await outer

    asyncio.run(main())


@pytest.mark.parametrize("error", [None, ValueError("said otherwise")])
def test_work_that_does_not_let_itself_be_cancelled_leaves_no_cancellation_behind(error: Exception | None) -> None:
    async def main() -> None:
        async def work() -> int:
            try:
                await asyncio.sleep(10)
            except asyncio.CancelledError:
                if error is not None:
                    raise error from None
            return 7

        if error is None:
            assert await deadlines().within(0.01, work()) == 7
        else:
            with pytest.raises(ValueError, match="said otherwise"):
                await deadlines().within(0.01, work())
        task = asyncio.current_task()
        assert task is not None and task.cancelling() == 0

    asyncio.run(main())


def test_works_that_are_due_at_a_time_share_a_timer_and_end_together() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        coarse = Deadlines(grain=0.05)
        start = loop.time()
        ends: list[float] = []

        async def one() -> None:
            try:
                await coarse.within(0.01, asyncio.sleep(10))
            except TimeoutError:
                ends.append(loop.time() - start)

        quick = asyncio.create_task(coarse.within(0.01, asyncio.sleep(0, "done")))
        await asyncio.gather(*(one() for _ in range(20)))
        assert await quick == "done"
        assert len(ends) == 20
        assert min(ends) >= 0.01
        assert repr(coarse) == "<Deadlines of 0>"

    asyncio.run(main())


def test_each_work_ends_when_it_is_due_whatever_came_first() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        start = loop.time()
        several = deadlines()
        ends: dict[float, float] = {}

        async def one(seconds: float) -> None:
            with pytest.raises(TimeoutError):
                await several.within(seconds, asyncio.sleep(10))
            ends[seconds] = loop.time() - start

        async with asyncio.TaskGroup() as group:
            for seconds in (0.06, 0.02, 0.04):
                group.create_task(one(seconds))
                await several.within(0.03, asyncio.sleep(0))
        assert list(ends) == [0.02, 0.04, 0.06]
        assert all(took >= seconds for seconds, took in ends.items())

    asyncio.run(main())


def test_works_that_are_done_wake_nobody_later() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        timers: list[float] = []
        call_at = loop.call_at

        def count(when: float, *rest: Any, **options: Any) -> asyncio.TimerHandle:
            timers.append(when)
            return call_at(when, *rest, **options)

        several = deadlines()
        loop.call_at = count  # type: ignore[method-assign]
        for _ in range(10):
            await several.within(0.1, asyncio.sleep(0))
            time.sleep(0.002)  # each in a moment of its own
        assert len(timers) == 1
        await asyncio.sleep(0.15)
        assert several._due == {}
        assert several._timer is None

    asyncio.run(main())
