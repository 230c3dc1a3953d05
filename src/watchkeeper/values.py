"""Values that each request makes by the dozen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def value(*, kw_only: bool = False) -> Callable[[type[T]], type[T]]:
    """As `dataclass(frozen=True, slots=True)`, but that only type checkers see that it is frozen.

    Making one costs a third: a dataclass that guards itself has to go around its own guard for each of its fields.
    """
    return dataclass(slots=True, unsafe_hash=True, kw_only=kw_only)
