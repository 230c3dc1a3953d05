"""Waiting until the cache has seen a revision."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Awaitable, Callable

from watchkeeper.aio.clock import Clock
from watchkeeper.aio.tasks import TaskOwner

BLOCK_SECONDS = 3.0
"""So long a request waits for its revision at most."""

_FIRST_PERIOD = 0.005
_LAST_PERIOD = 0.1

UNTOLD_SECONDS = 0.25
"""So long one waits for a change to come by itself, when the store cannot be asked for progress."""


class Freshness:
    """The revision up to which everything has been seen, and who waits for it to rise.

    While somebody waits, the store is asked for progress: at once, then at growing intervals of at most 0.1 s.
    """

    def __init__(self, clock: Clock, tasks: TaskOwner, request_progress: Callable[[], Awaitable[bool]]) -> None:
        """`request_progress`: False when no answer is going to come; then nobody waits for long."""
        self.revision = 0
        self._clock = clock
        self._tasks = tasks
        self._request_progress = request_progress
        self._waiters: list[tuple[int, int, asyncio.Future[bool]]] = []
        self._count = 0
        self._requesting = False

    def __repr__(self) -> str:
        return f"<Freshness {self.revision}, {len(self._waiters)} waiting>"

    def advance(self, revision: int) -> None:
        """Everything up to `revision` has been seen. Lower ones are ignored."""
        if revision > self.revision:
            self.revision = revision
            if self._waiters:
                self._wake()

    def reset(self, revision: int) -> None:
        """Begin anew after a list."""
        self.revision = revision
        self._wake()

    def _wake(self) -> None:
        waiters = self._waiters
        while waiters and (waiters[0][0] <= self.revision or waiters[0][2].done()):
            waiter = heapq.heappop(waiters)[2]
            if not waiter.done():
                waiter.set_result(True)

    async def wait(self, revision: int, seconds: float = BLOCK_SECONDS) -> bool:
        """Wait until `revision` has been seen. False when that took too long."""
        if self.revision >= revision:
            return True
        waiter: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._count += 1
        heapq.heappush(self._waiters, (revision, self._count, waiter))
        if not self._requesting:
            self._requesting = True
            self._tasks.start("request-progress", self._request())
        timer = self._tasks.start("freshness-timeout", self._expire(waiter, seconds))
        try:
            reached = await waiter
        except asyncio.CancelledError:
            self._forget(waiter)
            raise
        finally:
            timer.cancel()
        if not reached:
            self._forget(waiter)
        return reached

    def _forget(self, waiter: asyncio.Future[bool]) -> None:
        """Who asked for what may never come must not stay on the list until it does."""
        self._waiters = [entry for entry in self._waiters if entry[2] is not waiter]
        heapq.heapify(self._waiters)

    async def _expire(self, waiter: asyncio.Future[bool], seconds: float) -> None:
        await self._clock.sleep(seconds)
        if not waiter.done():
            waiter.set_result(False)

    async def _give_up_soon(self) -> None:
        asking = [waiter for _, _, waiter in self._waiters]
        await self._clock.sleep(UNTOLD_SECONDS)
        for waiter in asking:
            if not waiter.done():
                waiter.set_result(False)
        await asyncio.sleep(0)

    async def _request(self) -> None:
        period = _FIRST_PERIOD
        try:
            while self._waiters:
                if not await self._request_progress():
                    await self._give_up_soon()
                    continue
                await self._clock.sleep(period)
                period = min(period * 2, _LAST_PERIOD)
        finally:
            self._requesting = False
