"""Time as a dependency, so that tests decide how fast it passes."""

from __future__ import annotations

import asyncio
import math
import time
from typing import Protocol


class Clock(Protocol):
    """Monotonic and wall-clock time, and sleeping."""

    def monotonic(self) -> float:
        """Seconds from an arbitrary start; never goes backwards."""
        ...

    def time(self) -> float:
        """Seconds since the epoch, UTC."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return once `seconds` have passed on this clock."""
        ...


class SystemClock:
    """The machine's own time."""

    __slots__ = ()

    def monotonic(self) -> float:
        """Seconds from an arbitrary start; never goes backwards."""
        return time.monotonic()

    def time(self) -> float:
        """Seconds since the epoch, UTC."""
        return time.time()

    async def sleep(self, seconds: float) -> None:
        """Return once `seconds` have passed."""
        await asyncio.sleep(seconds)


SYSTEM_CLOCK = SystemClock()


async def set_or_reached(event: asyncio.Event, clock: Clock, moment: float, *, name: str) -> None:
    """Return once `event` is set or `clock.monotonic()` has reached `moment` (infinity: never), whichever is first.

    `name` begins the names of the tasks that wait meanwhile.
    """
    if moment == math.inf:
        await event.wait()
        return
    waits = (
        asyncio.create_task(event.wait(), name=f"{name}/event"),
        asyncio.create_task(clock.sleep(moment - clock.monotonic()), name=f"{name}/sleep"),
    )
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
