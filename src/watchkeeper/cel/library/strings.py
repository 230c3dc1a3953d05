"""Texts: the strings extension of CEL, version 2."""

from __future__ import annotations

import re
from typing import Any

from watchkeeper.cel.decls import Overload, overload
from watchkeeper.cel.library.formatting import format_text
from watchkeeper.cel.values import EvalError, NoSuchOverload

_SPACE = " \t\n\v\f\r\x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
_QUOTED = {
    "\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v", "\\": "\\\\", '"': '\\"'
}  # fmt: skip
_UPPER, _LOWER = re.compile("[A-Z]+"), re.compile("[a-z]+")


def declarations() -> list[tuple[str, Overload]]:
    """All overloads of the library."""
    return [
        overload("string_char_at_int", "string.charAt(int) -> string", _char_at),
        overload("string_index_of_string", "string.indexOf(string) -> int", _index_of),
        overload("string_index_of_string_int", "string.indexOf(string, int) -> int", _index_of),
        overload("string_last_index_of_string", "string.lastIndexOf(string) -> int", _last_index_of),
        overload("string_last_index_of_string_int", "string.lastIndexOf(string, int) -> int", _last_index_of),
        overload("string_lower_ascii", "string.lowerAscii() -> string", _lower),
        overload("string_upper_ascii", "string.upperAscii() -> string", _upper),
        overload("string_replace_string_string", "string.replace(string, string) -> string", _replace),
        overload("string_replace_string_string_int", "string.replace(string, string, int) -> string", _replace),
        overload("string_split_string", "string.split(string) -> list(string)", _split),
        overload("string_split_string_int", "string.split(string, int) -> list(string)", _split),
        overload("string_substring_int", "string.substring(int) -> string", _substring),
        overload("string_substring_int_int", "string.substring(int, int) -> string", _substring),
        overload("string_trim", "string.trim() -> string", lambda text: _str(text).strip(_SPACE)),
        overload("string_format", "string.format(list(dyn)) -> string", format_text),
        overload("strings_quote", "::strings.quote(string) -> string", _quote),
        overload("list_join", "list(string).join() -> string", _join),
        overload("list_join_string", "list(string).join(string) -> string", _join),
    ]


def _str(value: Any) -> str:
    if not isinstance(value, str):
        raise NoSuchOverload
    return value


def _out_of_range(at: int) -> EvalError:
    return EvalError(f"index out of range: {at}")


def _char_at(text: str, at: int) -> str:
    if not 0 <= at <= len(_str(text)):
        raise _out_of_range(at)
    return text[at : at + 1]


def _index_of(text: str, part: str, start: int = 0) -> int:
    if part == "":
        return start
    if start < 0:
        raise _out_of_range(start)
    return _str(text).find(part, start)


def _last_index_of(text: str, part: str, start: int | None = None) -> int:
    if part == "":
        return len(text) if start is None else start
    if start is None:
        return text.rfind(part)
    if start < 0:
        raise _out_of_range(start)
    if start >= len(text):
        return -1
    return text.rfind(part, 0, start + len(part))


def _lower(text: str) -> str:
    return _UPPER.sub(lambda m: m.group().lower(), _str(text))


def _upper(text: str) -> str:
    return _LOWER.sub(lambda m: m.group().upper(), _str(text))


def _replace(text: str, old: str, new: str, limit: int = -1) -> str:
    return _str(text).replace(old, new, limit)


def _split(text: str, separator: str, limit: int = -1) -> list[str]:
    if limit == 0:
        return []
    if separator == "":
        parts = list(_str(text))
        if 0 < limit < len(parts):
            parts = [*parts[: limit - 1], "".join(parts[limit - 1 :])]
        return parts
    return _str(text).split(separator, limit - 1 if limit > 0 else -1)


def _substring(text: str, start: int, end: int | None = None) -> str:
    size = len(_str(text))
    if end is not None and start > end:
        raise EvalError(f"invalid substring range. start: {start}, end: {end}")
    if not 0 <= start <= size:
        raise _out_of_range(start)
    if end is not None and not 0 <= end <= size:
        raise _out_of_range(end)
    return text[start:end]


def _join(texts: list[Any], separator: str = "") -> str:
    for text in texts:
        if not isinstance(text, str):
            raise EvalError(f"join: invalid input: {text}")
    return separator.join(texts)


def _quote(text: str) -> str:
    return '"' + "".join(_QUOTED.get(ch, ch) for ch in _str(text)) + '"'
