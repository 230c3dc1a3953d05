"""Tasks with a name and an owner."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

log = logging.getLogger(__name__)


class TaskOwner:
    """Starts named tasks and ends them all.

    A task that fails is logged at once, with its name and traceback: no failure waits for somebody to await it.
    After `close()` nothing of this owner runs any more and new tasks are refused.
    """

    __slots__ = ("_closed", "_name", "_tasks")

    def __init__(self, name: str) -> None:
        self._name = name
        self._tasks: set[asyncio.Task[Any]] = set()
        self._closed = False

    def __repr__(self) -> str:
        state = "closed" if self._closed else f"{len(self._tasks)} running"
        return f"<TaskOwner {self._name}: {state}>"

    def start(self, name: str, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Run `work` as the task `owner/name`. Raises RuntimeError once the owner is closed."""
        if self._closed:
            work.close()
            raise RuntimeError(f"{self._name} is closed and starts no task {name}")
        task = asyncio.get_running_loop().create_task(work, name=f"{self._name}/{name}")
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("task %s failed", task.get_name(), exc_info=error)

    async def close(self) -> None:
        """Cancel every task and wait until all have ended. Safe to call twice and from one of the tasks."""
        self._closed = True
        current = asyncio.current_task()
        pending = [task for task in self._tasks if task is not current]
        for task in pending:
            task.cancel()
        if pending:
            await asyncio.gather(*pending, return_exceptions=True)
