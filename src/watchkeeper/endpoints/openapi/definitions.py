"""Definitions: built-in types as OpenAPI schemas, with the extensions that clients merge and validate by."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from typing import Any

from watchkeeper.apis.schema_data import schema_data
from watchkeeper.endpoints.openapi.dialect import Dialect
from watchkeeper.meta.gvk import GroupVersionKind
from watchkeeper.runtime.schema import Field, ListType, Omit, Schema, SchemaType

PATCH_NAME = "io.k8s.apimachinery.pkg.apis.meta.v1.Patch"
"""What the body of a PATCH is called. It has no fields of its own."""

_OBJECT = {"type": "object"}
_TIME = {"type": "string", "format": "date-time"}
_PLAIN: Mapping[str, dict[str, Any]] = {
    "date-time": _TIME,
    "micro-time": _TIME,
    "object": _OBJECT,
    "fields": _OBJECT,
    "quantity": {"type": "string"},
}
_INT_OR_STRING_V2 = {"type": "string", "format": "int-or-string"}
_INT_OR_STRING_V3 = {"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]}
_QUANTITY_V3 = {"oneOf": [{"type": "string"}, {"type": "number"}]}


def gvk_entry(gvk: GroupVersionKind) -> dict[str, str]:
    """A kind in `x-kubernetes-group-version-kind`."""
    return {"group": gvk.group, "kind": gvk.kind, "version": gvk.version}


@functools.cache
def _kinds_by_definition() -> dict[str, list[dict[str, str]]]:
    found: dict[str, list[dict[str, str]]] = {}
    for gvk, schema in schema_data().kinds.items():
        found.setdefault(schema.name, []).append(gvk_entry(gvk))
    for kinds in found.values():
        kinds.sort(key=lambda kind: (kind["group"], kind["version"], kind["kind"]))
    return found


def builtin_name(gvk: GroupVersionKind) -> str:
    """The name of a built-in kind's definition, "" for other kinds."""
    schema = schema_data().kinds.get(gvk)
    return schema.name if schema is not None else ""


def closure(names: Iterable[str]) -> list[str]:
    """The names of the definitions named and of all that they refer to, sorted; unknown ones are left out."""
    known = schema_data().definitions
    found: set[str] = set()
    left = list(names)
    while left:
        name = left.pop()
        if name in found or (name not in known and name != PATCH_NAME):
            continue
        found.add(name)
        if name in known:
            left += _referred(known[name])
    return sorted(found)


def definition(name: str, dialect: Dialect) -> dict[str, Any]:
    """A definition by its name. Raises KeyError for unknown ones."""
    return _OBJECT if name == PATCH_NAME else _definition(schema_data().definitions[name], dialect)


def _referred(schema: Schema) -> list[str]:
    if schema.type is not SchemaType.STRUCT:
        return []
    found = []
    for field in schema.fields.values():
        inner = field.schema
        while inner.element is not None and not inner.name:
            inner = inner.element
        if inner.name:
            found.append(inner.name)
    return found


def _definition(schema: Schema, dialect: Dialect) -> dict[str, Any]:
    if schema.type is not SchemaType.STRUCT:
        return _self_encoding(schema, dialect)
    found: dict[str, Any] = {"type": "object"}
    if schema.fields:
        found["properties"] = {name: _property(field, dialect) for name, field in schema.fields.items()}
        if _is_collection(schema):
            # Nobody merges collections: their Go types say nothing of how.
            del found["properties"]["items"]["x-kubernetes-list-type"]
    if required := sorted(name for name, field in schema.fields.items() if field.required):
        found["required"] = required
    if kinds := _kinds_by_definition().get(schema.name):
        found["x-kubernetes-group-version-kind"] = kinds
    if schema.atomic:
        found["x-kubernetes-map-type"] = "atomic"
    return found


def _is_collection(schema: Schema) -> bool:
    meta, items = schema.fields.get("metadata"), schema.fields.get("items")
    return meta is not None and items is not None and meta.schema.name.endswith(".ListMeta")


def _self_encoding(schema: Schema, dialect: Dialect) -> dict[str, Any]:
    if schema.type is SchemaType.INT_OR_STRING:
        return _INT_OR_STRING_V2 if dialect is Dialect.V2 else _INT_OR_STRING_V3
    if schema.format == "quantity" and dialect is Dialect.V3:
        return _QUANTITY_V3
    return _PLAIN.get(schema.format, {})


def _property(field: Field, dialect: Dialect) -> dict[str, Any]:
    schema = field.schema
    default = field.default
    if default is ... and not field.pointer:
        default = _implied_default(schema, field.omit)
    found = _use(schema, dialect, default)
    if field.patch_strategy:
        found["x-kubernetes-patch-strategy"] = ",".join(
            each for each in ("merge", "replace", "retainKeys") if each in field.patch_strategy
        )
    if field.patch_merge_key:
        found["x-kubernetes-patch-merge-key"] = field.patch_merge_key
    return found


def _implied_default(schema: Schema, omit: Omit) -> Any:
    """What an unset field that always shows holds."""
    if schema.type is SchemaType.STRUCT:
        return {}
    if omit is not Omit.NEVER or schema.name or schema.format == "byte":
        return ...
    zeros: dict[SchemaType, Any] = {
        SchemaType.STRING: "",
        SchemaType.INTEGER: 0,
        SchemaType.NUMBER: 0,
        SchemaType.BOOLEAN: False,
    }
    return zeros.get(schema.type, ...)


def _use(schema: Schema, dialect: Dialect, default: Any) -> dict[str, Any]:
    """A type where it is used: a reference for a named one, and spelled out otherwise."""
    if schema.name:
        found = dialect.ref(schema.name)
        if schema.atomic and not schema_data().definitions[schema.name].atomic:
            found = {**found, "x-kubernetes-map-type": "atomic"}
        if dialect is Dialect.V3 and default is not ...:
            reference = found.pop("$ref")
            found = {"allOf": [{"$ref": reference}], "default": default, **found}
        return found
    found = _spelled_out(schema, dialect)
    if dialect is Dialect.V3 and default is not ...:
        found["default"] = default
    return found


def _spelled_out(schema: Schema, dialect: Dialect) -> dict[str, Any]:
    kind = schema.type
    if kind is SchemaType.LIST:
        return _list(schema, dialect)
    if kind is SchemaType.MAP:
        assert schema.element is not None
        found: dict[str, Any] = {
            "type": "object",
            "additionalProperties": _use(schema.element, dialect, _item_default(schema.element)),
        }
        if schema.atomic:
            found["x-kubernetes-map-type"] = "atomic"
        return found
    if kind is SchemaType.ANY:
        return {"type": "object"}
    found = {"type": kind.value}
    if schema.format:
        found["format"] = schema.format
    if schema.enum:
        found["enum"] = list(schema.enum)
    return found


def _list(schema: Schema, dialect: Dialect) -> dict[str, Any]:
    assert schema.element is not None
    found: dict[str, Any] = {
        "type": "array",
        "items": _use(schema.element, dialect, _item_default(schema.element)),
    }
    found["x-kubernetes-list-type"] = schema.list_type.value
    if schema.list_type is ListType.MAP:
        found["x-kubernetes-list-map-keys"] = list(schema.list_map_keys)
    return found


def _item_default(schema: Schema) -> Any:
    return _implied_default(schema, Omit.NEVER)
