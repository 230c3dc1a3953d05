"""Reading JSON: fast where it is well-formed, in the reference's words where it is not."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

import orjson

from watchkeeper.runtime.json_syntax import syntax_error
from watchkeeper.runtime.utf8 import text_of

MAX_DEPTH: Final = 200
"""How deep arrays and objects may be nested; the reference stops at 10,000. Both are far beyond any real object.

What wraps an object (lists, events, the record of its owners) must still fit into the writer's own limit.
"""

_WRITER_DEPTH: Final = 254
"""What orjson still writes."""
_TOO_DEEP: Final = "exceeded max depth"


class JsonError(ValueError):
    """A text that is no JSON, or more than is read."""


class HugeNumber(JsonError):
    """A number that is beyond all floats."""


class WrittenNumber(float):
    """A number with its text, of which the value may be but an approximation, if not infinite.

    Only for those who decode, and for `write_as_written`.
    """

    __slots__ = ("text",)

    def __new__(cls, text: str) -> WrittenNumber:
        """A number as JSON spells it."""
        found = super().__new__(cls, text)
        found.text = text
        return found

    text: str


def read_json(data: bytes) -> Any:
    """Parse JSON. Whole numbers beyond 64 bits become floats. Raises JsonError."""
    try:
        parsed = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        fault = syntax_error(data)
        if fault is None and "depth limit" in str(error):
            fault = _TOO_DEEP
        if fault is not None:
            raise JsonError(fault) from None
        parsed = read_leniently(data)
    if data.count(b"[") + data.count(b"{") > MAX_DEPTH:
        check_depth(parsed)
    return parsed


def check_depth(value: Any) -> None:
    """Raise JsonError for a JSON value that is nested too deep."""
    for _ in range(_WRITER_DEPTH - MAX_DEPTH):
        value = [value]
    try:
        orjson.dumps(value)
    except orjson.JSONEncodeError:
        raise JsonError(_TOO_DEEP) from None


def read_leniently(data: bytes, object_pairs_hook: Callable[[list[tuple[str, Any]]], Any] | None = None) -> Any:
    """Parse what is well-formed but holds half of a surrogate pair, broken UTF-8, or a number beyond all floats.

    An object is what `object_pairs_hook` makes of its fields. Raises JsonError.
    """

    def number(text: str) -> float:
        found = float(text)
        if found in (float("inf"), float("-inf")):
            raise HugeNumber(f"json: cannot unmarshal number {text} into Go value of type float64")
        return found

    def whole(text: str) -> int | float:
        found = int(text) if len(text) <= 20 else number(text)
        return found if -(2**63) <= found < 2**64 else float(found)

    text = text_of(data)
    try:
        return _mended(json.loads(text, parse_float=number, parse_int=whole, object_pairs_hook=object_pairs_hook))
    except RecursionError:
        raise JsonError(_TOO_DEEP) from None


def read_text(text: str) -> Any:
    """Parse JSON that an object holds as a text, with numbers as in `read_as_written`. Raises JsonError."""
    data = text.encode()
    fault = syntax_error(data)
    if fault is not None:
        raise JsonError(fault)
    return read_as_written(data)


def read_as_written(data: bytes) -> Any:
    """Parse well-formed JSON, with a `WrittenNumber` for each number that is not an integer of 64 bits.

    Raises JsonError for what is nested too deep.
    """

    def whole(text: str) -> int | float:
        found = int(text) if len(text) <= 20 else 2**64
        return found if -(2**63) <= found < 2**64 else WrittenNumber(text)

    text = text_of(data)
    try:
        if data.count(b"[") + data.count(b"{") > MAX_DEPTH:
            check_depth(json.loads(text, parse_float=lambda _: 0, parse_int=lambda _: 0))
        return _mended(json.loads(text, parse_float=WrittenNumber, parse_int=whole))
    except RecursionError:
        raise JsonError(_TOO_DEEP) from None


def write_as_written(value: Any) -> bytes:
    """JSON in which each `WrittenNumber` is as it was read."""
    return orjson.dumps(value, default=_text_of)


def _text_of(number: WrittenNumber) -> orjson.Fragment:
    return orjson.Fragment(number.text)


_LARGE = re.compile(rb'"(?:[^"\\]|\\.)*"|-?[0-9.]+e\+(?:1[6-9]|20)(?![0-9])')
_EXPONENT = re.compile(rb"e\+(?:1[6-9]|20)[,}\]]")


def with_digits(data: bytes) -> bytes:
    """JSON as orjson writes it, with whole floats as Go writes them: as integers where they are below 1e21.

    Nearly all that is written has none, which is found out first.
    """
    if b".0," in data or b".0}" in data or b".0]" in data:
        data = orjson.dumps(_integers(orjson.loads(data)))
    return _LARGE.sub(_digits, data) if b"e+" in data and _EXPONENT.search(data) else data


def _integers(value: Any) -> Any:
    """A value with integers for the whole floats that orjson would not write with an exponent."""
    kind = value.__class__
    if kind is dict:
        for key, item in value.items():
            if item.__class__ is not str:
                value[key] = _integers(item)
    elif kind is list:
        value[:] = [_integers(item) for item in value]
    elif kind is float and value.is_integer() and abs(value) < 1e16:
        return int(value)
    return value


def _digits(found: re.Match[bytes]) -> bytes:
    text = found[0]
    return text if text.startswith(b'"') else b"%d" % int(Decimal(text.decode()))


def number_as_written(data: bytes, shown: str) -> str:
    """How a well-formed JSON text spells a number that was refused: `shown` is its value, and what is returned without.

    Of several of that value it is the first with a fraction or an exponent, which is why one is refused most often.
    """
    found: dict[bool, str] = {}
    value = float(shown)

    def look(text: str) -> int:
        if float(text) == value:
            found.setdefault(text.lstrip("-").isdigit(), text)
        return 0

    json.loads(text_of(data), parse_float=look, parse_int=look)
    return found.get(False) or found.get(True) or shown


def _mended(value: Any) -> Any:
    """With U+FFFD for every half of a surrogate pair."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, (list, tuple)):
        return type(value)(_mended(item) for item in value)
    if isinstance(value, dict):
        return {_mended(key): _mended(item) for key, item in value.items()}
    return value
