"""A clock that stands still until a test moves it."""

from __future__ import annotations

import asyncio
import heapq
import time


class ManualClock:
    """Implements `aio.clock.Clock`. Sleepers wake in the order of their deadlines while `advance` passes them."""

    def __init__(self, *, start: float = 1_700_000_000.0) -> None:
        """`start` is the first value of both `time()` and `monotonic()`, in seconds."""
        self._now = start
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self.slept = 0
        """How often somebody began to sleep."""

    def __repr__(self) -> str:
        return f"<ManualClock at {self._now}, {len(self._sleepers)} sleeping>"

    def monotonic(self) -> float:
        """The same as `time`."""
        return self._now

    def time(self) -> float:
        """The time that the test has set."""
        return self._now

    async def sleep(self, seconds: float) -> None:
        """Return once the test has moved the clock by `seconds`; at once, after one turn of the loop, for 0 or less."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        waiter = asyncio.get_running_loop().create_future()
        self.slept += 1
        heapq.heappush(self._sleepers, (self._now + seconds, self.slept, waiter))
        await waiter

    async def advance(self, seconds: float) -> None:
        """Move the clock; whoever's sleep ends meanwhile runs, at the time when it ends, before this returns."""
        await _settle()
        end = self._now + seconds
        while self._sleepers and self._sleepers[0][0] <= end:
            self._now, _, waiter = heapq.heappop(self._sleepers)
            if not waiter.done():
                waiter.set_result(None)
                await _settle()
        self._now = end
        await _settle()


async def _settle() -> None:
    """Let everything that can run without time passing run; a few turns of the loop are enough for that."""
    for _ in range(10):
        await asyncio.sleep(0)


class FastClock:
    """Implements `aio.clock.Clock`: the machine's time, but faster, for what must really wait."""

    def __init__(self, *, speed: float) -> None:
        """One real second is `speed` seconds on this clock."""
        self._speed = speed
        self._start = time.time()

    def monotonic(self) -> float:
        """Seconds from an arbitrary start."""
        return time.monotonic() * self._speed

    def time(self) -> float:
        """Seconds since the epoch, were the clock right since it was made."""
        return self._start + (time.time() - self._start) * self._speed

    async def sleep(self, seconds: float) -> None:
        """Return once `seconds` have passed on this clock."""
        await asyncio.sleep(seconds / self._speed)
