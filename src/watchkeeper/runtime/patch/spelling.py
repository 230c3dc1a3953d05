"""How the values of a JSON patch are spelled: the tests of the reference's library compare texts.

An object under test is written by Go's encoder, so "1.50" is not 1.5, and a text with `&` or an escaped `é` is not
found although the same characters are there.
"""

from __future__ import annotations

import re
from typing import Any

import orjson

from watchkeeper.meta.field import go_json
from watchkeeper.runtime.json_text import read_json, with_digits

_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"(\s*:)?|-?[0-9][0-9.eE+-]*')
_LARGE = 2.0**63
_UNEQUAL = '"\ufdd0"'.encode()
"""Stands for a value that equals nothing: a character that no text has."""


def as_spelled(body: bytes) -> Any:
    """The value of a JSON text that can be read, with what equals nothing for values that Go spells otherwise."""
    return read_json(_TOKEN.sub(_checked, body))


def _checked(found: re.Match[bytes]) -> bytes:
    token = found[0]
    if found[1] is not None:
        return token  # the name of a member is compared as what it means
    try:
        value = orjson.loads(token)
    except orjson.JSONDecodeError:
        return _UNEQUAL
    if isinstance(value, str):
        written = go_json(value).encode()
    elif isinstance(value, float) and value.is_integer() and abs(value) < _LARGE:
        return token  # no object has such a float, unless the patch has just put it there
    else:
        written = with_digits(orjson.dumps([value]))[1:-1]
    return token if token == written else _UNEQUAL
