"""Workers that bring what is into line with what is wanted, key by key."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence

from watchkeeper.aio.clock import SYSTEM_CLOCK, Clock
from watchkeeper.client.errors import ClientError, is_reason
from watchkeeper.client.informer import Informer
from watchkeeper.client.work_queue import ShutDown, WorkQueue
from watchkeeper.meta.errors import ApiError

log = logging.getLogger(__name__)

Reconcile = Callable[[str], Awaitable[float | None]]
"""Works on the object of a key, which may be gone. Returns after how many seconds it wants to look again, None for when
something changes. What it raises is logged, and it is tried again, later each time."""


class Controller:
    """Put keys into `queue`, by handlers of informers, and `run` it."""

    def __init__(
        self,
        name: str,
        reconcile: Reconcile,
        *,
        informers: Sequence[Informer] = (),
        workers: int = 2,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        """`informers` are waited for before the first key is worked on; whoever has them runs them."""
        self.name = name
        self.queue: WorkQueue[str] = WorkQueue(name, clock=clock)
        self._reconcile = reconcile
        self._informers = informers
        self._workers = workers

    def __repr__(self) -> str:
        return f"<Controller {self.name}: {self.queue!r}>"

    async def run(self) -> None:
        """Work until cancelled; what is being worked on is cancelled, too."""
        for informer in self._informers:
            await informer.wait_for_sync()
        try:
            async with asyncio.TaskGroup() as tasks:
                for number in range(self._workers):
                    tasks.create_task(self._work(), name=f"{self.name}/worker-{number}")
        finally:
            await self.queue.close()

    async def _work(self) -> None:
        while True:
            try:
                key = await self.queue.get()
            except ShutDown:
                return
            try:
                await self._attempt(key)
            finally:
                self.queue.done(key)

    async def _attempt(self, key: str) -> None:
        try:
            again = await self._reconcile(key)
        except (ApiError, ClientError) as problem:
            # A conflict means that somebody was faster; what they did is going to be seen.
            level = logging.DEBUG if is_reason(problem, "Conflict") else logging.WARNING
            log.log(level, "%s: %s: %s", self.name, key, problem)
            self.queue.add_rate_limited(key)
        except Exception:
            log.exception("%s: %s", self.name, key)
            self.queue.add_rate_limited(key)
        else:
            self.queue.forget(key)
            if again is not None:
                self.queue.add_after(key, again)
