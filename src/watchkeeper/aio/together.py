"""Work done at the same time that also ends at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any, TypeVar

T = TypeVar("T")


async def together(work: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Run all at once; return their results in order.

    The first failure is raised, once the others have been cancelled and have ended: nothing goes on behind the
    caller's back, as it does behind `asyncio.gather`. The same when the caller is cancelled.
    """
    tasks = [asyncio.ensure_future(each) for each in work]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        if not all(task.done() for task in tasks):
            await asyncio.gather(*tasks, return_exceptions=True)


async def close_all(closers: Iterable[Callable[[], Awaitable[None]]]) -> None:
    """Call one after the other, whatever comes of them; then raise what failed: the error itself if there is one."""
    failures: list[Exception] = []
    for close in closers:
        try:
            await close()
        except Exception as error:
            failures.append(error)
    if len(failures) == 1:
        raise failures[0]
    if failures:
        raise ExceptionGroup("several things did not end well", failures)
