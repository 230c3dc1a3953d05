"""Turns that come back with time."""

from __future__ import annotations

import asyncio

from watchkeeper.aio.pace import Pace
from watchkeeper.testing.clock import ManualClock


def test_each_name_has_its_turns_and_gets_them_back_one_by_one() -> None:
    async def test() -> None:
        clock = ManualClock()
        pace = Pace(2, 60.0, clock=clock)
        assert pace.take("a")
        await clock.advance(10.0)
        assert [pace.take("a"), pace.take("a"), pace.take("b")] == [True, False, True]
        await clock.advance(50.0)
        assert [pace.take("a"), pace.take("a")] == [True, False]
        await clock.advance(60.0)
        assert [pace.take("a"), pace.take("a"), pace.take("a")] == [True, True, False]
        assert repr(pace) == "<Pace of 1>"

    asyncio.run(test())
