"""When two values of built-in types are the same, however they are written.

Most rules about changes ask that: quantities are the same when they amount to the same (`1Gi` and `1073741824`), and an
empty list or map is the same as none.
"""

from __future__ import annotations

import functools
from typing import Any

from watchkeeper.apis.quantities import NotAQuantity, compare
from watchkeeper.apis.schema_data import schema_data
from watchkeeper.meta.gvk import GroupVersionKind
from watchkeeper.runtime.schema import Schema, SchemaType
from watchkeeper.runtime.with_empties import equal_as_stored

_COLLECTIONS = frozenset({SchemaType.LIST, SchemaType.MAP})


def same(one: Any, other: Any, definition: str) -> bool:
    """Whether two decoded values of a type are the same; `definition` names the type, as in `core.v1.PodSpec`."""
    return bool(one == other) or _same(_schema_of(definition), one, other)


def same_spec(one: Any, other: Any, kind: GroupVersionKind) -> bool:
    """The same of the specs of two objects of a kind; of a kind that is not built in, they are as they are stored."""
    if one == other:
        return True
    schema = schema_data().kinds.get(kind)
    field = schema.fields.get("spec") if schema is not None else None
    return _same(field.schema, one, other) if field is not None else equal_as_stored(one, other)


@functools.cache
def _schema_of(definition: str) -> Schema:
    return schema_data().definitions[f"io.k8s.api.{definition}"]


def _same(schema: Schema, one: Any, other: Any) -> bool:
    if one == other:
        return True
    kind = schema.type
    if kind in _COLLECTIONS and not one and not other:
        return True
    if one is None or other is None:
        return False
    if kind is SchemaType.STRUCT:
        return _same_structs(schema, one, other)
    element = schema.element
    if kind is SchemaType.LIST and element is not None:
        return len(one) == len(other) and all(_same(element, a, b) for a, b in zip(one, other, strict=True))
    if kind is SchemaType.MAP and element is not None:
        return one.keys() == other.keys() and all(_same(element, one[key], other[key]) for key in one)
    return schema.format == "quantity" and _same_amount(one, other)


def _same_structs(schema: Schema, one: Any, other: Any) -> bool:
    for name in one.keys() | other.keys():
        field = schema.fields.get(name)
        ours, theirs = one.get(name), other.get(name)
        if ours != theirs and (field is None or not _same(field.schema, ours, theirs)):
            return False
    return True


def _same_amount(one: str, other: str) -> bool:
    try:
        return compare(one, other) == 0
    except NotAQuantity:
        return False
