"""Numbers as Go's validators treat them."""

from __future__ import annotations

import struct
from typing import Any

from watchkeeper.cel.conversions import format_double

MAX_JSON_INTEGER = 2**53 - 1
MAX_GO_INT = 2.0**63
_EPSILON = 1e-9
_RANGES = {"int32": (-(2**31), 2**31 - 1), "int64": (-(2**63), 2**63 - 1)}


class RangeError(ValueError):
    """A number that its format cannot hold; the text goes into a message."""


def is_json_integer(value: float) -> bool:
    """Whether a float stands for a whole number, give or take what rounding does."""
    if value.__class__ is int:
        return True
    if value != value or not -MAX_JSON_INTEGER <= value <= MAX_JSON_INTEGER:
        return False
    whole = float(int(value))
    difference = abs(value - whole)
    if value == whole:
        return True
    if value == 0 or whole == 0 or difference < 2.2250738585072014e-308:
        return difference < _EPSILON * 2.2250738585072014e-308
    return difference / (abs(value) + abs(whole)) < _EPSILON


def in_range(value: Any, kind: str, form: str) -> None:
    """Check that a type and format can hold a number. Raises RangeError."""
    if kind == "integer":
        low, high = _RANGES.get(form, _RANGES["int64"])
        whole = value.__class__ is int or value.is_integer()
        if not whole or not low <= int(value) <= high:
            raise RangeError(f"with format {form}" if form else "(default format)")
    elif form == "float":
        try:
            struct.pack("<f", float(value))  # only a size of its own makes it look
        except OverflowError:
            raise RangeError(f"with format {form}") from None


def format_number(value: Any) -> str:
    """A number as Go's %v prints it."""
    return str(value) if value.__class__ is int else format_double(float(value))


def character(value: int) -> str:
    """The text that Go makes of an integer: the character with that number."""
    return chr(value) if 0 <= value < 0xD800 or 0xDFFF < value <= 0x10FFFF else "\ufffd"
