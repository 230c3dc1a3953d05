"""Cases of a contract: functions, named for what they prove, that any implementation can be put through."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Awaitable[None]])


def case_name(case: Callable[..., Any]) -> str:
    """The sentence that the case proves."""
    name: str = getattr(case, "__name__", repr(case))
    return name


def collector() -> tuple[list[Any], Callable[[F], F]]:
    """A list and the decorator that adds cases to it."""
    cases: list[Any] = []

    def case(function: F) -> F:
        cases.append(function)
        return function

    return cases, case
