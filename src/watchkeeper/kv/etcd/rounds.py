"""One question for all who ask at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from watchkeeper.aio.tasks import TaskOwner
from watchkeeper.kv.errors import Closed

T = TypeVar("T")


class Rounds(Generic[T]):
    """Shares the answer to a question among those who asked before it was put.

    Whoever comes while a question is under way waits for the next one: its answer may be older than they may be told.
    """

    def __init__(self, ask: Callable[[], Awaitable[T]], tasks: TaskOwner) -> None:
        """`tasks` owns the asking; when it is closed, who waits gets Closed."""
        self._ask = ask
        self._tasks = tasks
        self._next: asyncio.Future[T] | None = None
        self._asking: asyncio.Task[None] | None = None

    async def join(self) -> T:
        """An answer to a question that is put after this call began. Raises what asking raises."""
        if self._next is None:
            self._next = asyncio.get_running_loop().create_future()
        future = self._next
        if self._asking is None or self._asking.done():
            self._asking = self._tasks.start("rounds", self._rounds())
        return await asyncio.shield(future)

    async def _rounds(self) -> None:
        while (future := self._next) is not None:
            self._next = None
            try:
                answer = await self._ask()
            except Exception as error:
                _fail(future, error)
            except asyncio.CancelledError:
                for waiting in (future, self._next):
                    if waiting is not None:
                        _fail(waiting, Closed("the store was closed"))
                self._next = None
                raise
            else:
                future.set_result(answer)


def _fail(future: asyncio.Future[T], error: Exception) -> None:
    future.set_exception(error)
    future.exception()  # those who gave up waiting do not want to hear of it
