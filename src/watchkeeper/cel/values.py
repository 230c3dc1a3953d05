"""The values of expressions that Python has no type of its own for.

null, bool, int, double, string, bytes, list and map are None, bool, int, float, str, bytes, list and dict.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from watchkeeper.cel import types
from watchkeeper.cel.types import Type

MAX_INT, MIN_INT, MAX_UINT = 2**63 - 1, -(2**63), 2**64 - 1
NANOS = 10**9
MIN_TIMESTAMP = -62135596800 * NANOS
MAX_TIMESTAMP = 253402300799 * NANOS + 999_999_999
UNIX_EPOCH = 0


class EvalError(Exception):
    """What an expression evaluates to when something goes wrong. The message is cel-go's."""

    cost: int = 0
    """What the evaluation had cost by then."""


class NoSuchOverload(EvalError):
    """A function was called with values it does not take; `call` tells which, where cel-go tells it."""

    def __init__(self, call: str = "") -> None:
        super().__init__(f"no such overload: {call}" if call else "no such overload")


class CostLimitExceeded(Exception):
    """Evaluation took more than it was allowed to."""

    cost: int = 0
    """What it had cost by then."""

    def __init__(self) -> None:
        super().__init__("operation cancelled: actual cost limit exceeded")


class Uint(int):
    """An unsigned integer of 64 bits."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"{int(self)}u"


class Timestamp(int):
    """A point in time: nanoseconds since the epoch."""

    offset: int = 0
    """Seconds east of UTC of the zone that it was written in, of which only its text tells."""

    def __repr__(self) -> str:
        from watchkeeper.cel.times import format_timestamp

        return f"timestamp({format_timestamp(self)!r})"


class Duration(int):
    """A span of time in nanoseconds."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"duration('{format_seconds(self)}')"


def format_seconds(nanos: int) -> str:
    """A duration as `string()` shows it: its seconds as a float, with as few decimals as tell that."""
    whole, rest = divmod(abs(nanos), NANOS)
    seconds = float(whole) + rest / 1e9
    text = f"{Decimal(repr(seconds)):f}".removesuffix(".0")
    return f"{'-' if nanos < 0 else ''}{text}s"


class Optional:
    """A value that may be absent."""

    __slots__ = ("_value", "present")

    def __init__(self, value: Any = None, present: bool = True) -> None:
        self._value = value
        self.present = present

    def __repr__(self) -> str:
        return f"optional.of({self._value!r})" if self.present else "optional.none()"

    @property
    def value(self) -> Any:
        """The value. Raises EvalError when it is absent."""
        if not self.present:
            raise EvalError("optional.none() dereference")
        return self._value


NONE = Optional(present=False)


class TypeValue:
    """A type as a value: what `type(x)` and names such as `int` evaluate to."""

    __slots__ = ("name", "type")

    def __init__(self, type: Type, name: str = "") -> None:
        self.type = type
        self.name = name or _type_names.get(type.name, type.name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TypeValue) and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return self.name


_type_names = {
    "timestamp": "google.protobuf.Timestamp",
    "duration": "google.protobuf.Duration",
    "null": "null_type",
}


class SetList(list[Any]):
    """A list with x-kubernetes-list-type set: order does not count in comparisons, and adding joins."""

    __slots__ = ()


class MapList(list[Any]):
    """A list with x-kubernetes-list-type map: its items are told apart by their keys."""

    __slots__ = ("keys",)

    def __init__(self, items: Any, keys: tuple[str, ...]) -> None:
        super().__init__(items)
        self.keys = keys

    def key_of(self, item: Any) -> Any:
        """What tells an item apart."""
        return tuple(_hashable(item.get(k)) for k in self.keys)


def _hashable(value: Any) -> Any:
    return repr(value) if isinstance(value, dict | list) else value


_BY_PYTHON_TYPE: dict[type, Type] = {
    type(None): types.NULL,
    bool: types.BOOL,
    int: types.INT,
    Uint: types.UINT,
    float: types.DOUBLE,
    str: types.STRING,
    bytes: types.BYTES,
    list: types.list_of(types.DYN),
    SetList: types.list_of(types.DYN),
    MapList: types.list_of(types.DYN),
    dict: types.map_of(types.DYN, types.DYN),
    Timestamp: types.TIMESTAMP,
    Duration: types.DURATION,
    Optional: types.optional_of(types.DYN),
    TypeValue: types.TYPE,
}


def register_value_type(python_type: type, cel_type: Type) -> None:
    """Say which type the values of a class of a library have."""
    _BY_PYTHON_TYPE[python_type] = cel_type


def runtime_type(value: Any) -> Type:
    """The type of a value as `type()` and dynamic dispatch see it. Raises NoSuchOverload for foreign objects."""
    found = _BY_PYTHON_TYPE.get(value.__class__)
    if found is None:
        raise NoSuchOverload
    return found
