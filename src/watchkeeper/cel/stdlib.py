"""The functions and operators that every CEL has."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from typing import Any

from watchkeeper.cel import operators as op
from watchkeeper.cel.conversions import (
    to_bool,
    to_bytes,
    to_double,
    to_duration,
    to_int,
    to_string,
    to_timestamp,
    to_type,
    to_uint,
)
from watchkeeper.cel.decls import Overload, overload
from watchkeeper.cel.maps import map_from
from watchkeeper.cel.regex import RegexError, TooCostly, compile_given
from watchkeeper.cel.times import Local, local
from watchkeeper.cel.values import NANOS, CostLimitExceeded, Duration, EvalError, NoSuchOverload, Timestamp

_NUMERIC = ("int", "uint", "double")


def declarations() -> list[tuple[str, Overload]]:
    """All overloads of the standard library."""
    return [
        *_logic(),
        *_equality(),
        *_ordering(),
        *_arithmetic(),
        *_containers(),
        *_conversions(),
        *_strings(),
        *_times(),
    ]


def _unreachable(*_: Any) -> Any:
    raise NoSuchOverload


def _logic() -> list[tuple[str, Overload]]:
    return [
        overload("logical_and", "::_&&_(bool, bool) -> bool", _unreachable),
        overload("logical_or", "::_||_(bool, bool) -> bool", _unreachable),
        overload("conditional", "::_?_:_(bool, A, A) -> A", _unreachable),
        overload("logical_not", "::!_(bool) -> bool", op.logical_not),
        overload("not_strictly_false", "::@not_strictly_false(bool) -> bool", lambda value: value is not False),
    ]


def _equality() -> list[tuple[str, Overload]]:
    return [
        overload("equals", "::_==_(A, A) -> bool", op.equals),
        overload("not_equals", "::_!=_(A, A) -> bool", op.BINARY["_!=_"]),
    ]


def _ordering() -> list[tuple[str, Overload]]:
    names = {"less": "_<_", "less_equals": "_<=_", "greater": "_>_", "greater_equals": "_>=_"}
    out: list[tuple[str, Overload]] = []
    for word, function in names.items():
        run = op.BINARY[function]
        for kind in ("bool", *_NUMERIC, "string", "bytes", "timestamp", "duration"):
            name = f"{word}_int64" if kind == "int" else f"{word}_uint64" if kind == "uint" else f"{word}_{kind}"
            out.append(overload(name, f"::{function}({kind}, {kind}) -> bool", run))
        out += [
            overload(f"{word}_{a}_{b}", f"::{function}({a}, {b}) -> bool", run) for a, b in permutations(_NUMERIC, 2)
        ]
    return out


def _arithmetic() -> list[tuple[str, Overload]]:
    out: list[tuple[str, Overload]] = []
    for word, function, kinds in (
        ("add", "_+_", (*_NUMERIC, "string", "bytes", "list(A)", "duration")),
        ("subtract", "_-_", (*_NUMERIC, "duration")),
        ("multiply", "_*_", _NUMERIC),
        ("divide", "_/_", _NUMERIC),
        ("modulo", "_%_", ("int", "uint")),
    ):
        for kind in kinds:
            suffix = {"int": "int64", "uint": "uint64", "list(A)": "list"}.get(kind, kind)
            out.append(overload(f"{word}_{suffix}", f"::{function}({kind}, {kind}) -> {kind}", op.BINARY[function]))
    out += [
        overload("add_duration_timestamp", "::_+_(duration, timestamp) -> timestamp", op.add),
        overload("add_timestamp_duration", "::_+_(timestamp, duration) -> timestamp", op.add),
        overload("subtract_timestamp_timestamp", "::_-_(timestamp, timestamp) -> duration", op.subtract),
        overload("subtract_timestamp_duration", "::_-_(timestamp, duration) -> timestamp", op.subtract),
        overload("negate_int64", "::-_(int) -> int", op.negate),
        overload("negate_double", "::-_(double) -> double", op.negate),
    ]
    return out


def _containers() -> list[tuple[str, Overload]]:
    return [
        overload("index_list", "::_[_](list(A), int) -> A", op.index),
        overload("index_map", "::_[_](map(A, B), A) -> B", op.index),
        overload("optional_list_index_int", "::_[_](optional(list(A)), int) -> optional(A)", op.optional_index),
        overload("optional_map_index_value", "::_[_](optional(map(A, B)), A) -> optional(B)", op.optional_index),
        overload("in_list", "::@in(A, list(A)) -> bool", op.contains),
        overload("in_map", "::@in(A, map(A, B)) -> bool", op.contains),
        *(overload(f"size_{_short(k)}", f"::size({k}) -> int", _size) for k in _SIZED),
        *(overload(f"{_short(k)}_size", f"{k}.size() -> int", _size) for k in _SIZED),
        overload("map_insert_map_map", "::cel.@mapInsert(map(A, B), map(A, B)) -> map(A, B)", _insert_all),
        overload("map_insert_map_key_value", "::cel.@mapInsert(map(A, B), A, B) -> map(A, B)", _insert),
    ]


_SIZED = ("string", "bytes", "list(A)", "map(A, B)")


def _short(kind: str) -> str:
    return kind.partition("(")[0]


def _size(value: Any) -> int:
    if isinstance(value, str | bytes | list | dict):
        return len(value)
    raise NoSuchOverload


def _insert(accu: dict[Any, Any], key: Any, value: Any) -> dict[Any, Any]:
    if op.has_key(accu, key):
        raise EvalError(f"insert failed: key {op.shown_key(key)} already exists")
    if accu.__class__ is dict and key.__class__ is str:
        return {**accu, key: value}
    return map_from([*accu.items(), (key, value)])


def _insert_all(accu: dict[Any, Any], entries: dict[Any, Any]) -> dict[Any, Any]:
    for key, value in entries.items():
        accu = _insert(accu, key, value)
    return accu


def _conversions() -> list[tuple[str, Overload]]:
    table: dict[str, tuple[Callable[[Any], Any], tuple[str, ...]]] = {
        "int": (to_int, ("int", "double", "string", "uint", "duration", "timestamp")),
        "uint": (to_uint, ("uint", "double", "int", "string")),
        "double": (to_double, ("double", "int", "string", "uint")),
        "bool": (to_bool, ("bool", "string")),
        "bytes": (to_bytes, ("bytes", "string")),
        "string": (
            to_string,
            ("string", "bool", "bytes", "double", "duration", "int", "timestamp", "uint"),
        ),
        "timestamp": (to_timestamp, ("timestamp", "string", "int")),
        "duration": (to_duration, ("duration", "string", "int")),
    }
    out = [
        overload(f"{_id(source)}_to_{_id(target)}", f"::{target}({source}) -> {target}", run)
        for target, (run, sources) in table.items()
        for source in sources
    ]
    out.append(overload("to_dyn", "::dyn(A) -> dyn", lambda value: value))
    out.append(overload("type", "::type(A) -> type(A)", to_type))
    return out


def _id(kind: str) -> str:
    return {"int": "int64", "uint": "uint64"}.get(kind, kind)


def _strings() -> list[tuple[str, Overload]]:
    return [
        overload("contains_string", "string.contains(string) -> bool", _text(lambda a, b: b in a)),
        overload("starts_with_string", "string.startsWith(string) -> bool", _text(str.startswith)),
        overload("ends_with_string", "string.endsWith(string) -> bool", _text(str.endswith)),
        overload("matches", "::matches(string, string) -> bool", matches),
        overload("matches_string", "string.matches(string) -> bool", matches),
    ]


def _text(run: Callable[[str, str], bool]) -> Callable[[Any, Any], bool]:
    def checked(a: Any, b: Any) -> bool:
        if not isinstance(a, str) or not isinstance(b, str):
            raise NoSuchOverload
        return run(a, b)

    return checked


def matches(text: Any, pattern: Any) -> bool:
    """Whether a regular expression occurs in a text."""
    if not isinstance(text, str) or not isinstance(pattern, str):
        raise NoSuchOverload
    try:
        return compile_given(pattern).search(text)
    except RegexError as problem:
        raise EvalError(str(problem)) from None
    except TooCostly:
        raise CostLimitExceeded from None


_PARTS: dict[str, Callable[[Local], int]] = {
    "getFullYear": lambda at: at.date.year + at.years,
    "getMonth": lambda at: at.date.month - 1,
    "getDayOfYear": lambda at: at.date.timetuple().tm_yday - 1,
    "getDayOfMonth": lambda at: at.date.day - 1,
    "getDate": lambda at: at.date.day,
    "getDayOfWeek": lambda at: at.date.isoweekday() % 7,
    "getHours": lambda at: at.date.hour,
    "getMinutes": lambda at: at.date.minute,
    "getSeconds": lambda at: at.date.second,
    "getMilliseconds": lambda at: at.date.microsecond // 1000,
}
_SPANS: dict[str, int] = {"getHours": 3600 * NANOS, "getMinutes": 60 * NANOS, "getSeconds": NANOS}
_OVERLOAD_WORDS = {
    "getFullYear": "year",
    "getMonth": "month",
    "getDayOfYear": "day_of_year",
    "getDayOfMonth": "day_of_month",
    "getDate": "day_of_month_1_based",
    "getDayOfWeek": "day_of_week",
    "getHours": "hours",
    "getMinutes": "minutes",
    "getSeconds": "seconds",
    "getMilliseconds": "milliseconds",
}


def _times() -> list[tuple[str, Overload]]:
    out: list[tuple[str, Overload]] = []
    for function, part in _PARTS.items():
        word = _OVERLOAD_WORDS[function]
        run = _time_part(part)
        out.append(overload(f"timestamp_to_{word}", f"timestamp.{function}() -> int", run))
        out.append(overload(f"timestamp_to_{word}_with_tz", f"timestamp.{function}(string) -> int", run))
    for function, unit in _SPANS.items():
        word = _OVERLOAD_WORDS[function]
        out.append(overload(f"duration_to_{word}", f"duration.{function}() -> int", _span(unit)))
    out.append(overload("duration_to_milliseconds", "duration.getMilliseconds() -> int", _milliseconds))
    return out


def _time_part(part: Callable[[Local], int]) -> Callable[..., int]:
    def run(at: Any, zone: str = "UTC") -> int:
        if not isinstance(at, Timestamp):
            raise NoSuchOverload
        return part(local(at, zone))

    return run


def _span(unit: int) -> Callable[[Any], int]:
    def run(span: Any) -> int:
        if not isinstance(span, Duration):
            raise NoSuchOverload
        return _toward_zero(int(span), unit)

    return run


def _milliseconds(span: Any) -> int:
    if not isinstance(span, Duration):
        raise NoSuchOverload
    return _toward_zero(int(span), 10**6)


def _toward_zero(value: int, unit: int) -> int:
    quotient = abs(value) // unit
    return quotient if value >= 0 else -quotient
