"""How the parts of an object are owned, made from its schema: as one, field by field, or item by item.

Nodes are made when first asked for and remembered, so recursive types end and types that nobody uses cost nothing.
Each node can tell all fields of a value at once (`everything`), which is what a create has to record; it remembers the
answer for each combination of fields that it has met, because objects of a kind look alike.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from watchkeeper.runtime.managedfields.field_set import LEAF, SELF, FieldSet
from watchkeeper.runtime.managedfields.path import key_element, sort_key, value_element
from watchkeeper.runtime.schema import ListType, Omit, Schema, SchemaType
from watchkeeper.runtime.with_empties import WithEmpties
from watchkeeper.runtime.zero import zero_value

Object = dict[str, Any]

_MAX_REMEMBERED = 512
_MAX_REMEMBERED_FIELDS = 32


class Mismatch(Exception):
    """A value is not what its schema says. The message is what the reference would say."""


class Node:
    """One type. `leaf` types are owned as a whole: scalars, atomic lists and atomic maps."""

    __slots__ = ("leaf", "schema", "table", "untyped")

    def __init__(self, table: NodeTable, schema: Schema | None, *, leaf: bool) -> None:
        self.table = table
        self.schema = schema
        self.leaf = leaf
        self.untyped = table.is_untyped(schema)
        """Whether values in it may change their JSON type, so that 1 can become true."""

    def everything(self, value: Any) -> FieldSet:
        """The node of a value that is new or gone: the value itself and all fields in it. Raises Mismatch."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.schema}>"


class WholeNode(Node):
    """What is owned as a whole."""

    __slots__ = ()

    def __init__(self, table: NodeTable, schema: Schema) -> None:
        super().__init__(table, schema, leaf=True)

    def everything(self, value: Any) -> FieldSet:
        """A leaf."""
        return LEAF


class TextNode(WholeNode):
    """What is owned as a whole and has texts in it for which validation takes lists, or is one.

    Validation does so where texts have a format. Such values do not fit the types by which ownership is recorded.
    """

    __slots__ = ()

    def everything(self, value: Any) -> FieldSet:
        """A leaf. Raises Mismatch for a list in place of a text."""
        assert self.schema is not None
        if _has_list_for_text(self.schema, value):
            raise Mismatch(f"expected any scalar, got {value}")
        return LEAF


def _has_list_for_text(schema: Schema, value: Any) -> bool:
    if value.__class__ is list:
        if schema.type is SchemaType.STRING:
            return True
        return schema.element is not None and any(_has_list_for_text(schema.element, item) for item in value)
    if value.__class__ is dict:
        for name, member in value.items():
            field = schema.fields.get(name)
            part = field.schema if field is not None else schema.element
            if part is not None and _has_list_for_text(part, member):
                return True
    return False


_Nested = tuple[tuple[str, str, Node], ...]
_Plan = tuple[FieldSet, _Nested, FieldSet]
"""For a combination of fields: a map with them as leaves, (field, element, node) for those that may have fields in
them, and the leaves without the map itself."""


class MapNode(Node):
    """A struct or map owned field by field."""

    __slots__ = ("_fields", "_rest", "declared", "plans")

    def __init__(self, table: NodeTable, schema: Schema) -> None:
        super().__init__(table, schema, leaf=False)
        self.declared = schema.fields if schema.type is SchemaType.STRUCT else {}
        """The fields with names of their own; others are keys of a map."""
        self._fields: dict[str, Node] = {}
        self.plans: dict[tuple[str, ...], _Plan] = {}
        """What is remembered, by combination of fields."""
        self._rest = self._make_rest(schema)

    def _make_rest(self, schema: Schema) -> Schema | Node | None:
        if schema.element is not None:
            return schema.element
        free = schema.type is not SchemaType.STRUCT or not schema.fields or schema.preserve_unknown_fields
        return self.table.deduced if free else None

    def child(self, name: str) -> Node:
        """The node of a field. Raises Mismatch for a field that may not be there."""
        found = self._fields.get(name)
        if found is None:
            found = self.find(name)
            if found is None:
                raise Mismatch(f".{name}: field not declared in schema")
            if name in self.declared:
                self._fields[name] = found
        return found

    def find(self, name: str) -> Node | None:
        """The node of a field; None for a field that may not be there."""
        field = self.declared.get(name)
        if field is not None:
            return self.table.node(field.schema)
        rest = self._rest
        if isinstance(rest, Schema):
            rest = self._rest = self.table.node(rest)
        return rest

    def everything(self, value: Any) -> FieldSet:
        """The map and all fields in it."""
        if not value:
            return LEAF
        if value.__class__ is not dict:
            if value.__class__ is not WithEmpties:
                raise Mismatch(f"expected map, got {value}")
            return self.everything(value.shown())
        names = tuple(value)
        template, nested, _ = self.plan(names)
        if not nested:
            return template
        out = template.copy()
        for name, element, node in nested:
            out[element] = node.everything(value[name])
        return out

    def parts(self, names: tuple[str, ...], value: Object) -> FieldSet:
        """All that is in some of the fields, at least one, without the map itself."""
        _, nested, leaves = self.plan(names)
        if not nested:
            return leaves
        out = leaves.copy()
        for name, element, node in nested:
            out[element] = node.everything(value[name])
        return out

    def plan(self, names: tuple[str, ...]) -> _Plan:
        """What is known of a combination of fields, one of which at least. Raises Mismatch."""
        return self.plans.get(names) or self._new_plan(names)

    def _new_plan(self, names: tuple[str, ...]) -> _Plan:
        leaves: FieldSet = {}
        nested: list[tuple[str, str, Node]] = []
        for name in sorted(names):
            node, element = self.child(name), f"f:{name}"
            leaves[element] = LEAF
            if not node.leaf or node.__class__ is TextNode:
                nested.append((name, element, node))
        plan = ({SELF: LEAF, **leaves}, tuple(nested), leaves)
        if len(names) <= _MAX_REMEMBERED_FIELDS:
            if len(self.plans) >= _MAX_REMEMBERED:
                self.plans.clear()
            self.plans[names] = plan
        return plan


class ListNode(Node):
    """A list of which each item is owned on its own: by its key fields, or, in a set, by its value."""

    __slots__ = ("_elements", "_item_plans", "_single", "_templates", "defaults", "item", "keys")

    def __init__(self, table: NodeTable, schema: Schema) -> None:
        super().__init__(table, schema, leaf=False)
        assert schema.element is not None
        self.item = table.node(schema.element)
        self.keys = schema.list_map_keys if schema.list_type is ListType.MAP else ()
        self.defaults = {**_zero_keys(schema.element, self.keys), **schema.keyed_defaults}
        self._single = self.keys[0] if len(self.keys) == 1 else ""
        self._elements: dict[Any, str] = {}
        self._templates: dict[tuple[str, ...], FieldSet | None] = {}
        self._item_plans = self.item.plans if isinstance(self.item, MapNode) else {}

    def element(self, item: Any) -> str:
        """The path element of an item. Raises Mismatch for an item that cannot be told from others."""
        try:
            if self._single:
                value = item[self._single]
                if value.__class__ is str:
                    return self._elements.get(value) or self._remember(value, item)
                return self._new_element(item)
            remembered: Hashable
            if self.keys:
                values = tuple(map(item.get, self.keys))
                if None in values:
                    return self._new_element(item)
                remembered = (values, tuple(map(type, values)))  # 1 and true are equal
                return self._elements.get(remembered) or self._remember(remembered, item)
            remembered = (item.__class__, item)
            return self._elements.get(remembered) or self._remember(remembered, item)
        except (KeyError, TypeError, AttributeError):
            return self._new_element(item)

    def _remember(self, key: Hashable, item: Any) -> str:
        element = self._new_element(item)
        if len(self._elements) >= _MAX_REMEMBERED:
            self._elements.clear()
        self._elements[key] = element
        return element

    def _new_element(self, item: Any) -> str:
        return self._keyed_element(item) if self.keys else _set_element(item)

    def _keyed_element(self, item: Any) -> str:
        if item is None:
            raise Mismatch("associative list with keys may not have a null element")
        if not isinstance(item, dict):
            raise Mismatch("associative list with keys may not have non-map elements")
        found = {k: item[k] if k in item else self.defaults[k] for k in self.keys if k in item or k in self.defaults}
        if not found:
            keys = " ".join(f'"{k}"' for k in self.keys)
            raise Mismatch(
                f"associative list with keys has an element that omits all key fields [{keys}] (and doesn't have "
                "default values for any key fields)"
            )
        return key_element(found)

    def elements(self, items: list[Any]) -> list[str]:
        """The path elements of all items. Raises Mismatch."""
        single, known = self._single, self._elements
        if single:
            try:
                return [known[item[single]] for item in items]
            except (KeyError, TypeError):
                pass
        return [self.element(item) for item in items]

    def everything(self, value: Any) -> FieldSet:
        """The list and all items with the fields in them; of items that occur twice only that they are there."""
        if not value:
            return LEAF
        if value.__class__ is not list:
            raise Mismatch(f"expected list, got {value}")
        elements = self.elements(value)
        key = tuple(elements)
        template = self._templates[key] if key in self._templates else self._template(key)
        if template is None:
            return self._with_repeated(elements, value)
        if self.item.leaf:
            return template
        out = template.copy()
        everything, plans = self.item.everything, self._item_plans
        for element, item in zip(elements, value, strict=True):
            # The common case of `everything`, without the call.
            plan = plans.get(tuple(item)) if plans else None
            out[element] = plan[0] if plan is not None and not plan[1] else everything(item)
        return out

    def _template(self, elements: tuple[str, ...]) -> FieldSet | None:
        """The list with its items as leaves; None when one occurs twice."""
        repeated = len(set(elements)) < len(elements)
        template = None if repeated else {SELF: LEAF, **dict.fromkeys(sorted(elements, key=sort_key), LEAF)}
        if len(elements) <= _MAX_REMEMBERED_FIELDS:
            if len(self._templates) >= _MAX_REMEMBERED:
                self._templates.clear()
            self._templates[elements] = template
        return template

    def _with_repeated(self, elements: list[str], items: list[Any]) -> FieldSet:
        out: FieldSet = {SELF: LEAF}
        by_element = grouped(elements, items)
        for element in sorted(by_element, key=sort_key):
            same = by_element[element]
            out[element] = self.item.everything(same[0]) if len(same) == 1 else LEAF
        return out


def _zero_keys(item: Schema, keys: tuple[str, ...]) -> Object:
    """What key fields are that nobody has set, of those that the encoder always writes."""
    fields = [item.fields[key] for key in keys if key in item.fields]
    return {f.name: zero_value(f.schema) for f in fields if f.omit is Omit.NEVER and not f.pointer}


def grouped(elements: list[str], items: list[Any]) -> dict[str, list[Any]]:
    """Items by their elements, in the order of first occurrence."""
    found: dict[str, list[Any]] = {}
    for element, item in zip(elements, items, strict=True):
        found.setdefault(element, []).append(item)
    return found


def _set_element(item: Any) -> str:
    if isinstance(item, dict):
        raise Mismatch("associative list without keys has an element that's a map type")
    if isinstance(item, list):
        raise Mismatch("not supported: associative list with lists as elements")
    if item is None:
        raise Mismatch("associative list without keys has an element that's an explicit null")
    return value_element(item)


class DeducedNode(Node):
    """What has no schema: maps are owned key by key, anything else as a whole."""

    __slots__ = ()

    def __init__(self, table: NodeTable) -> None:
        super().__init__(table, None, leaf=False)

    def everything(self, value: Any) -> FieldSet:
        """Of a map, itself and all keys in it; else a leaf."""
        if not value or value.__class__ is not dict:
            return LEAF
        out: FieldSet = {SELF: LEAF}
        for name in sorted(value):
            out[f"f:{name}"] = self.everything(value[name])
        return out


_FIELDS, _RAW = "fields", "object"
"""Formats of values of any type: sets of fields, which are maps of maps, and raw objects (runtime.RawExtension), which
are owned as a whole."""


def _has_formatted_text(schema: Schema) -> bool:
    if schema.type is SchemaType.STRING:
        return schema.format != "" and not schema.go_type  # those of built-in types are decoded
    parts = [field.schema for field in schema.fields.values()]
    if schema.element is not None:
        parts.append(schema.element)
    return any(map(_has_formatted_text, parts))


def _takes_any(schema: Schema) -> bool:
    kind = schema.type
    if kind is SchemaType.ANY:
        return schema.format != _FIELDS
    if schema.element is not None:
        return False
    if kind is SchemaType.STRUCT:
        return schema.preserve_unknown_fields or not schema.fields
    return kind is SchemaType.MAP or kind is SchemaType.LIST


class NodeTable:
    """The nodes of related schemas."""

    def __init__(self, *, validated: bool = False) -> None:
        """`validated`: whether values are not decoded by the schemas but validated, which tells less of their types."""
        self._validated = validated
        self._nodes: dict[Schema, Node] = {}
        self._typed: set[Schema] = set()
        self.deduced = DeducedNode(self)

    def node(self, schema: Schema) -> Node:
        """The node of a schema."""
        found = self._nodes.get(schema)
        if found is None:
            found = self._nodes[schema] = self._make(schema)
        return found

    def root(self, schema: Schema) -> MapNode:
        """The node of a kind, whose objects are always owned field by field."""
        found = self.node(schema)
        assert isinstance(found, MapNode), f"{schema} is no kind"
        return found

    def _make(self, schema: Schema) -> Node:
        kind = schema.type
        if kind is SchemaType.STRUCT or kind is SchemaType.MAP:
            return self._whole(schema) if schema.atomic else MapNode(self, schema)
        if kind is SchemaType.LIST:
            whole = schema.list_type is ListType.ATOMIC or schema.element is None
            return self._whole(schema) if whole else ListNode(self, schema)
        if kind is SchemaType.ANY:
            if schema.format == _RAW:
                return WholeNode(self, schema)
            return MapNode(self, schema) if schema.format == _FIELDS else self.deduced
        return self._whole(schema)

    def _whole(self, schema: Schema) -> Node:
        return (TextNode if self._validated and _has_formatted_text(schema) else WholeNode)(self, schema)

    def is_untyped(self, schema: Schema | None) -> bool:
        """Whether there is a place in a type for values of any type."""
        if schema is None:
            return True
        seen: set[Schema] = set()
        waiting = [schema]
        while waiting:
            each = waiting.pop()
            if each in seen or each in self._typed:
                continue
            seen.add(each)
            if _takes_any(each):
                return True
            waiting += (field.schema for field in each.fields.values())
            if each.element is not None:
                waiting.append(each.element)
        self._typed |= seen
        return False
