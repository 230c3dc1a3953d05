"""Functions that say whether a text is one that another function reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from watchkeeper.cel.values import EvalError, NoSuchOverload


def can(parse: Callable[..., object]) -> Callable[..., bool]:
    """Whether `parse` reads its arguments. What is of another type than it takes stays an error."""

    def run(*arguments: Any) -> bool:
        try:
            parse(*arguments)
        except NoSuchOverload:
            raise
        except EvalError:
            return False
        return True

    return run
