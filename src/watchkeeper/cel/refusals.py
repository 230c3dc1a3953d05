"""In which words values are refused that a function does not take: as cel-go says it, which is not always alike."""

from __future__ import annotations

from collections.abc import Sequence

from watchkeeper.cel.types import Type
from watchkeeper.cel.values import NoSuchOverload
from watchkeeper.cel.words import words

_TIMES = frozenset(("google.protobuf.Duration", "google.protobuf.Timestamp"))
_NUMBERS = frozenset(("double", "int", "uint"))
_FIRST_OPERANDS = {
    "_+_": _NUMBERS | _TIMES | {"bytes", "list", "string"},
    "_-_": _NUMBERS | _TIMES,
    "_*_": _NUMBERS,
    "_/_": _NUMBERS,
    "_%_": frozenset(("int", "uint")),
    **dict.fromkeys(("_<_", "_<=_", "_>_", "_>=_"), _NUMBERS | _TIMES | {"bool", "bytes", "string"}),
    "size": frozenset(("bytes", "list", "map", "string")),
}
"""The types of first operands that functions know: only of others do they tell their own name."""
_TELL_TYPES = words(
    """bool bytes double duration int string timestamp uint getDate getDayOfMonth getDayOfWeek getDayOfYear getFullYear
    getHours getMilliseconds getMinutes getMonth getSeconds"""
)
"""Functions that tell their name and the types that they do not take."""
_SHOWN = {"null": "null_type"}
_GO_NAMES = {
    "duration": "types.Duration",
    "timestamp": "types.Timestamp",
    "google.protobuf.Duration": "types.Duration",
    "google.protobuf.Timestamp": "types.Timestamp",
    "list": "*types.baseList",
    "map": "*types.baseMap",
    "optional_type": "*types.Optional",
    "type": "*types.Type",
}


def no_overload(function: str, given: Sequence[Type]) -> NoSuchOverload:
    """The error of a call with values of these types, the target first."""
    if function in _TELL_TYPES:
        return NoSuchOverload(f"{function}({', '.join(_SHOWN.get(each.name, each.name) for each in given)})")
    known = _FIRST_OPERANDS.get(function)
    return NoSuchOverload() if known is None or given[0].name in known else NoSuchOverload(function)


def go_type(of: Type) -> str:
    """What cel-go's Go type for values of a type is called."""
    return _GO_NAMES.get(of.name) or f"types.{of.name.title()}"
