"""Compiles the defaults of a schema into a function that fills them in."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from watchkeeper.apiextensions.schema.structural import Structural

Fill = Callable[[Any], None]


def compile_defaulter(node: Structural | None) -> Fill | None:
    """A function that fills in the defaults of a node and all below, in place; None when there are none."""
    if node is None:
        return None
    fields = [(name, child.default, child.nullable) for name, child in node.properties.items() if child.has_default]
    inner = {name: fill for name, child in node.properties.items() if (fill := compile_defaulter(child)) is not None}
    rest = node.additional
    rest_fill = compile_defaulter(rest)
    nulls = rest is not None and rest.has_default and not rest.nullable
    if fields or inner or rest_fill is not None or nulls:
        return _object_filler(fields, inner, node, rest_fill)
    return _list_filler(node)


def _object_filler(
    fields: list[tuple[str, Any, bool]], inner: dict[str, Fill], node: Structural, rest_fill: Fill | None
) -> Fill:
    makers = [(name, _maker(default), nullable) for name, default, nullable in fields]
    rest, known = node.additional, node.properties
    items = _list_filler(node)

    def fill(value: Any) -> None:
        if value.__class__ is not dict:
            if items is not None:
                items(value)
            return
        for name, make, nullable in makers:
            if name not in value or (value[name] is None and not nullable):
                value[name] = make()
        for name, fill_inner in inner.items():
            if name in value:
                fill_inner(value[name])
        if rest is not None:
            for key in value:
                if key in known:
                    continue
                if value[key] is None and not rest.nullable:
                    value[key] = copy.deepcopy(rest.default)
                if rest_fill is not None:
                    rest_fill(value[key])

    return fill


def _list_filler(node: Structural) -> Fill | None:
    item = node.items
    if item is None:
        return None
    item_fill = compile_defaulter(item)
    replaces_null = item.has_default and not item.nullable
    if item_fill is None and not replaces_null:
        return None

    def fill(value: Any) -> None:
        if value.__class__ is not list:
            return
        if replaces_null:
            value[:] = [copy.deepcopy(item.default) if v is None else v for v in value]
        if item_fill is not None:
            for each in value:
                item_fill(each)

    return fill


def _maker(default: Any) -> Callable[[], Any]:
    if isinstance(default, dict | list):
        return lambda: copy.deepcopy(default)
    return lambda: default
