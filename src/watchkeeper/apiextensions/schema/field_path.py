"""Paths of fields as schemas and CRDs write them: `.spec.box`, `.labels['owner']`."""

from __future__ import annotations

import re

from watchkeeper.apiextensions.schema.structural import Structural

_TOKEN = re.compile(r"'(?:[^'\\]|\\.)*'|[.\[\]]|[^.\[\]]+", re.DOTALL)
_ESCAPE = re.compile(r"\\.", re.DOTALL)
_ESCAPES = {
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
    "'": "'",
    "\\": "\\",
}


class FieldPathError(ValueError):
    """A path that leads nowhere, or is none."""


def valid_field_path(text: str, node: Structural, *, allow_brackets: bool = True) -> tuple[str, Structural]:
    """The path as errors show it, and the schema of the field. Raises FieldPathError."""
    tokens = _TOKEN.findall(text)
    path = ""
    at = 0

    def take() -> str:
        nonlocal at
        if at >= len(tokens):
            raise FieldPathError("unexpected end of JSON path")
        at += 1
        found: str = tokens[at - 1]
        return found

    while at < len(tokens):
        token = take()
        if token == "[":
            if not allow_brackets:
                raise FieldPathError("array notation is not allowed")
            quoted = take()
            if len(quoted) < 2 or quoted[0] != "'" or quoted[-1] != "'":
                raise FieldPathError(f"expected single quoted string but got {quoted}")
            path, node = _step(path, node, _unescape(quoted[1:-1]))
            closing = take()
            if closing != "]":
                raise FieldPathError(f"expected ] but got {closing}")
        elif token == ".":
            path, node = _step(path, node, take())
        else:
            raise FieldPathError(f"expected [ or . but got: {token}")
    return path, node


def _step(path: str, node: Structural, name: str) -> tuple[str, Structural]:
    if node.properties:
        child = node.properties.get(name)
        if child is None:
            raise FieldPathError("does not refer to a valid field")
        return (f"{path}.{name}" if path else name), child
    if node.additional is not None:
        return f"{path}[{name}]", node.additional
    raise FieldPathError("does not refer to a valid field")


def _unescape(text: str) -> str:
    def replace(found: re.Match[str]) -> str:
        ch = found.group()[1]
        if ch not in _ESCAPES:
            raise FieldPathError(f"invalid string literal: invalid escape char {found.group()}")
        return _ESCAPES[ch]

    return _ESCAPE.sub(replace, text)
