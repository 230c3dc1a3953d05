"""Optional values: optional.of, orValue and the rest."""

from __future__ import annotations

from typing import Any

from watchkeeper.cel import operators as op
from watchkeeper.cel.decls import Overload, overload
from watchkeeper.cel.values import MIN_TIMESTAMP, NONE, NoSuchOverload, Optional, Timestamp


def declarations() -> list[tuple[str, Overload]]:
    """All overloads of the library."""
    return [
        overload("optional_of", "::optional.of(V) -> optional(V)", Optional),
        overload("optional_ofNonZeroValue", "::optional.ofNonZeroValue(V) -> optional(V)", _of_non_zero),
        overload("optional_none", "::optional.none() -> optional(V)", lambda: NONE),
        overload("optional_value", "optional(V).value() -> V", lambda o: _optional(o).value),
        overload("optional_hasValue", "optional(V).hasValue() -> bool", lambda o: _optional(o).present),
        overload("optional_or_optional", "optional(V).or(optional(V)) -> optional(V)", _or),
        overload("optional_orValue_value", "optional(V).orValue(V) -> V", _or_value),
        overload("list_optindex_optional_int", "::_[?_](list(V), int) -> optional(V)", op.optional_index),
        overload(
            "optional_list_optindex_optional_int", "::_[?_](optional(list(V)), int) -> optional(V)", op.optional_index
        ),
        overload("map_optindex_optional_value", "::_[?_](map(K, V), K) -> optional(V)", op.optional_index),
        overload(
            "optional_map_optindex_optional_value", "::_[?_](optional(map(K, V)), K) -> optional(V)", op.optional_index
        ),
        overload("list_last", "list(V).last() -> optional(V)", lambda items: Optional(items[-1]) if items else NONE),
        overload("list_first", "list(V).first() -> optional(V)", lambda items: Optional(items[0]) if items else NONE),
        overload("optional_unwrap", "::optional.unwrap(list(optional(V))) -> list(V)", _unwrap),
        overload("optional_unwrapOpt", "list(optional(V)).unwrapOpt() -> list(V)", _unwrap),
    ]


def _optional(value: Any) -> Optional:
    if not isinstance(value, Optional):
        raise NoSuchOverload
    return value


def _of_non_zero(value: Any) -> Optional:
    if isinstance(value, Timestamp):
        zero = value == MIN_TIMESTAMP
    else:
        zero = value is None or (isinstance(value, int | float | str | bytes | list | dict) and not value)
    return NONE if zero else Optional(value)


def _or(first: Any, second: Any) -> Optional:
    return first if _optional(first).present else second  # type: ignore[no-any-return]


def _or_value(first: Any, fallback: Any) -> Any:
    return first.value if _optional(first).present else fallback


def _unwrap(items: list[Any]) -> list[Any]:
    return [item.value for item in items if _optional(item).present]
