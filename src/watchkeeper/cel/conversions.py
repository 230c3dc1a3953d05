"""Conversions between types, with the errors of cel-go."""

from __future__ import annotations

import math
import re
from typing import Any

from watchkeeper.cel.times import (
    check_timestamp,
    format_timestamp,
    parse_duration,
    parse_timestamp,
)
from watchkeeper.cel.values import (
    MAX_INT,
    MAX_UINT,
    MIN_INT,
    NANOS,
    Duration,
    EvalError,
    NoSuchOverload,
    Timestamp,
    TypeValue,
    Uint,
    format_seconds,
    runtime_type,
)
from watchkeeper.meta.field import go_float

_WHOLE = re.compile(r"[+-]?[0-9]+", re.ASCII)
_DIGITS, _HEX_DIGITS = r"[0-9](?:_?[0-9])*", r"[0-9a-f](?:_?[0-9a-f])*"
_FLOAT = re.compile(
    rf"[+-]?(?:(?:{_DIGITS}\.?(?:{_DIGITS})?|\.{_DIGITS})(?:e[+-]?{_DIGITS})?|inf|infinity)|nan", re.ASCII | re.I
)
_HEX_FLOAT = re.compile(
    rf"[+-]?0x_?(?:{_HEX_DIGITS}\.?(?:{_HEX_DIGITS})?|\.{_HEX_DIGITS})p[+-]?{_DIGITS}", re.ASCII | re.I
)
_TRUE, _FALSE = frozenset(("1", "t", "true", "TRUE", "True")), frozenset(("0", "f", "false", "FALSE", "False"))


def to_int(value: Any) -> int:
    """`int(x)`."""
    match value:
        case bool():
            raise NoSuchOverload
        case Timestamp():
            return int(value) // NANOS
        case Duration():
            return int(value)
        case int():
            if value > MAX_INT:
                raise EvalError("integer overflow")
            return int(value)
        case float():
            if math.isnan(value) or not float(MIN_INT) < value < float(MAX_INT):
                raise EvalError("integer overflow")
            return int(value)
        case str():
            return _parse_int(value)
    raise NoSuchOverload


def _parse_int(text: str) -> int:
    if not _WHOLE.fullmatch(text) or not MIN_INT <= int(text) <= MAX_INT:
        raise _from_text("int")
    return int(text)


def _from_text(wanted: str) -> EvalError:
    return EvalError(f"type conversion error from 'string' to '{wanted}'")


def to_uint(value: Any) -> Uint:
    """`uint(x)`."""
    match value:
        case bool() | Timestamp() | Duration():
            raise NoSuchOverload
        case int():
            if value < 0:
                raise EvalError("unsigned integer overflow")
            return Uint(value)
        case float():
            if math.isnan(value) or not 0 <= value < float(2**64):
                raise EvalError("unsigned integer overflow")
            return Uint(value)
        case str():
            if not value.isdigit() or not value.isascii() or int(value) > MAX_UINT:
                raise _from_text("uint")
            return Uint(value)
    raise NoSuchOverload


def to_double(value: Any) -> float:
    """`double(x)`."""
    match value:
        case bool() | Timestamp() | Duration():
            raise NoSuchOverload
        case int() | float():
            return float(value)
        case str():
            return _parse_double(value)
    raise NoSuchOverload


def _parse_double(text: str) -> float:
    digits = text.replace("_", "")
    try:
        if _HEX_FLOAT.fullmatch(text):
            return float.fromhex(digits)
        if _FLOAT.fullmatch(text) and not (math.isinf(float(digits)) and "i" not in text.lower()):
            return float(digits)
    except OverflowError:
        pass
    raise _from_text("double")


def to_bool(value: Any) -> bool:
    """`bool(x)`."""
    if isinstance(value, bool):
        return value
    if not isinstance(value, str):
        raise NoSuchOverload
    if value in _TRUE or value in _FALSE:
        return value in _TRUE
    raise _from_text("bool")


def to_bytes(value: Any) -> bytes:
    """`bytes(x)`."""
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, bytes):
        return value
    raise NoSuchOverload


def to_string(value: Any) -> str:
    """`string(x)`."""
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case Timestamp():
            return format_timestamp(value)
        case Duration():
            return format_seconds(value)
        case Uint() | int():
            return str(int(value))
        case float():
            return format_double(value)
        case bytes():
            try:
                return value.decode()
            except UnicodeDecodeError:
                raise EvalError("invalid UTF-8 in bytes, cannot convert to string") from None
    raise NoSuchOverload


def format_double(value: float) -> str:
    """The shortest text that reads back as the same number, as Go's 'g' format prints it."""
    return go_float(value)


def to_timestamp(value: Any) -> Timestamp:
    """`timestamp(x)`."""
    match value:
        case Timestamp():
            return value
        case bool() | Uint() | Duration():
            raise NoSuchOverload
        case int():
            return check_timestamp(value * NANOS)
        case str():
            try:
                return parse_timestamp(value)
            except ValueError as problem:
                if "overflow" in str(problem):
                    raise EvalError(str(problem)) from None
                raise _from_text("google.protobuf.Timestamp") from None
    raise NoSuchOverload


def to_duration(value: Any) -> Duration:
    """`duration(x)`."""
    match value:
        case Duration():
            return value
        case bool() | Uint() | Timestamp():
            raise NoSuchOverload
        case int():  # there is such an overload, and nothing that it could do
            raise EvalError("type conversion error from 'int' to 'google.protobuf.Duration'")
        case str():
            try:
                return parse_duration(value)
            except ValueError:
                raise _from_text("google.protobuf.Duration") from None
    raise NoSuchOverload


def to_type(value: Any) -> TypeValue:
    """`type(x)`."""
    return TypeValue(runtime_type(value))
