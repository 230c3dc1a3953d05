"""Closing from synchronous code what can only be closed asynchronously."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from watchkeeper.aio.tasks import TaskOwner


class Closer:
    """Runs closing coroutines in the background, and waits for them at the end."""

    def __init__(self, name: str) -> None:
        self._owner = TaskOwner(name)
        self._running: set[asyncio.Task[Any]] = set()

    def close_soon(self, closing: Coroutine[Any, Any, None]) -> None:
        """Start `closing`."""
        task = self._owner.start("close", closing)
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def drain(self) -> None:
        """Wait until everything started is done; more may be started and waited for later."""
        while self._running:
            await asyncio.gather(*self._running, return_exceptions=True)
