"""Sets of fields that depend on the schema: what a configuration names, and which named fields lead to members."""

from __future__ import annotations

from typing import Any

from watchkeeper.runtime.managedfields.field_set import (
    LEAF,
    SELF,
    FieldSet,
    has_children,
    is_member,
    ordered,
    with_self,
)
from watchkeeper.runtime.managedfields.nodes import DeducedNode, ListNode, MapNode, Mismatch, Node, grouped


def fields_of(node: MapNode, obj: Any) -> FieldSet:
    """The set that an applied object owns: every leaf, every key of a map and every item of a keyed list or set.

    Structs and lists with something in them are not members, other than in `Node.everything`. Raises Mismatch.
    """
    return _map(node, obj) or LEAF


def _value(node: Node, value: Any) -> FieldSet | None:
    """The node of a value; None when neither it nor anything in it is a member."""
    if node.leaf:
        return LEAF
    if isinstance(node, MapNode):
        return _map(node, value) if value is not None else None
    if isinstance(node, ListNode):
        return _list(node, value) if value else None
    return _deduced(node, value)


def _map(node: MapNode, value: dict[str, Any]) -> FieldSet | None:
    if not isinstance(value, dict):
        raise Mismatch(f"expected map, got {value}")
    if not value:
        return None
    _, nested, leaves = node.plan(tuple(value))
    if not nested:
        return leaves
    out = leaves.copy()
    for name, element, child in nested:
        member = value[name]
        found = _value(child, member)
        if name not in node.declared or member is None or member == {}:
            found = with_self(found)
        if found is not None:
            out[element] = found
        else:
            del out[element]
    return out or None


def _list(node: ListNode, value: list[Any]) -> FieldSet | None:
    if not isinstance(value, list):
        raise Mismatch(f"expected list, got {value}")
    out: FieldSet = {}
    for element, items in grouped(node.elements(value), value).items():
        out[element] = with_self(_value(node.item, items[0])) if len(items) == 1 else LEAF
    return ordered(out)


def _deduced(node: Node, value: Any) -> FieldSet | None:
    if value is None or value == {}:
        return None
    if not isinstance(value, dict):
        return LEAF
    return {f"f:{name}": with_self(_deduced(node, value[name])) for name in sorted(value)}


def with_named_fields(node: Node | None, fields: FieldSet) -> FieldSet:
    """The set with every declared field that leads to a member as a member itself, other than keys and items."""
    out: FieldSet = {}
    for element, below in fields.items():
        if element == SELF or not has_children(below):
            out[element] = below
            continue
        child, named = _step(node, element)
        inner = with_named_fields(child, below)
        out[element] = with_self(inner) if named or is_member(below) else inner
    return out


def _step(node: Node | None, element: str) -> tuple[Node | None, bool]:
    """The node that an element leads to, if the schema knows, and whether it is a declared field."""
    if element[0] == "f" and isinstance(node, MapNode):
        return node.find(element[2:]), element[2:] in node.declared
    if element[0] == "f" and isinstance(node, DeducedNode):
        return node, False
    if element[0] == "k" and isinstance(node, ListNode):
        return node.item, False
    return None, False
