"""Raw objects within objects (runtime.RawExtension), which the reference keeps and compares as they are written.

A ControllerRevision's data and the parameters of devices are such. Sent with blanks they stay so, and a patch, which
writes them anew without blanks, has changed them: what must not change is refused then, and what counts generations
counts one. Answers show no difference that a client could tell.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any

import orjson

from watchkeeper.runtime.schema import Schema, SchemaType

Object = dict[str, Any]
Path = tuple[str, ...]
"""Names of fields; `*` stands for all items of a list."""

_GO_TYPE = "runtime.RawExtension"
_BLANKS = " \t\n\r"
_IN_ONE_LINE = str.maketrans("\t\n\r", "   ")
_raw_decode = json.JSONDecoder().raw_decode


class RawJson(Object):
    """A raw object with its text. Nobody changes it in place; two are equal when their texts are."""

    __slots__ = ("text",)

    def __init__(self, value: Object, text: str) -> None:
        super().__init__(value)
        self.text = text

    def __eq__(self, other: object) -> bool:
        return self.text == other.text if isinstance(other, RawJson) else super().__eq__(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None

    def __deepcopy__(self, memo: object) -> RawJson:
        return self


_known: dict[Schema, tuple[Path, ...]] = {}


def raw_paths(schema: Schema) -> tuple[Path, ...]:
    """Where a type has raw objects: the empty path is the type itself. None of them is in what holds itself."""
    found = _known.get(schema)
    if found is None:
        _known[schema] = ()  # until it is known
        found = _known[schema] = tuple(_paths(schema))
    return found


def _paths(schema: Schema) -> Iterable[Path]:
    if schema.type is SchemaType.ANY and schema.go_type == _GO_TYPE:
        yield ()
    for name, field in schema.fields.items():
        yield from ((name, *path) for path in raw_paths(field.schema))
    if schema.type is SchemaType.LIST and schema.element is not None:
        yield from (("*", *path) for path in raw_paths(schema.element))


def sorted_text(value: Object) -> str:
    """How a value is written by who has taken it apart: without blanks, its keys sorted."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()


def plain_text(value: Object) -> str:
    """How a value is written by who has kept the order of its keys: without blanks."""
    return orjson.dumps(value).decode()


def patched_text(before: Any, paths: Iterable[Path]) -> Callable[[Object], str]:
    """How values are written by who has patched JSON: what the patch has left alone keeps the order of its keys."""
    kept: list[Object] = []
    for path in paths:
        _each(before, path, kept.append)
    return lambda value: plain_text(value) if any(dict(each) == value for each in kept) else sorted_text(value)


def mark(obj: Any, paths: Iterable[Path], text_of: Callable[[Object], str]) -> None:
    """Give the raw objects of an object, in place, the texts that `text_of` makes of their values."""
    for path in paths:
        _replace(obj, path, lambda value: RawJson(value, text_of(value)))


def unmark(obj: Any, paths: Iterable[Path]) -> None:
    """Make plain dicts of the raw objects of an object, in place: to be changed as any other."""
    for path in paths:
        _replace(obj, path, lambda value: dict(value) if value.__class__ is RawJson else value)


def with_texts(obj: Object, paths: Iterable[Path]) -> Object:
    """The object, to be encoded by orjson, with the texts of its raw objects in their places."""
    for path in paths:
        obj = _rewritten(obj, path)
    return obj


def mark_as_written(obj: Any, paths: Iterable[Path], text: str) -> None:
    """Give the raw objects of an object, in place, the texts that they have in the JSON it was read from.

    Where that has something else than the object, there is no text to be found, and they are as `sorted_text` writes;
    so are those with half a surrogate pair in their texts, which nobody could read when it is stored.
    """
    paths = tuple(paths)
    mark(obj, paths, sorted_text)
    _mark_below(obj, paths, text, _start(text, 0))


def _replace(node: Any, path: Path, made: Callable[[Any], Any]) -> None:
    for holder, name in _holders(node, path):
        holder[name] = made(holder[name])


def _each(node: Any, path: Path, seen: Callable[[Any], None]) -> None:
    for holder, name in _holders(node, path):
        seen(holder[name])


def _holders(node: Any, path: Path) -> list[tuple[Object, str]]:
    """What has raw objects in it, and under which names."""
    for i, name in enumerate(path[:-1]):
        if name == "*":
            items = node if isinstance(node, list) else ()
            return [found for item in items for found in _holders(item, path[i + 1 :])]
        node = node.get(name) if isinstance(node, dict) else None
    return [(node, path[-1])] if isinstance(node, dict) and isinstance(node.get(path[-1]), dict) else []


def _rewritten(node: Any, path: Path) -> Any:
    if not path:
        return orjson.Fragment(node.text) if node.__class__ is RawJson else node
    name, rest = path[0], path[1:]
    if name == "*":
        return [_rewritten(item, rest) for item in node] if isinstance(node, list) else node
    if not isinstance(node, dict) or name not in node:
        return node
    return {**node, name: _rewritten(node[name], rest)}


def _start(text: str, at: int) -> int:
    while text[at] in _BLANKS:
        at += 1
    return at


def _mark_below(node: Any, paths: tuple[Path, ...], text: str, at: int) -> int:
    """Mark what is below a value that begins at a place in the text. Returns where it ends."""
    if text[at] == "{" and isinstance(node, dict):
        return _mark_members(node, paths, text, at)
    if text[at] == "[" and isinstance(node, list):
        return _mark_items(node, paths, text, at)
    end: int = _raw_decode(text, at)[1]
    return end


def _mark_members(node: Object, paths: tuple[Path, ...], text: str, at: int) -> int:
    at = _start(text, at + 1)
    while text[at] != "}":
        name, at = scanstring(text, at + 1)
        at = _start(text, _start(text, at) + 1)
        below = tuple(path[1:] for path in paths if path[0] == name)
        value = node.get(name)
        if below == ((),):
            end = _raw_decode(text, at)[1]
            if value.__class__ is RawJson and _is_readable(written := text[at:end].translate(_IN_ONE_LINE)):
                value.text = written
        else:
            end = _mark_below(value if below else None, below, text, at)
        at = _start(text, end)
        if text[at] == ",":
            at = _start(text, at + 1)
    return at + 1


def _is_readable(text: str) -> bool:
    if "\\u" in text:
        try:
            orjson.loads(text)
        except orjson.JSONDecodeError:
            return False
    return True


def _mark_items(node: list[Any], paths: tuple[Path, ...], text: str, at: int) -> int:
    below = tuple(path[1:] for path in paths if path[0] == "*")
    items = iter(node)
    at = _start(text, at + 1)
    while text[at] != "]":
        at = _start(text, _mark_below(next(items, None) if below else None, below, text, at))
        if text[at] == ",":
            at = _start(text, at + 1)
    return at + 1
