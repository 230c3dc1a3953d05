"""What is to be done: each item once, however often it is added, and by one worker at a time.

          add                get                done
(idle) ────────▶ waiting ────────▶ in work ────────▶ (idle)
                                      │ ▲ add            │ added meanwhile
                                      └─┘                └────────▶ waiting
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Hashable
from typing import Generic, TypeVar

from watchkeeper.aio.clock import SYSTEM_CLOCK, Clock
from watchkeeper.aio.tasks import TaskOwner
from watchkeeper.client.interface import RateLimiter
from watchkeeper.client.rate_limiters import default_rate_limiter

T = TypeVar("T", bound=Hashable)


class ShutDown(Exception):
    """The queue gives out nothing more."""


class WorkQueue(Generic[T]):
    """Items in the order in which they were added. What puts in is synchronous.

    An item that is added while a worker has it is given out once more after `done`. So a worker never misses what has
    changed since it began, and no two work on the same.
    """

    def __init__(
        self, name: str = "queue", *, rate_limiter: RateLimiter[T] | None = None, clock: Clock = SYSTEM_CLOCK
    ) -> None:
        """`rate_limiter` is asked by `add_rate_limited`."""
        self.name = name
        self._limiter: RateLimiter[T] = rate_limiter if rate_limiter is not None else default_rate_limiter(clock)
        self._clock = clock
        self._tasks = TaskOwner(f"{name}-delays")
        self._order: deque[T] = deque()
        self._dirty: set[T] = set()
        """Items that somebody is to work on, those included that are in work and were added again."""
        self._in_work: set[T] = set()
        self._delayed: dict[T, tuple[float, asyncio.Task[None]]] = {}
        """When items are to be added, and the tasks that do it."""
        self._getters: deque[asyncio.Future[None]] = deque()
        self._drained = asyncio.Event()
        self._closed = False

    def __repr__(self) -> str:
        state = "shut down" if self._closed else "open"
        return f"<WorkQueue {self.name}: {len(self._order)} waiting, {len(self._in_work)} in work, {state}>"

    def __len__(self) -> int:
        """How many items wait."""
        return len(self._order)

    @property
    def is_shut_down(self) -> bool:
        """Whether nothing more is taken in."""
        return self._closed

    # -- putting in -----------------------------------------------------------------------------------------------

    def add(self, item: T) -> None:
        """Have an item worked on; nothing changes if it waits already. Ignored after `shut_down`."""
        if self._closed or item in self._dirty:
            return
        self._dirty.add(item)
        if item not in self._in_work:
            self._order.append(item)
            self._wake_one()

    def add_after(self, item: T, seconds: float) -> None:
        """Add an item later. The earliest of several times counts."""
        if self._closed:
            return
        if seconds <= 0:
            self.add(item)
            return
        ready_at = self._clock.monotonic() + seconds
        known = self._delayed.get(item)
        if known is not None:
            if known[0] <= ready_at:
                return
            known[1].cancel()
        task = self._tasks.start(f"after {seconds:.3f} s", self._later(item, seconds))
        self._delayed[item] = (ready_at, task)

    async def _later(self, item: T, seconds: float) -> None:
        await self._clock.sleep(seconds)
        known = self._delayed.get(item)
        # A later one may have taken its place in the very moment it woke.
        if known is not None and known[1] is asyncio.current_task():
            del self._delayed[item]
            self.add(item)

    def add_rate_limited(self, item: T) -> None:
        """Add an item that has failed, as late as its failures ask for."""
        self.add_after(item, self._limiter.when(item))

    def forget(self, item: T) -> None:
        """The item has succeeded or is given up: it begins anew with failing."""
        self._limiter.forget(item)

    def retries(self, item: T) -> int:
        """How often it has failed since it was forgotten."""
        return self._limiter.retries(item)

    # -- taking out -----------------------------------------------------------------------------------------------

    async def get(self) -> T:
        """Wait for an item and take it; call `done` afterwards. Raises ShutDown once nothing waits any more."""
        while not self._order:
            if self._closed:
                raise ShutDown(self.name)
            waiter = asyncio.get_running_loop().create_future()
            self._getters.append(waiter)
            try:
                await waiter
            except asyncio.CancelledError:
                if waiter.done() and not waiter.cancelled():
                    self._wake_one()
                raise
        item = self._order.popleft()
        self._dirty.discard(item)
        self._in_work.add(item)
        return item

    def done(self, item: T) -> None:
        """The worker has finished with an item, successfully or not."""
        self._in_work.discard(item)
        if item in self._dirty:
            self._order.append(item)
            self._wake_one()
        elif not self._in_work and not self._order:
            self._drained.set()

    def _wake_one(self) -> None:
        self._drained.clear()
        while self._getters:
            waiter = self._getters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return

    # -- the end --------------------------------------------------------------------------------------------------

    def shut_down(self) -> None:
        """Take nothing more in; what waits is still given out, then `get` raises ShutDown. Idempotent."""
        self._closed = True
        self._delayed.clear()
        while self._getters:
            waiter = self._getters.popleft()
            if not waiter.done():
                waiter.set_result(None)

    async def drain(self) -> None:
        """Shut down, and return once all that was waiting or in work is done."""
        self.shut_down()
        while self._order or self._in_work:
            self._drained.clear()
            await self._drained.wait()
        await self._tasks.close()

    async def close(self) -> None:
        """Shut down without waiting for what is in work. Idempotent."""
        self.shut_down()
        await self._tasks.close()
