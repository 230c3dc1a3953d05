"""What operators do with values, whatever their types: equality, order, arithmetic, indexing."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from watchkeeper.cel.conversions import format_double, to_string
from watchkeeper.cel.maps import KeyedMap
from watchkeeper.cel.refusals import go_type
from watchkeeper.cel.times import check_duration, check_timestamp
from watchkeeper.cel.values import (
    MAX_INT,
    MAX_UINT,
    MIN_INT,
    Duration,
    EvalError,
    MapList,
    NoSuchOverload,
    Optional,
    SetList,
    Timestamp,
    Uint,
    runtime_type,
)

_NUMBERS = frozenset((int, Uint, float))
_LISTS = frozenset((list, SetList, MapList))
_MAPS = frozenset((dict, KeyedMap))
_QUALIFIERS = frozenset((str, bool, int, Uint, float))
"""The types of what can be looked up in a map or a list."""
_ORDERED = frozenset((str, bytes, bool, Timestamp, Duration))


def equals(a: Any, b: Any) -> bool:
    """Deep equality. Numbers compare by value; values of different types are unequal."""
    first, second = a.__class__, b.__class__
    if first in _NUMBERS and second in _NUMBERS:
        return bool(a == b)
    if first in _LISTS and second in _LISTS:
        return _equal_lists(a, b)
    if first is not second:
        return False
    if first in _MAPS:
        return _equal_maps(a, b)
    if first is Optional:
        return a.present == b.present and (not a.present or equals(a.value, b.value))
    return bool(a == b)


def _equal_lists(a: Any, b: Any) -> bool:
    if len(a) != len(b):
        return False
    if a.__class__ is SetList:
        return all(any(equals(x, y) for x in a) for y in b)
    if a.__class__ is MapList:
        by_key = {a.key_of(x): x for x in a}
        return all(a.key_of(y) in by_key and equals(by_key[a.key_of(y)], y) for y in b)
    return all(equals(x, y) for x, y in zip(a, b, strict=True))


def _equal_maps(a: dict[Any, Any], b: dict[Any, Any]) -> bool:
    if len(a) != len(b):
        return False
    return all(has_key(b, key) and equals(value, b[key]) for key, value in a.items())


def compare(a: Any, b: Any) -> int:
    """-1, 0 or 1. Raises NoSuchOverload for types that have no order, or not the same; NaN is after nothing."""
    first, second = a.__class__, b.__class__
    if not (first in _NUMBERS and second in _NUMBERS) and not (first is second and first in _ORDERED):
        raise NoSuchOverload
    return int(a > b) - int(a < b)


def less(a: Any, b: Any) -> bool:
    """`a < b`."""
    compare(a, b)
    return bool(a < b)


def less_equals(a: Any, b: Any) -> bool:
    """`a <= b`."""
    compare(a, b)
    return bool(a <= b)


def greater(a: Any, b: Any) -> bool:
    """`a > b`."""
    compare(a, b)
    return bool(a > b)


def greater_equals(a: Any, b: Any) -> bool:
    """`a >= b`."""
    compare(a, b)
    return bool(a >= b)


def whole(value: int) -> int:
    """An int result, if it fits into 64 bits."""
    if not MIN_INT <= value <= MAX_INT:
        raise EvalError("integer overflow")
    return value


def unsigned(value: int) -> Uint:
    """A uint result, if it fits."""
    if not 0 <= value <= MAX_UINT:
        raise EvalError("unsigned integer overflow")
    return Uint(value)


def add(a: Any, b: Any) -> Any:
    """`a + b`."""
    kind, other = a.__class__, b.__class__
    if kind in _LISTS and other in _LISTS:
        return _join(a, b)
    if {kind, other} == {Timestamp, Duration}:
        return check_timestamp(int(a) + int(b), (a if kind is Timestamp else b).offset)
    if kind is not other:
        raise NoSuchOverload
    if kind is int:
        return whole(a + b)
    if kind in (str, bytes, float):
        return a + b
    if kind is Uint:
        return unsigned(int(a) + int(b))
    if kind is Duration:
        return check_duration(int(a) + int(b))
    raise NoSuchOverload


def _join(a: Any, b: Any) -> Any:
    if a.__class__ is SetList:
        out = SetList(a)
        out += [x for x in b if not any(equals(x, y) for y in a)]
        return out
    if a.__class__ is MapList:
        merged = MapList(a, a.keys)
        places = {a.key_of(x): i for i, x in enumerate(a)}
        for item in b:
            at = places.get(a.key_of(item))
            if at is None:
                merged.append(item)
            else:
                merged[at] = item
        return merged
    return [*a, *b]


def subtract(a: Any, b: Any) -> Any:
    """`a - b`."""
    kind, other = a.__class__, b.__class__
    if kind is Timestamp and other in (Timestamp, Duration):
        result = int(a) - int(b)
        return check_duration(result) if other is Timestamp else check_timestamp(result, a.offset)
    if kind is not other:
        raise NoSuchOverload
    if kind is int:
        return whole(a - b)
    if kind is float:
        return a - b
    if kind is Uint:
        return unsigned(int(a) - int(b))
    if kind is Duration:
        return check_duration(int(a) - int(b))
    raise NoSuchOverload


def multiply(a: Any, b: Any) -> Any:
    """`a * b`."""
    kind = _same_number(a, b)
    if kind is int:
        return whole(a * b)
    return a * b if kind is float else unsigned(int(a) * int(b))


def divide(a: Any, b: Any) -> Any:
    """`a / b`: whole numbers are cut off toward zero."""
    kind = _same_number(a, b)
    if kind is float:
        return _divide_float(a, b)
    if b == 0:
        raise EvalError("division by zero")
    quotient = abs(int(a)) // abs(int(b))
    if kind is Uint:
        return Uint(quotient)
    return whole(quotient if (a < 0) == (b < 0) else -quotient)


def _divide_float(a: float, b: float) -> float:
    if b != 0:
        return a / b
    if a == 0 or math.isnan(a):
        return math.nan
    return math.copysign(math.inf, a) * math.copysign(1.0, b)


def modulo(a: Any, b: Any) -> Any:
    """`a % b`: the sign is that of `a`."""
    kind = _same_number(a, b)
    if kind is float:
        raise NoSuchOverload
    if b == 0:
        raise EvalError("modulus by zero")
    rest = abs(int(a)) % abs(int(b))
    if kind is Uint:
        return Uint(rest)
    if a == MIN_INT and b == -1:
        raise EvalError("integer overflow")
    return -rest if a < 0 else rest


def _same_number(a: Any, b: Any) -> type:
    if a.__class__ is not b.__class__ or a.__class__ not in _NUMBERS:
        raise NoSuchOverload
    return type(a)


def negate(a: Any) -> Any:
    """`-a`."""
    if a.__class__ is int:
        return whole(-a)
    if a.__class__ is float:
        return -a
    raise NoSuchOverload


def logical_not(a: Any) -> bool:
    """`!a`."""
    if a.__class__ is not bool:
        raise NoSuchOverload
    return not a


def truth(value: Any) -> bool:
    """The value itself, which must be a bool."""
    if value.__class__ is not bool:
        raise NoSuchOverload
    return bool(value)


def has_key(container: dict[Any, Any], key: Any) -> bool:
    """Whether a map has a key; true and 1 are different keys."""
    return key in container if container.__class__ is KeyedMap or key.__class__ is str else False


def contains(item: Any, container: Any) -> bool:
    """`item in container`."""
    if container.__class__ in _LISTS:
        return any(equals(item, x) for x in container)
    if container.__class__ in _MAPS:
        return has_key(container, item)
    raise NoSuchOverload


def check_qualifier(at: Any) -> None:
    """Refuse what nothing can be looked up by. Raises EvalError."""
    if at.__class__ not in _QUALIFIERS:
        raise EvalError(f"invalid qualifier type: {go_type(runtime_type(at))}")


def index(container: Any, at: Any) -> Any:
    """`container[at]`."""
    check_qualifier(at)
    kind = container.__class__
    if kind in _LISTS:
        return container[list_index(container, at)]
    if kind in _MAPS:
        if not has_key(container, at):
            raise no_such_key(at)
        return container[at]
    if kind is Optional:
        return optional_index(container, at)
    raise no_such_key(at)


def list_index(container: list[Any], at: Any) -> int:
    """The place of an item in a list. Raises EvalError when there is none."""
    if at.__class__ is float:
        if not at.is_integer():
            raise _bad_index(f"value {format_double(at)}")
        at = int(at)
    if at.__class__ not in (int, Uint):
        raise _bad_index(f"type '{runtime_type(at).name}'")
    if not 0 <= at < len(container):
        raise EvalError(f"index out of bounds: {int(at)}")
    return int(at)


def _bad_index(what: str) -> EvalError:
    return EvalError(f"unsupported index {what} in list")


def optional_index(container: Any, at: Any) -> Optional:
    """`container[?at]`."""
    check_qualifier(at)
    if container.__class__ is Optional:
        if not container.present:
            return container
        container = container.value
    kind = container.__class__
    if kind in _LISTS:
        within = _number_of(at)
        if within is None:
            list_index(container, at)
        if within is None or not 0 <= within < len(container):
            return Optional(present=False)
    elif kind not in _MAPS or not has_key(container, at):
        return Optional(present=False)
    return Optional(index(container, at))


def _number_of(at: Any) -> int | None:
    """The number of a place in a list, None for what is no such number."""
    if at.__class__ is float:
        return int(at) if at.is_integer() else None
    return int(at) if at.__class__ in (int, Uint) else None


def no_such_key(key: Any) -> EvalError:
    """The error of looking for a key that is not there."""
    return EvalError(f"no such key: {shown_key(key)}")


def shown_key(key: Any) -> str:
    """How errors show a key."""
    try:
        return to_string(key)
    except EvalError:
        return str(key)


def select(operand: Any, field: str) -> Any:
    """`operand.field` where only the value tells what the operand is."""
    if operand.__class__ in _MAPS:
        if field not in operand:
            raise no_such_key(field)
        return operand[field]
    if operand.__class__ is Optional:
        return select_optional(operand, field)
    check_selectable(operand)
    raise no_such_key(field)


def check_selectable(operand: Any) -> None:
    """Refuse a list, which has no fields; all else is taken for something without that field. Raises EvalError."""
    if operand.__class__ in _LISTS:
        raise _bad_index("type 'string'")


def select_set(operand: Any, field: str) -> Any:
    """`operand.field` of a structure, in which null counts as absent."""
    value = select(operand, field)
    if value is None:
        raise no_such_key(field)
    return value


def has_set_field(operand: Any, field: str) -> bool:
    """`has(operand.field)` of a structure, in which null counts as absent."""
    if operand.__class__ is Optional:
        return operand.present and has_set_field(operand.value, field)
    if operand.__class__ not in _MAPS:
        check_selectable(operand)
        return False
    return operand.get(field) is not None


def has_field(operand: Any, field: str) -> bool:
    """`has(operand.field)`."""
    if operand.__class__ is Optional:
        return operand.present and has_field(operand.value, field)
    if operand.__class__ not in _MAPS:
        check_selectable(operand)
        return False
    return field in operand


def select_optional(operand: Any, field: str) -> Optional:
    """`operand.?field`."""
    if operand.__class__ is Optional:
        if not operand.present:
            return operand
        operand = operand.value
    if operand.__class__ not in _MAPS:
        check_selectable(operand)
        return Optional(present=False)
    return Optional(operand[field]) if field in operand else Optional(present=False)


BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "_+_": add,
    "_-_": subtract,
    "_*_": multiply,
    "_/_": divide,
    "_%_": modulo,
    "_<_": less,
    "_<=_": less_equals,
    "_>_": greater,
    "_>=_": greater_equals,
    "_==_": equals,
    "_!=_": lambda a, b: not equals(a, b),
    "@in": contains,
    "_[_]": index,
    "_[?_]": optional_index,
}
