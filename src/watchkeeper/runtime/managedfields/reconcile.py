"""Bringing recorded sets in line with a schema that has changed since: what is owned as a whole now loses its parts."""

from __future__ import annotations

from watchkeeper.runtime.managedfields.field_set import LEAF, SELF, FieldSet, has_children
from watchkeeper.runtime.managedfields.nodes import ListNode, MapNode, Node
from watchkeeper.runtime.schema import SchemaType

_TYPES_WITH_PARTS = frozenset({SchemaType.LIST, SchemaType.MAP, SchemaType.STRUCT, SchemaType.ANY})
"""Raw objects, which take any value, are owned as a whole, too."""


def reconcile(node: Node, fields: FieldSet) -> FieldSet:
    """The set as the schema would have it. Returns `fields` itself when nothing changes."""
    out = fields
    for element, below in fields.items():
        # Most are leaves.
        if not below or element == SELF or not has_children(below):
            continue
        child = _step(node, element)
        if child is None:
            continue
        inner = LEAF if _is_atomic(child) else reconcile(child, below)
        if inner is not below:
            if out is fields:
                out = dict(fields)
            out[element] = inner
    return out


def _step(node: Node, element: str) -> Node | None:
    if isinstance(node, MapNode) and element[0] == "f":
        return node.find(element[2:])
    return node.item if isinstance(node, ListNode) else None


def _is_atomic(node: Node) -> bool:
    schema = node.schema
    return node.leaf and schema is not None and schema.type in _TYPES_WITH_PARTS
