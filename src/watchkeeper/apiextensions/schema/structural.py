"""A structural schema: the part of an OpenAPI schema that says what an object looks like, and its value validations.

It is read once from the JSON of a definition and then never changed.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

Json = Any

_UNSUPPORTED = {
    "id": "id",
    "$schema": "schema",
    "$ref": "$ref",
    "patternProperties": "patternProperties",
    "dependencies": "dependencies",
    "additionalItems": "additionalItems",
    "definitions": "definitions",
}
"""Keywords, and what the error calls them."""
_STRUCTURE = frozenset(
    {"properties", "items", "additionalProperties", "default", "nullable", "allOf", "anyOf", "oneOf", "not"}
    | {f"x-kubernetes-{name}" for name in ("preserve-unknown-fields", "embedded-resource", "int-or-string")}
    | {f"x-kubernetes-{name}" for name in ("list-type", "list-map-keys", "map-type", "validations")}
    | _UNSUPPORTED.keys()
)
"""All keywords that are read, but the type: most nodes have none of them."""
_NESTING = frozenset({"properties", "items", "additionalProperties"})
_UNCOMMON = _STRUCTURE - _NESTING
_PLAIN_TYPES = frozenset({"boolean", "integer", "number", "object", "string"})


class NotStructural(ValueError):
    """A schema with a part that structural schemas cannot have."""


@dataclass(frozen=True, slots=True)
class Rule:
    """An entry of x-kubernetes-validations."""

    rule: str
    message: str = ""
    message_expression: str = ""
    reason: str | None = None
    field_path: str = ""
    optional_old_self: bool | None = None

    @classmethod
    def of(cls, entry: Json) -> Rule:
        """Read one."""
        return cls(
            rule=entry.get("rule", ""),
            message=entry.get("message", ""),
            message_expression=entry.get("messageExpression", ""),
            reason=entry.get("reason"),
            field_path=entry.get("fieldPath", ""),
            optional_old_self=entry.get("optionalOldSelf"),
        )


@dataclass(eq=False, slots=True, kw_only=True)
class Structural:
    """One node. `source` is its JSON, in which the keywords that only validate are found."""

    source: Json
    type: str = ""
    properties: dict[str, Structural] = field(default_factory=dict)
    items: Structural | None = None
    additional: Structural | None = None
    """What values of properties that are not listed look like; with `open_map` but without this: anything."""
    open_map: bool = False
    """Whether additionalProperties is given and not false."""
    closed_map: bool = False
    """Whether additionalProperties is false."""
    default: Json = None
    has_default: bool = False
    nullable: bool = False
    preserve: bool = False
    embedded: bool = False
    int_or_string: bool = False
    list_type: str | None = None
    list_map_keys: tuple[str, ...] = ()
    map_type: str | None = None
    rules: tuple[Rule, ...] = ()
    all_of: tuple[Structural, ...] = ()
    any_of: tuple[Structural, ...] = ()
    one_of: tuple[Structural, ...] = ()
    negated: Structural | None = None
    plain: bool = False
    """Whether it is a field that has a type, and nothing that could be wrong."""

    def __repr__(self) -> str:
        return f"<Structural {self.type or '?'}>"

    def get(self, keyword: str) -> Json:
        """The value of a keyword that only validates, None when it is not given."""
        return self.source.get(keyword)

    @property
    def has_additional(self) -> bool:
        """Whether additionalProperties is given at all."""
        return self.open_map or self.closed_map

    def children(self) -> Iterator[Structural]:
        """The nodes below, without those of junctors."""
        yield from self.properties.values()
        if self.items is not None:
            yield self.items
        if self.additional is not None:
            yield self.additional

    def as_resource(self) -> Structural:
        """The same node as the root of a resource, whose metadata and type are understood."""
        if self.embedded:
            return self
        clone = copy.copy(self)
        clone.embedded = True
        return clone


def read_structural(schema: Json) -> Structural:
    """Read a node and all below. Raises NotStructural."""
    if _STRUCTURE.isdisjoint(schema):
        kind = schema.get("type") or ""
        return Structural(source=schema, type=kind, plain=kind in _PLAIN_TYPES and "pattern" not in schema)
    if not _UNSUPPORTED.keys().isdisjoint(schema):
        for key, name in _UNSUPPORTED.items():
            if schema.get(key) not in (None, "", {}) or (key == "additionalItems" and schema.get(key) is not None):
                raise NotStructural(f"OpenAPIV3Schema '{name}' is not supported")
    if schema.get("x-kubernetes-preserve-unknown-fields") is False:
        raise NotStructural("internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined")
    items = schema.get("items")
    if isinstance(items, list):
        raise NotStructural("OpenAPIV3Schema 'items' must be a schema, but is an array")
    additional = schema.get("additionalProperties")
    node = Structural(
        source=schema,
        type=schema.get("type") or "",
        properties={name: read_structural(sub) for name, sub in (schema.get("properties") or {}).items()},
        items=read_structural(items) if items is not None else None,
        additional=read_structural(additional) if isinstance(additional, dict) else None,
        open_map=isinstance(additional, dict) or additional is True,
        closed_map=additional is False,
    )
    if not _UNCOMMON.isdisjoint(schema):
        _read_uncommon(node, schema)
    return node


def _read_uncommon(node: Structural, schema: Json) -> None:
    node.default = schema.get("default")
    node.has_default = node.default is not None
    node.nullable = bool(schema.get("nullable"))
    node.preserve = bool(schema.get("x-kubernetes-preserve-unknown-fields"))
    node.embedded = bool(schema.get("x-kubernetes-embedded-resource"))
    node.int_or_string = bool(schema.get("x-kubernetes-int-or-string"))
    node.list_type = schema.get("x-kubernetes-list-type")
    node.list_map_keys = tuple(schema.get("x-kubernetes-list-map-keys") or ())
    node.map_type = schema.get("x-kubernetes-map-type")
    node.rules = tuple(Rule.of(r) for r in schema.get("x-kubernetes-validations") or ())
    node.all_of = _read_all(schema, "allOf")
    node.any_of = _read_all(schema, "anyOf")
    node.one_of = _read_all(schema, "oneOf")
    node.negated = read_structural(schema["not"]) if schema.get("not") is not None else None


def _read_all(schema: Json, keyword: str) -> tuple[Structural, ...]:
    return tuple(read_structural(sub) for sub in schema.get(keyword) or ())
