"""An end for what takes too long."""

from __future__ import annotations

import asyncio
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
    """Ends works on one event loop. Those that are due within the same moment (`grain` seconds) share a timer.

    As `asyncio.timeout`, which costs ten times as much: this is paid by every request that waits for anything.
    """

    __slots__ = ("_due", "_grain")

    def __init__(self, grain: float = 0.05) -> None:
        self._grain = grain
        self._due: dict[int, set[_Work]] = {}

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
            loop.call_at(moment * self._grain, self._expire, moment)
        return found

    def _expire(self, moment: int) -> None:
        for work in self._due.pop(moment):
            work.expired = True
            work.task.cancel()
