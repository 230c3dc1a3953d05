"""Whether a value is what its schema says, with the reference's words for what is not."""

from __future__ import annotations

from typing import Any

from watchkeeper.meta.field import go_syntax
from watchkeeper.runtime.managedfields.nodes import ListNode, MapNode, Mismatch, Node, TextNode, WholeNode
from watchkeeper.runtime.managedfields.path import element_text
from watchkeeper.runtime.patch.strategic import go_value
from watchkeeper.runtime.schema import Schema, SchemaType

_Errors = list[tuple[str, str]]
"""(path, message) each."""
_NONE: _Errors = []


def check(node: MapNode, obj: Any, *, allow_repeated: bool) -> bool:
    """Check an object: its fields are known, its types right, items of keyed lists and sets can be told apart.

    `allow_repeated` lets items occur twice. Returns whether no more can be wrong: the reference lets true stand for an
    integer or text until it decodes the object. Raises Mismatch with all that is wrong.
    """
    walk = _Check(allow_repeated)
    errors = walk.value(node, obj)
    if errors:
        texts = [f"{path}: {message}" if path else message for path, message in errors]
        raise Mismatch(texts[0] if len(texts) == 1 else "\n".join(["errors:", *(f"  {text}" for text in texts)]))
    return not walk.has_truths


def may_lack_keys(node: Node) -> bool:
    """Whether what is stored of a kind may not fit its schema: items of a keyed list may have none of the keys."""
    return _may_lack_keys(node, set())


def _may_lack_keys(node: Node, seen: set[int]) -> bool:
    if id(node) in seen or node.schema is None:
        return False
    seen.add(id(node))
    if isinstance(node, ListNode) and node.keys and not node.defaults:
        return True
    parts = [field.schema for field in node.schema.fields.values()]
    if node.schema.element is not None:
        parts.append(node.schema.element)
    return any(_may_lack_keys(node.table.node(part), seen) for part in parts)


def _below(step: str, errors: _Errors) -> _Errors:
    """The errors of a part, seen from the whole."""
    return [(step + path, message) for path, message in errors]


class _Check:
    """Walks a value and tells what is wrong in it. Paths are made only where something is."""

    def __init__(self, allow_repeated: bool) -> None:
        self.allow_repeated = allow_repeated
        self.has_truths = False
        """Whether there is true or false where an integer or text should be."""

    def value(self, node: Node, value: Any) -> _Errors:
        """Check a value of any type. null is a value of every type."""
        if value is None:
            return _NONE
        kind = node.__class__
        if kind is WholeNode or kind is TextNode:
            assert node.schema is not None
            return self._whole(node, node.schema, value)
        if kind is MapNode:
            return self._map(node, value)  # type: ignore[arg-type]
        if kind is ListNode:
            return self._list(node, value)  # type: ignore[arg-type]
        return _NONE

    def _map(self, node: MapNode, value: Any) -> _Errors:
        if not isinstance(value, dict):
            return [("", f"expected map, got {_shown(value)}")]
        errors = _NONE
        for name, member in value.items():
            child = node.find(name)
            if child is None:
                return [*errors, (f".{name}", "field not declared in schema")]
            wrong = self.value(child, member)
            if wrong:
                errors = [*errors, *_below(f".{name}", wrong)]
        return errors

    def _list(self, node: ListNode, value: Any) -> _Errors:
        if not isinstance(value, list):
            return [("", f"expected list, got {_shown(value)}")]
        errors: _Errors = []
        seen: set[str] = set()
        for index, item in enumerate(value):
            try:
                element = node.element(item)
            except Mismatch as mismatch:
                return [*errors, ("", f"element {index}: {mismatch}")]
            if element in seen and not self.allow_repeated:
                errors.append(("", f"duplicate entries for key {element_text(element)}"))
            seen.add(element)
            wrong = self.value(node.item, item)
            if wrong:
                errors += _below(element_text(element), wrong)
        return errors

    def _whole(self, node: Node, schema: Schema, value: Any) -> _Errors:
        """Check what is owned as a whole; the content of atomic lists and maps is checked, too."""
        kind = schema.type
        if kind is SchemaType.LIST:
            return self._atomic_list(node, schema, value)
        if kind is SchemaType.STRUCT or kind is SchemaType.MAP:
            return self._atomic_map(node, schema, value)
        if value.__class__ is bool and kind is SchemaType.INT_OR_STRING:
            self.has_truths = True
        wrong = _scalar_error(schema, value)
        return _NONE if wrong is None else [("", wrong)]

    def _atomic_list(self, node: Node, schema: Schema, value: Any) -> _Errors:
        if not isinstance(value, list):
            return [("", f"expected list, got {_shown(value)}")]
        if schema.element is None:
            return _NONE
        inner = node.table.node(schema.element)
        return [each for i, item in enumerate(value) for each in _below(f"[{i}]", self.value(inner, item))]

    def _atomic_map(self, node: Node, schema: Schema, value: Any) -> _Errors:
        if not isinstance(value, dict):
            return [("", f"expected map, got {_shown(value)}")]
        errors: _Errors = []
        for name, member in value.items():
            field = schema.fields.get(name)
            part = field.schema if field is not None else schema.element
            if part is not None:
                errors += _below(f".{name}", self.value(node.table.node(part), member))
            elif schema.fields and not schema.preserve_unknown_fields:
                return [*errors, (f".{name}", "field not declared in schema")]
        return errors


def _scalar_error(schema: Schema, value: Any) -> str | None:
    kind = schema.type
    if kind is SchemaType.INTEGER or kind is SchemaType.NUMBER:
        numeric = isinstance(value, (int, float)) and not isinstance(value, bool)
        return None if numeric else f"expected numeric (int or float), got {_type_name(value)}"
    if kind is SchemaType.BOOLEAN:
        return None if isinstance(value, bool) else f"expected boolean, got {_shown(value)}"
    if kind is SchemaType.STRING and schema.format in ("", "byte"):
        return None if isinstance(value, str) else f"expected string, got {_shown_in_full(value)}"
    if kind is SchemaType.ANY or (kind is SchemaType.INT_OR_STRING and schema.go_type):
        return None  # of built-in kinds, an integer or text is no type of its own
    return f"expected any scalar, got {_shown(value)}" if isinstance(value, (dict, list)) else None


def _shown(value: Any) -> str:
    """A value as Go prints the reference's holder of values with %v."""
    return f"&{{{go_value(value)}}}"


def _shown_in_full(value: Any) -> str:
    """The same with %#v."""
    return f"&value.valueUnstructured{{Value:{go_syntax(value)}}}"


def _type_name(value: Any) -> str:
    names = {str: "string", bool: "bool", dict: "map[string]interface {}", list: "[]interface {}"}
    return names[type(value)]
