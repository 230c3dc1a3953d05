"""The messages of protobuf that expressions may write, such as `google.protobuf.Duration{seconds: 1}`.

What is written becomes the value that it stands for: a duration, a text, a map. Only google.protobuf.Empty stays one.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Any

from watchkeeper.cel import types
from watchkeeper.cel.json_values import json_value, unconvertible
from watchkeeper.cel.types import Kind, Type
from watchkeeper.cel.values import (
    MAX_INT,
    MAX_TIMESTAMP,
    MIN_INT,
    MIN_TIMESTAMP,
    NANOS,
    Duration,
    EvalError,
    Optional,
    Timestamp,
    Uint,
    register_value_type,
    runtime_type,
)

_PREFIX = "google.protobuf."
_ENUM = "protoreflect.EnumNumber"
_MAP, _LIST = types.map_of(types.STRING, types.DYN), types.list_of(types.DYN)
_WRAPPED: dict[str, tuple[Type, str]] = {
    "BoolValue": (types.BOOL, "bool"),
    "BytesValue": (types.BYTES, "[]uint8"),
    "DoubleValue": (types.DOUBLE, "float64"),
    "FloatValue": (types.DOUBLE, "float32"),
    "Int32Value": (types.INT, "int32"),
    "Int64Value": (types.INT, "int64"),
    "StringValue": (types.STRING, "string"),
    "UInt32Value": (types.UINT, "uint32"),
    "UInt64Value": (types.UINT, "uint64"),
}
_SECONDS = {"seconds": (types.INT, "int64"), "nanos": (types.INT, "int32")}
_FIELDS: dict[str, dict[str, tuple[Type, str]]] = {
    "Any": {"type_url": (types.STRING, "string"), "value": (types.BYTES, "[]uint8")},
    "Duration": _SECONDS,
    "Empty": {},
    "ListValue": {"values": (_LIST, "")},
    "Struct": {"fields": (_MAP, "")},
    "Timestamp": _SECONDS,
    "Value": {
        "null_value": (types.INT, _ENUM),
        "number_value": (types.DOUBLE, "float64"),
        "string_value": (types.STRING, "string"),
        "bool_value": (types.BOOL, "bool"),
        "struct_value": (_MAP, "*structpb.Struct"),
        "list_value": (_LIST, "*structpb.ListValue"),
    },
    **{name: {"value": field} for name, field in _WRAPPED.items()},
}
"""The types of fields in expressions, and in Go, of each message."""
_BY_CLASS: dict[type, Type] = {
    bool: types.BOOL,
    bytes: types.BYTES,
    float: types.DOUBLE,
    int: types.INT,
    str: types.STRING,
    Uint: types.UINT,
}
_ZEROS: dict[Kind, Any] = {
    Kind.BOOL: False,
    Kind.BYTES: b"",
    Kind.DOUBLE: 0.0,
    Kind.INT: 0,
    Kind.STRING: "",
    Kind.UINT: Uint(0),
}


class EmptyMessage:
    """The message without fields; there is only one."""

    __slots__ = ()


EMPTY = EmptyMessage()
register_value_type(EmptyMessage, types.struct(f"{_PREFIX}Empty"))

FIELDS: Mapping[str, Mapping[str, Type]] = {
    f"{_PREFIX}{message}": {name: kind for name, (kind, _) in fields.items()} for message, fields in _FIELDS.items()
}
"""The types of the fields of each message."""
TYPES: Mapping[str, Type] = {
    f"{_PREFIX}{name}": of
    for name, of in {
        "Any": types.ANY,
        "Duration": types.DURATION,
        "Empty": types.struct(f"{_PREFIX}Empty"),
        "ListValue": _LIST,
        "Struct": _MAP,
        "Timestamp": types.TIMESTAMP,
        "Value": types.DYN,
        **{name: types.wrapper(of) for name, (of, _) in _WRAPPED.items()},
    }.items()
}
"""The types of what messages stand for."""


def build(message: str, fields: Mapping[str, Any]) -> Any:
    """The value that a message stands for. Raises EvalError for values that its fields do not take."""
    name = message.removeprefix(_PREFIX)
    values = {}
    for field, value in fields.items():
        of, go_type = _FIELDS[name][field]
        try:
            values[field] = _converted(value, of, go_type)
        except _Unsupported as problem:
            raise EvalError(f"unsupported field type for {message}.{field}: {problem}") from None
        except EvalError as problem:
            raise EvalError(f"field type conversion error for {message}.{field} value type: {problem}") from None
    if name in _WRAPPED:
        return values.get("value", _ZEROS[_WRAPPED[name][0].kind])
    return _MADE[name](values)


class _Unsupported(Exception):
    """The value is of a type that the field does not take."""


def _converted(value: Any, of: Type, go_type: str) -> Any:
    if isinstance(value, Optional) and go_type:
        value = value.value
    if of.kind is Kind.LIST or of.kind is Kind.MAP:
        if not isinstance(value, list if of.kind is Kind.LIST else dict):
            if not go_type:
                raise _Unsupported("null_type" if value is None else str(runtime_type(value)))
            raise unconvertible(value, go_type)
        return json_value(value)
    if _BY_CLASS.get(value.__class__) is not of:
        raise unconvertible(value, go_type)
    convert = _NARROWED.get(go_type)
    return convert(value) if convert is not None else value


def _int32(value: int) -> int:
    if not -(2**31) <= value < 2**31:
        raise EvalError("integer overflow")
    return value


def _uint32(value: int) -> Uint:
    if value >= 2**32:
        raise EvalError("unsigned integer overflow")
    return Uint(value)


def _null(value: int) -> None:
    _int32(value)


def _float32(value: float) -> float:
    try:
        found: float = struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
    return found


_NARROWED: dict[str, Callable[[Any], Any]] = {
    "int32": _int32,
    "uint32": _uint32,
    "float32": _float32,
    _ENUM: _null,
}


def _nanos(values: Mapping[str, Any]) -> int:
    return int(values.get("seconds", 0)) * NANOS + int(values.get("nanos", 0))


def _duration(values: Mapping[str, Any]) -> Duration:
    return Duration(max(MIN_INT, min(_nanos(values), MAX_INT)))


def _timestamp(values: Mapping[str, Any]) -> Timestamp:
    nanos = _nanos(values)
    if not MIN_TIMESTAMP <= nanos <= MAX_TIMESTAMP:
        raise EvalError("timestamp overflow")
    return Timestamp(nanos)


def _any(_: Mapping[str, Any]) -> Any:
    raise EvalError("unsupported conversion to ref.Val: (*dynamicpb.Message)")


_MADE: dict[str, Callable[[Mapping[str, Any]], Any]] = {
    "Any": _any,
    "Duration": _duration,
    "Empty": lambda _: EMPTY,
    "ListValue": lambda values: values.get("values", []),
    "Struct": lambda values: values.get("fields", {}),
    "Timestamp": _timestamp,
    "Value": lambda values: next(reversed(list(values.values())), None),
}
