"""What tests look for, and wait for."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from watchkeeper.testing.handle import Handle, RequestFailed

T = TypeVar("T")

PATIENCE = 20.0
"""Seconds that something may take which takes a moment on an idle machine."""


def eventually(holds: Callable[[], T], what: str = "", *, seconds: float = PATIENCE) -> T:
    """Ask until the answer is a true one, and return that.

    Fails with `what` was waited for, or else with the source of `holds`, and the last answer.
    """
    __tracebackhide__ = True
    end = time.monotonic() + seconds
    while not (found := holds()):
        if time.monotonic() >= end:
            raise AssertionError(_in_vain(holds, what, seconds, found))
        time.sleep(0.02)
    return found


async def until(
    holds: Callable[[], object] | Callable[[], Awaitable[object]], what: str = "", *, seconds: float = PATIENCE
) -> None:
    """Ask until the answer is a true one, letting others run. Fails as `eventually` does, also when none comes."""
    __tracebackhide__ = True
    found: Any = "no answer"
    try:
        async with asyncio.timeout(seconds) as patience:
            while True:
                answer = holds()
                found = await answer if inspect.isawaitable(answer) else answer
                if found:
                    return
                await asyncio.sleep(0.005)
    except TimeoutError:
        if not patience.expired():
            raise
        raise AssertionError(_in_vain(holds, what, seconds, found)) from None


def _in_vain(holds: Callable[[], object], what: str, seconds: float, found: object) -> str:
    if not what:
        try:
            what = " ".join(inspect.getsource(holds).split())
        except (OSError, TypeError):
            what = repr(holds)
    return f"waited {seconds:g} s in vain for: {what}; it is {found!r}"


def exists(server: Handle, path: str) -> bool:
    """Whether there is an object."""
    try:
        server.request("GET", path)
    except RequestFailed as error:
        assert error.status == 404
        return False
    return True
