"""An end for what takes too long."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable
from typing import Any, TypeVar

T = TypeVar("T")


class _Work:
    """One piece of work, and the task that waits for it."""

    __slots__ = ("expired", "task")

    def __init__(self, task: asyncio.Task[Any]) -> None:
        self.task = task
        self.expired = False


class Deadlines:
    """Ends works on one event loop, each in the moment (`grain` seconds) in which it is due.

    As `asyncio.timeout`, which costs ten times as much: this is paid by every request that waits for anything. There is
    one timer, for the first moment in which anything was due when it was set. Work that is done leaves its moment empty
    and the timer alone: an idle process wakes once for all the requests that it has answered.
    """

    __slots__ = ("_due", "_grain", "_next", "_timer")

    def __init__(self, grain: float = 0.05) -> None:
        self._grain = grain
        self._due: dict[int, set[_Work]] = {}
        self._next = math.inf
        self._timer: asyncio.TimerHandle | None = None

    def __repr__(self) -> str:
        return f"<Deadlines of {sum(map(len, self._due.values()))}>"

    async def within(self, seconds: float, work: Awaitable[T]) -> T:
        """What `work` comes to. After `seconds`, up to a grain later, it is cancelled, and TimeoutError raised."""
        task = asyncio.current_task()
        assert task is not None
        asked_before = task.cancelling()
        this = _Work(task)
        due = self._due_in(seconds)
        due.add(this)
        try:
            result = await work
        except asyncio.CancelledError:
            # Whoever else cancelled the task means the task, not this work.
            if this.expired and task.uncancel() <= asked_before:
                raise TimeoutError from None
            raise
        except BaseException:
            if this.expired:
                task.uncancel()  # the work has made another error of it
            raise
        finally:
            due.discard(this)
        if this.expired:
            task.uncancel()  # it was done in spite of it
        return result

    def _due_in(self, seconds: float) -> set[_Work]:
        loop = asyncio.get_running_loop()
        moment = int((loop.time() + seconds) / self._grain) + 1
        found = self._due.get(moment)
        if found is None:
            found = self._due[moment] = set()
            if moment < self._next:
                self._wake_at(moment, loop)
        return found

    def _wake_at(self, moment: int, loop: asyncio.AbstractEventLoop) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._next = moment
        self._timer = loop.call_at(moment * self._grain, self._expire)

    def _expire(self) -> None:
        for moment in [moment for moment in self._due if moment <= self._next]:
            for work in self._due.pop(moment):
                work.expired = True
                work.task.cancel()
        self._due = {moment: works for moment, works in self._due.items() if works}
        self._next, self._timer = math.inf, None
        if self._due:
            self._wake_at(min(self._due), asyncio.get_running_loop())
