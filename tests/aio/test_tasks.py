"""Owned tasks."""

import asyncio
import logging

import pytest

from watchkeeper.aio.tasks import TaskOwner


def test_closing_the_owner_ends_every_task_and_refuses_more() -> None:
    async def run() -> None:
        owner = TaskOwner("owner")
        ended: list[str] = []

        async def work(name: str) -> None:
            try:
                await asyncio.sleep(60)
            finally:
                ended.append(name)

        tasks = [owner.start(name, work(name)) for name in ("a", "b")]
        await asyncio.sleep(0)
        assert [task.get_name() for task in tasks] == ["owner/a", "owner/b"]
        assert "2 running" in repr(owner)
        await owner.close()
        await owner.close()
        assert sorted(ended) == ["a", "b"]
        with pytest.raises(RuntimeError, match="owner is closed"):
            owner.start("c", work("c"))

    asyncio.run(run())


def test_a_task_that_fails_is_logged_with_its_name(caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        owner = TaskOwner("owner")

        async def fail() -> None:
            raise KeyError("broken")

        owner.start("failing", fail())
        await asyncio.sleep(0.01)
        await owner.close()

    with caplog.at_level(logging.ERROR):
        asyncio.run(run())
    assert "task owner/failing failed" in caplog.text and "broken" in caplog.text


def test_a_task_may_close_its_own_owner() -> None:
    async def run() -> list[str]:
        owner = TaskOwner("owner")
        steps: list[str] = []

        async def work() -> None:
            await owner.close()
            steps.append("after closing")

        await owner.start("self", work())
        return steps

    assert asyncio.run(run()) == ["after closing"]
