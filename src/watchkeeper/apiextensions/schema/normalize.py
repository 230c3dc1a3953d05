"""Compiles a schema into one function that makes a parsed object what storage and clients are to see.

In one walk over the object, not over the schema: fields that the schema does not name go (their paths can be noted),
nulls that are neither allowed nor about to be replaced by a default go, and integers beyond 64 bits become floats.
Objects are changed in place; one that is clean already is only looked at. Whole floats stay floats until the object is
written: policies, rules and the counting of generations tell 2.0 from 2.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from watchkeeper.apiextensions.schema.structural import Structural
from watchkeeper.runtime.scheme import DecodeError

MAX_INT, MIN_INT = 2**63 - 1, -(2**63)

Unknown = list[str] | None
Walk = Callable[[Any, Unknown, str], Any]
"""(value, paths of dropped fields or None, path) -> the value or what it becomes."""

_META_FIELDS = frozenset({"apiVersion", "kind", "metadata"})


def compile_normalizer(root: Structural | None, *, is_root: bool = True, keeps_nulls: bool = False) -> Walk:
    """The function for a schema; the root is a resource, whose kind, apiVersion and metadata are left alone.

    With `keeps_nulls`, fields that the schema names may be null whatever it says of that.
    Without a schema everything but those fields is dropped, as the reference does.
    """
    if root is None:
        root = Structural(source={}, type="object")
    if keeps_nulls:
        root = _with_nulls(root)
    return _object(root.as_resource() if is_root else root, top=is_root)


def _with_nulls(node: Structural) -> Structural:
    properties = {name: _with_nulls(child) for name, child in node.properties.items()}
    items, additional = (child and _with_nulls(child) for child in (node.items, node.additional))
    return replace(node, nullable=True, properties=properties, items=items, additional=additional)


def _action(node: Structural) -> Walk:
    """What to do with a value that is not null."""
    if node.preserve and not node.properties and node.items is None and not node.has_additional:
        return _any
    if node.properties or node.has_additional or node.embedded or node.type == "object":
        return _object(node)
    if node.items is not None or node.type == "array":
        return _array(node)
    if node.type in ("integer", "number") or node.int_or_string:
        return _number
    if node.preserve or not node.type:
        return _any
    return _scalar


def _number(value: Any, unknown: Unknown, path: str) -> Any:
    kind = value.__class__
    if kind is int:
        return value if MIN_INT <= value <= MAX_INT else float(value)
    if kind is float:
        return _float(value)
    return _foreign(value, unknown, path) if kind is dict or kind is list else value


def _float(value: float) -> Any:
    if value - value != 0:
        raise DecodeError("json: cannot unmarshal number into Go value of type float64")
    return value


def _scalar(value: Any, unknown: Unknown, path: str) -> Any:
    """A text or a bool; whatever else stands there is left for validation to refuse."""
    return value if value.__class__ is not dict and value.__class__ is not list else _foreign(value, unknown, path)


def _foreign(value: Any, unknown: Unknown, path: str) -> Any:
    """An object or list of which the schema says nothing: all its fields are unknown."""
    kind = value.__class__
    if kind is dict:
        for key in value:
            _note(unknown, path, key)
        value.clear()
    elif kind is list:
        for i, item in enumerate(value):
            value[i] = _foreign(item, unknown, f"{path}[{i}]")
    elif kind is int or kind is float:
        return _number(value, unknown, path)
    return value


def _any(value: Any, unknown: Unknown, path: str) -> Any:
    """Anything goes, but numbers are to be told apart as they are everywhere."""
    kind = value.__class__
    if kind is dict:
        for key, item in value.items():
            if item.__class__ is not str:
                new = _any(item, None, "")
                if new is not item:
                    value[key] = new
    elif kind is list:
        for i, item in enumerate(value):
            new = _any(item, None, "")
            if new is not item:
                value[i] = new
    elif kind is int or kind is float:
        return _number(value, None, "")
    return value


def _note(unknown: Unknown, path: str, key: str) -> None:
    if unknown is not None:
        unknown.append(f"{path}.{key}" if path else key)


def _drops_null(node: Structural) -> bool:
    return not node.nullable and not node.has_default


def _array(node: Structural) -> Walk:
    item_action = _item_action(node)
    plain = item_action is _scalar

    def walk(value: Any, unknown: Unknown, path: str) -> Any:
        if value.__class__ is not list:
            return _any(value, None, "") if node.preserve else _foreign(value, unknown, path)
        for i, item in enumerate(value):
            if item is None or (plain and item.__class__ is str):
                continue
            new = item_action(item, unknown, f"{path}[{i}]" if unknown is not None else "")
            if new is not item:
                value[i] = new
        return value

    return walk


def _item_action(node: Structural) -> Walk:
    if node.items is None:
        return _any if node.preserve else _foreign
    if not node.preserve or node.items.preserve:
        return _action(node.items)
    # Preserving is handed down to items, though not to what is in them.
    item = copy.copy(node.items)
    item.preserve = True
    return _action(item)


def _object(node: Structural, *, top: bool = False) -> Walk:
    """The walk over an object with listed fields, over a map, or over both at once."""
    actions: dict[str, Walk] = {}
    null_drops = {name: _drops_null(child) for name, child in node.properties.items()}
    metas = _META_FIELDS if node.embedded else frozenset[str]()
    for name, child in node.properties.items():
        if name not in metas:
            actions[name] = _action(child)
    for name in metas:
        actions[name] = _leave
        null_drops.setdefault(name, False)
    texts = frozenset(name for name, action in actions.items() if action is _scalar)
    rest: Walk | None = None
    rest_drops_null = False
    if node.additional is not None:
        rest = _action(node.additional)
        rest_drops_null = _drops_null(node.additional)
    elif node.has_additional:
        # Neither true nor false says anything of the values, so what is inside them is not specified.
        rest = _foreign
    elif node.preserve:
        rest = _any
    find = actions.get

    def walk(value: Any, unknown: Unknown, path: str) -> Any:
        if value.__class__ is not dict:
            return _any(value, None, "") if node.preserve else _foreign(value, unknown, path)
        dropped: list[str] | None = None
        for key, item in value.items():
            if item.__class__ is str and key in texts:
                continue
            action = find(key)
            if action is None:
                action = rest
                if action is None:
                    dropped = _drop(dropped, key)
                    if not (top and key in _META_FIELDS):
                        _note(unknown, path, key)
                    continue
                drops_null = rest_drops_null
            else:
                drops_null = item is None and null_drops[key]
            if item is None:
                if drops_null:
                    dropped = _drop(dropped, key)
                continue
            new = action(item, unknown, (f"{path}.{key}" if path else key) if unknown is not None else "")
            if new is not item:
                value[key] = new
        if dropped is not None:
            for key in dropped:
                del value[key]
        return value

    return walk


def _drop(dropped: list[str] | None, key: str) -> list[str]:
    if dropped is None:
        return [key]
    dropped.append(key)
    return dropped


def _leave(value: Any, unknown: Unknown, path: str) -> Any:
    return value
