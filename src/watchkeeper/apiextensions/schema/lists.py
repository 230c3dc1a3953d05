"""Lists that are sets or maps: no value, or no key, twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson

from watchkeeper.apiextensions.schema.structural import Structural
from watchkeeper.meta.field import FieldError, duplicate, in_key_order, invalid

Check = Callable[[Any, str], list[FieldError]]
"""(value, path) -> one error for the first repetition of each value."""


class _Unspecified:
    """Stands for a key that an item does not have."""


_UNSPECIFIED = _Unspecified()


def compile_list_check(node: Structural | None) -> Check | None:
    """A check of all sets and maps in a value; None when the schema has none."""
    if node is None:
        return None
    own = {"set": _set_errors, "map": _map_errors_of(node)}.get(node.list_type or "")
    items = compile_list_check(node.items)
    rest = compile_list_check(node.additional)
    fields = {n: inner for n, child in node.properties.items() if (inner := compile_list_check(child)) is not None}
    if own is None and items is None and rest is None and not fields:
        return None

    def check(value: Any, path: str) -> list[FieldError]:
        errors: list[FieldError] = []
        if value.__class__ is list:
            if own is not None:
                errors += own(value, path)
            if items is not None:
                for i, item in enumerate(value):
                    errors += items(item, f"{path}[{i}]")
        elif value.__class__ is dict:
            if rest is not None:
                for key, item in value.items():
                    errors += rest(item, f"{path}[{key}]")
            for name, inner in fields.items():
                if name in value:
                    errors += inner(value[name], f"{path}.{name}" if path else name)
        return errors

    return check


def _repeated(values: list[Any]) -> list[int]:
    """The place of the first repetition of each value."""
    if len(values) <= 1:
        return []
    seen: dict[Any, int] = {}
    places: list[int] = []
    for i, value in enumerate(values):
        kind = value.__class__
        key: Any = (kind, orjson.dumps(value, option=orjson.OPT_SORT_KEYS) if kind in (dict, list) else value)
        count = seen.get(key, 0)
        seen[key] = count + 1
        if count == 1:
            places.append(i)
    return places


def _set_errors(value: list[Any], path: str) -> list[FieldError]:
    if len(value) <= 1:
        return []
    return [duplicate(f"{path}[{i}]", in_key_order(value[i])) for i in _repeated(value)]


def _map_errors_of(node: Structural) -> Check:
    names = node.list_map_keys
    sorted_names = sorted(names)
    single = names[0] if len(names) == 1 else None

    def check(value: list[Any], path: str) -> list[FieldError]:
        for i, item in enumerate(value):
            if item is not None and item.__class__ is not dict:
                return [invalid(f"{path}[{i}]", in_key_order(item), "must be an object for an array of list-type map")]
        if len(value) <= 1:
            return []
        if single is not None:
            keys = [(item or {}).get(single, _UNSPECIFIED) for item in value]
            shown = [{} if key is _UNSPECIFIED else {single: key} for key in keys]
        else:
            keys = shown = [{n: item[n] for n in sorted_names if n in item} if item else {} for item in value]
        return [duplicate(f"{path}[{i}]", shown[i]) for i in _repeated(keys)]

    return check
