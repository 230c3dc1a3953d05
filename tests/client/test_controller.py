"""Controllers: keys are worked on until that succeeds."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from watchkeeper.client.controller import Controller
from watchkeeper.client.errors import ClientError
from watchkeeper.meta import errors
from watchkeeper.meta.gvk import GroupResource
from watchkeeper.testing.clock import ManualClock


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(test, 10))


def test_what_fails_is_tried_again_until_it_succeeds(caplog: pytest.LogCaptureFixture) -> None:
    problems: list[Exception | None] = [
        errors.conflict(GroupResource("", "pods"), "a", "changed"),
        ClientError("away"),
        ValueError("a mistake"),
        None,
    ]
    seen: list[str] = []

    async def reconcile(key: str) -> None:
        seen.append(key)
        problem = problems.pop(0)
        if problem is not None:
            raise problem

    async def scenario() -> None:
        clock = ManualClock()
        controller = Controller("test", reconcile, clock=clock)
        task = asyncio.create_task(controller.run())
        controller.queue.add("x/a")
        await clock.advance(1)
        assert seen == ["x/a"] * 4
        assert controller.queue.retries("x/a") == 0
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert controller.queue.is_shut_down

    run(scenario())
    assert "a mistake" in caplog.text
    assert "away" in caplog.text
    assert "changed" not in caplog.text


def test_a_key_can_ask_to_be_looked_at_again_later() -> None:
    async def scenario() -> None:
        clock = ManualClock()
        seen: list[float] = []

        async def reconcile(key: str) -> float | None:
            seen.append(clock.time())
            return 30.0 if len(seen) < 3 else None

        controller = Controller("test", reconcile, workers=1, clock=clock)
        task = asyncio.create_task(controller.run())
        controller.queue.add("a")
        await clock.advance(300)
        assert [later - seen[0] for later in seen] == [0.0, 30.0, 60.0]
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    run(scenario())
