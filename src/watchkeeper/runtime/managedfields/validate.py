"""Whether a value is what its schema says, with the reference's words for what is not."""

from __future__ import annotations

from typing import Any

from watchkeeper.meta.field import go_quote
from watchkeeper.runtime.managedfields.nodes import DeducedNode, ListNode, MapNode, Mismatch, Node
from watchkeeper.runtime.managedfields.path import element_text
from watchkeeper.runtime.patch.strategic import go_value
from watchkeeper.runtime.schema import Schema, SchemaType

_Errors = list[tuple[str, str]]
"""(path, message) each."""


def check(node: MapNode, obj: Any, *, allow_repeated: bool) -> None:
    """Check an object: its fields are known, its types right, items of keyed lists and sets can be told apart.

    `allow_repeated` lets items occur twice. Raises Mismatch with all that is wrong.
    """
    errors: _Errors = []
    _Check(errors, allow_repeated).value(node, obj, "")
    if errors:
        texts = [f"{path}: {message}" if path else message for path, message in errors]
        raise Mismatch(texts[0] if len(texts) == 1 else "\n".join(["errors:", *(f"  {text}" for text in texts)]))


class _Check:
    """Walks a value and collects what is wrong."""

    def __init__(self, errors: _Errors, allow_repeated: bool) -> None:
        self.errors = errors
        self.allow_repeated = allow_repeated

    def value(self, node: Node, value: Any, path: str) -> None:
        """Check a value of any type. null is a value of every type."""
        if value is None or isinstance(node, DeducedNode):
            return
        if isinstance(node, MapNode):
            self._map(node, value, path)
        elif isinstance(node, ListNode):
            self._list(node, value, path)
        elif node.schema is not None:
            self._whole(node, node.schema, value, path)

    def _map(self, node: MapNode, value: Any, path: str) -> None:
        if not isinstance(value, dict):
            self._report(path, f"expected map, got {_shown(value)}")
            return
        for name, member in value.items():
            child = node.find(name)
            if child is None:
                self._report(f"{path}.{name}", "field not declared in schema")
                return
            self.value(child, member, f"{path}.{name}")

    def _list(self, node: ListNode, value: Any, path: str) -> None:
        if not isinstance(value, list):
            self._report(path, f"expected list, got {_shown(value)}")
            return
        seen: set[str] = set()
        for index, item in enumerate(value):
            try:
                element = node.element(item)
            except Mismatch as mismatch:
                self._report(path, f"element {index}: {mismatch}")
                return
            if element in seen and not self.allow_repeated:
                self._report(path, f"duplicate entries for key {element_text(element)}")
            seen.add(element)
            self.value(node.item, item, path + element_text(element))

    def _whole(self, node: Node, schema: Schema, value: Any, path: str) -> None:
        """Check what is owned as a whole; the content of atomic lists and maps is checked, too."""
        kind = schema.type
        if kind is SchemaType.LIST:
            self._atomic_list(node, schema, value, path)
        elif kind is SchemaType.STRUCT or kind is SchemaType.MAP:
            self._atomic_map(node, schema, value, path)
        elif (wrong := _scalar_error(schema, value)) is not None:
            self._report(path, wrong)

    def _atomic_list(self, node: Node, schema: Schema, value: Any, path: str) -> None:
        if not isinstance(value, list):
            self._report(path, f"expected list, got {_shown(value)}")
        elif schema.element is not None:
            inner = node.table.node(schema.element)
            for index, item in enumerate(value):
                self.value(inner, item, f"{path}[{index}]")

    def _atomic_map(self, node: Node, schema: Schema, value: Any, path: str) -> None:
        if not isinstance(value, dict):
            self._report(path, f"expected map, got {_shown(value)}")
            return
        for name, member in value.items():
            field = schema.fields.get(name)
            part = field.schema if field is not None else schema.element
            if part is not None:
                self.value(node.table.node(part), member, f"{path}.{name}")
            elif schema.fields and not schema.preserve_unknown_fields:
                self._report(f"{path}.{name}", "field not declared in schema")
                return

    def _report(self, path: str, message: str) -> None:
        self.errors.append((path, message))


def _scalar_error(schema: Schema, value: Any) -> str | None:
    kind = schema.type
    if kind is SchemaType.INTEGER or kind is SchemaType.NUMBER:
        numeric = isinstance(value, (int, float)) and not isinstance(value, bool)
        return None if numeric else f"expected numeric (int or float), got {_type_name(value)}"
    if kind is SchemaType.BOOLEAN:
        return None if isinstance(value, bool) else f"expected boolean, got {_shown(value)}"
    if kind is SchemaType.STRING and schema.format in ("", "byte"):
        return None if isinstance(value, str) else f"expected string, got {_shown_in_full(value)}"
    return f"expected any scalar, got {_shown(value)}" if isinstance(value, (dict, list)) else None


def _shown(value: Any) -> str:
    """A value as Go prints the reference's holder of values with %v."""
    return f"&{{{go_value(value)}}}"


def _shown_in_full(value: Any) -> str:
    """The same with %#v."""
    return f"&value.valueUnstructured{{Value:{_go_syntax(value)}}}"


def _go_syntax(value: Any) -> str:
    if isinstance(value, dict):
        entries = ", ".join(f"{go_quote(k)}:{_go_syntax(v)}" for k, v in sorted(value.items()))
        return f"map[string]interface {{}}{{{entries}}}"
    if isinstance(value, list):
        return f"[]interface {{}}{{{', '.join(map(_go_syntax, value))}}}"
    if isinstance(value, str):
        return go_quote(value)
    if value is None:
        return "interface {}(nil)"
    return go_value(value)


def _type_name(value: Any) -> str:
    names = {str: "string", bool: "bool", dict: "map[string]interface {}", list: "[]interface {}"}
    return names[type(value)]
