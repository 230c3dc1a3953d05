"""Conversion that takes time, within work that cannot wait for it.

Who owns what is worked out in one go, which may need an object at another version; of custom resources a webhook may
have to be asked for that. Such work is begun again, with all that has been converted so far, until nothing is missing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any, TypeVar

import orjson

from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.gvk import GroupVersionKind

Object = dict[str, Any]
Ask = Callable[[Object, GroupVersionKind], Awaitable[Object]]
T = TypeVar("T")

_Question = tuple[bytes, GroupVersionKind]
_answers: ContextVar[dict[_Question, bytes | ApiError] | None] = ContextVar("conversions", default=None)


class Missing(Exception):
    """An object has to be converted before the work can go on."""

    def __init__(self, ask: Ask, question: _Question) -> None:
        super().__init__("an object has to be converted first")
        self.ask = ask
        self.question = question


class Foreign:
    """Converts objects by asking somebody else."""

    def __init__(self, ask: Ask) -> None:
        """`ask` gives an object at a version, or raises ApiError."""
        self._ask = ask

    def convert(self, obj: Object, to: GroupVersionKind) -> Object:
        """The object at a version, its own to change. Raises Missing within `completed`, and what `ask` raises."""
        answers = _answers.get()
        question = (orjson.dumps(obj, option=orjson.OPT_SORT_KEYS), to)
        answer = answers.get(question) if answers is not None else ApiError(500, "", "a conversion webhook takes time")
        if answer is None:
            raise Missing(self._ask, question)
        if isinstance(answer, ApiError):
            raise answer
        found: Object = orjson.loads(answer)
        return found


async def completed(work: Callable[[], T]) -> T:
    """What work returns once all that it needs has been converted. It is begun anew for each, so it must bear that."""
    answers: dict[_Question, bytes | ApiError] = {}
    token = _answers.set(answers)
    try:
        while True:
            try:
                return work()
            except Missing as missing:
                answers[missing.question] = await _answer(missing)
    finally:
        _answers.reset(token)


async def _answer(missing: Missing) -> bytes | ApiError:
    text, to = missing.question
    try:
        return orjson.dumps(await missing.ask(orjson.loads(text), to))
    except ApiError as error:
        return error
