"""What is told when something is waited for in vain."""

from __future__ import annotations

import asyncio

import pytest
from tests.waiting import eventually, until


def test_the_first_true_answer_is_given() -> None:
    answers = iter([None, "", "yes", "no"])
    assert eventually(lambda: next(answers)) == "yes"


def test_it_is_told_what_was_waited_for_and_what_it_is() -> None:
    with pytest.raises(AssertionError) as told:
        eventually(lambda: [] or 0, seconds=0)
    assert str(told.value) == "waited 0 s in vain for: eventually(lambda: [] or 0, seconds=0); it is 0"
    with pytest.raises(AssertionError, match=r"^waited 0 s in vain for: rain; it is ''$"):
        eventually(str, "rain", seconds=0)


def test_answers_may_have_to_be_awaited() -> None:
    answers = iter([0, 0, 1])

    async def answer() -> int:
        return next(answers)

    async def never() -> None:
        await asyncio.Event().wait()

    async def run() -> None:
        await until(answer)
        assert next(answers, "over") == "over"
        with pytest.raises(AssertionError, match=r"^waited 0\.01 s in vain for: rain; it is 'no answer'$"):
            await until(never, "rain", seconds=0.01)
        with pytest.raises(AssertionError, match=r"^waited 0\.01 s in vain for: .*lambda: False.*; it is False$"):
            await until(lambda: False, seconds=0.01)

    asyncio.run(run())
