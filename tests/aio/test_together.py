"""What is begun together ends together, and closing goes on past failures."""

import asyncio

import pytest

from watchkeeper.aio.together import close_all, together


async def after(turns: int, result: object, ended: list[object]) -> object:
    try:
        for _ in range(turns):
            await asyncio.sleep(0)
        if isinstance(result, Exception):
            raise result
        return result
    finally:
        await asyncio.sleep(0)
        ended.append(result)


def test_results_come_in_the_order_of_the_work() -> None:
    assert asyncio.run(together([after(5, "slow", []), after(1, "fast", [])])) == ["slow", "fast"]
    assert asyncio.run(together([])) == []


def test_when_one_fails_the_others_have_ended_before_anybody_hears_of_it() -> None:
    async def run() -> None:
        ended: list[object] = []
        failure = ValueError("no")
        with pytest.raises(ValueError, match="no"):
            await together([after(10_000, "long", ended), after(3, failure, ended), after(20_000, "longer", ended)])
        assert ended[0] is failure
        assert set(ended[1:]) == {"long", "longer"}
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(run())


def test_when_the_caller_is_cancelled_the_work_ends_first() -> None:
    async def run() -> None:
        ended: list[object] = []
        task = asyncio.create_task(together([after(10_000, "long", ended)]))
        for _ in range(3):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert ended == ["long"]

    asyncio.run(run())


def test_everything_is_closed_and_then_a_failure_is_raised() -> None:
    async def run() -> None:
        closed: list[str] = []

        def closer(name: str, error: Exception | None = None):  # type: ignore[no-untyped-def]
            async def close() -> None:
                closed.append(name)
                if error is not None:
                    raise error

            return close

        with pytest.raises(OSError, match="disk"):
            await close_all([closer("a", OSError("disk")), closer("b")])
        with pytest.raises(ExceptionGroup) as caught:
            await close_all([closer("c", OSError("one")), closer("d", ValueError("two")), closer("e")])
        assert [str(error) for error in caught.value.exceptions] == ["one", "two"]
        await close_all([closer("f")])
        assert closed == ["a", "b", "c", "d", "e", "f"]

    asyncio.run(run())
