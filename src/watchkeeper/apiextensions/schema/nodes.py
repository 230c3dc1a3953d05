"""A structural schema as the nodes that field ownership and patches read."""

from __future__ import annotations

from watchkeeper.apiextensions.schema.embedded import OBJECT_META
from watchkeeper.apiextensions.schema.structural import Structural
from watchkeeper.apis.schema_data import schema_data
from watchkeeper.runtime.schema import Field, ListType, Schema, SchemaType

_SCALARS = {
    "string": SchemaType.STRING,
    "integer": SchemaType.INTEGER,
    "number": SchemaType.NUMBER,
    "boolean": SchemaType.BOOLEAN,
}


def to_schema(root: Structural | None, name: str) -> Schema:
    """The nodes of a resource of the kind `name`. Without a schema anything may be in it."""
    if root is None:
        root = Structural(source={}, type="object", preserve=True)
    found = _node(root.as_resource())
    found.name = found.go_type = name
    return found


def _node(node: Structural, *, kept: bool = False) -> Schema:
    """`kept`: whether unknown fields are kept by a node above, which owners hold for all nodes below it."""
    kept = kept or node.preserve
    if node.type == "array" or (not node.type and node.items is not None):
        return _list(node, kept)
    if node.type == "object" or node.properties or node.embedded:
        return _object(node, kept)
    if node.type in _SCALARS:
        return Schema(
            _SCALARS[node.type],
            format=node.get("format") or "",
            nullable=node.nullable,
            enum=tuple(node.get("enum") or ()),
        )
    return Schema(SchemaType.ANY, preserve_unknown_fields=kept, nullable=node.nullable)


def _list(node: Structural, kept: bool) -> Schema:
    element = _node(node.items, kept=kept) if node.items is not None else Schema(SchemaType.ANY)
    found = Schema(SchemaType.LIST, element=element, nullable=node.nullable)
    if node.list_type in ("set", "map"):
        found.list_type = ListType(node.list_type)
    if node.list_type == "map" and node.items is not None:
        found.list_map_keys = node.list_map_keys
        found.keyed_defaults = {
            key: child.default
            for key in node.list_map_keys
            if (child := node.items.properties.get(key)) is not None and child.has_default
        }
    return found


def _object(node: Structural, kept: bool) -> Schema:
    atomic = node.map_type == "atomic"
    element = None
    if node.has_additional:
        element = _node(node.additional, kept=kept) if node.additional is not None else Schema(SchemaType.ANY)
    if element is not None and not node.properties and not node.embedded:
        return Schema(SchemaType.MAP, element=element, atomic=atomic, nullable=node.nullable)
    required = frozenset(node.get("required") or ())
    found = Schema(
        SchemaType.STRUCT,
        element=element,
        atomic=atomic,
        nullable=node.nullable,
        preserve_unknown_fields=kept,
        embedded_resource=node.embedded,
    )
    for name, child in node.properties.items():
        default = child.default if child.has_default else ...
        found.fields[name] = Field(name, _node(child, kept=kept), required=name in required, default=default)
    if node.embedded:
        text = Schema(SchemaType.STRING)
        found.fields["apiVersion"] = Field("apiVersion", text)
        found.fields["kind"] = Field("kind", text)
        found.fields["metadata"] = Field("metadata", schema_data().definitions[OBJECT_META])
    return found
