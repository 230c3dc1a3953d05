"""Path elements: one step from an object to a field, an item of a keyed list or a value of a set.

An element is a text in the form that fieldsV1 uses: `f:name`, `k:{"name":"main"}`, `v:"value"`, `i:3`. Equal elements
are equal texts, because there is one canonical text for each: keys sorted by name, no spaces, escapes as the reference
writes them.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Callable
from typing import Any

import orjson

from watchkeeper.meta.field import go_float, go_quote

Path = tuple[str, ...]
"""Elements from the root of an object down."""

_HTML = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"})


class PathError(ValueError):
    """A text that is no path element."""


def key_element(keys: dict[str, Any]) -> str:
    """The element of an item of a keyed list, by its key fields."""
    return "k:" + _go_json({name: keys[name] for name in sorted(keys)})


def value_element(value: Any) -> str:
    """The element of an item of a set."""
    return "v:" + _go_json(value)


@functools.lru_cache(maxsize=4096)
def canonical(text: str) -> str | None:
    """The canonical form of an element that somebody wrote; None for kinds of elements that nobody knows (yet).

    Raises PathError.
    """
    if len(text) < 2:
        raise PathError("key must be 2 characters long:")
    if text[1] != ":":
        raise PathError(f"missing colon: {text}")
    kind, content = text[0], text[2:]
    if kind == "f":
        return text
    if kind == "v":
        return value_element(_parse(content))
    if kind == "k":
        keys = _parse(content)
        if not isinstance(keys, dict):
            raise PathError(f"expect {{ or n, but found {content[:1]}")
        return key_element(keys)
    if kind == "i":
        return f"i:{_index(content)}"
    return None


def _parse(content: str) -> Any:
    try:
        return orjson.loads(content)
    except ValueError as error:
        raise PathError(str(error)) from error


def _index(content: str) -> int:
    digits = content[1:] if content[:1] in ("-", "+") else content
    if not (digits.isascii() and digits.isdigit()):
        raise PathError(f"strconv.Atoi: parsing {go_quote(content)}: invalid syntax")
    return int(content)


@functools.lru_cache(maxsize=16384)
def sort_key(element: str) -> tuple[Any, ...]:
    """What elements are ordered by: fields, keys, values, indices, each by content; `.` goes before all."""
    kind, content = element[:1], element[2:]
    if kind == "f":
        return (1, content)
    if kind == "k":
        return (2, tuple((name, *_rank(value)) for name, value in orjson.loads(content).items()))
    if kind == "v":
        return (3, _rank(orjson.loads(content)))
    if kind == "i":
        return (4, int(content))
    return (0,)


def _rank(value: Any) -> tuple[Any, ...]:
    """Values in order, also of different types."""
    if isinstance(value, bool):
        return (2, value)
    if isinstance(value, (int, float)):
        return (0, value)
    if isinstance(value, str):
        return (1, value)
    if isinstance(value, list):
        return (3, tuple(_rank(v) for v in value))
    if isinstance(value, dict):
        return (4, tuple((k, _rank(value[k])) for k in sorted(value)))
    return (5,)


def element_text(element: str) -> str:
    """An element for people, as errors show it: `.name`, `[name="main"]`, `[="value"]`, `[3]`."""
    return _text(element, str)


def path_text(path: Path) -> str:
    """A path for people, as conflicts show it: as it was recorded, so that all numbers are floats."""
    return "".join(_text(element, _as_recorded) for element in path)


def _text(element: str, number: Callable[[float], str]) -> str:
    kind, content = element[0], element[2:]
    if kind == "f":
        return f".{content}"
    if kind == "k":
        return f"[{','.join(f'{k}={value_text(v, number)}' for k, v in orjson.loads(content).items())}]"
    if kind == "v":
        return f"[={value_text(orjson.loads(content), number)}]"
    return f"[{content}]"


def value_text(value: Any, number: Callable[[float], str]) -> str:
    """A value as element texts show it, with its numbers as `number` writes them."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return go_quote(value)
    if isinstance(value, list):
        return f"[{','.join(value_text(v, number) for v in value)}]"
    if isinstance(value, dict):
        return "".join(f"{k}={value_text(v, number)}" for k, v in value.items())
    return go_float(value) if isinstance(value, float) else number(value)


def _as_recorded(value: float) -> str:
    """A number as it is shown once a record of owners has been read: every number in one is a float."""
    return go_float(float(value))


def _go_json(value: Any) -> str:
    """JSON as the reference writes it within elements: compact, safe in HTML, whole floats without a fraction."""
    if type(value) is str and value.isascii() and value.isprintable():
        text: str = orjson.dumps(value).decode()
    else:
        text = json.dumps(_whole(value), ensure_ascii=False, separators=(",", ":"))
        text = text.replace("\\b", "\\u0008").replace("\\f", "\\u000c") if "\\" in text else text
    return text.translate(_HTML)


def _whole(value: Any) -> Any:
    if isinstance(value, float) and math.isfinite(value) and value.is_integer() and abs(value) < 1e21:
        return int(value)
    if isinstance(value, dict):
        return {k: _whole(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_whole(v) for v in value]
    return value
