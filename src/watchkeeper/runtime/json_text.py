"""Reading JSON: fast where it is well-formed, in the reference's words where it is not."""

from __future__ import annotations

import json
from typing import Any, Final

import orjson

from watchkeeper.runtime.json_syntax import syntax_error

MAX_DEPTH: Final = 1024
"""How deep arrays and objects may be nested; the reference stops at 10,000. Both are far beyond any real object."""


class JsonError(ValueError):
    """A text that is no JSON, or more than is read."""


def read_json(data: bytes) -> Any:
    """Parse JSON. Whole numbers beyond 64 bits become floats. Raises JsonError."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError as error:
        fault = syntax_error(data)
        if fault is None and "depth limit" in str(error):
            fault = "exceeded max depth"
        if fault is not None:
            raise JsonError(fault) from None
    return _lenient(data)


def _lenient(data: bytes) -> Any:
    """Parse what is well-formed but holds half of a surrogate pair, broken UTF-8, or a number beyond all floats."""

    def number(text: str) -> float:
        found = float(text)
        if found in (float("inf"), float("-inf")):
            raise JsonError(f"json: cannot unmarshal number {text} into Go value of type float64")
        return found

    def whole(text: str) -> int | float:
        found = int(text) if len(text) <= 20 else number(text)
        return found if -(2**63) <= found < 2**64 else float(found)

    return _mended(json.loads(data.decode(errors="replace"), parse_float=number, parse_int=whole))


def _mended(value: Any) -> Any:
    """With U+FFFD for every half of a surrogate pair."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_mended(item) for item in value]
    if isinstance(value, dict):
        return {_mended(key): _mended(item) for key, item in value.items()}
    return value
