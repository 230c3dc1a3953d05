"""The shape of objects, as one tree of nodes for built-in kinds and custom resources alike.

Decoding, strict field checks, strategic merge, field ownership, defaulting and OpenAPI all read these nodes, so that a
fact about a field is stated once. Nodes may form cycles (JSONSchemaProps holds itself); they are built once and then
never changed. Per-request work does not walk them: it runs functions compiled from them.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


class SchemaType(enum.Enum):
    """What kind of JSON value a node describes."""

    STRUCT = "struct"
    """An object with named fields."""
    MAP = "map"
    """An object with arbitrary keys and values of one shape."""
    LIST = "list"
    STRING = "string"
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    INT_OR_STRING = "int-or-string"
    ANY = "any"
    """Any JSON value, kept as it is (RawExtension, JSON)."""


class ListType(enum.Enum):
    """How the items of a list are told apart (x-kubernetes-list-type)."""

    ATOMIC = "atomic"
    SET = "set"
    MAP = "map"


class Omit(enum.Enum):
    """When a built-in kind's encoder leaves a field out, as the tags of the Go type say."""

    EMPTY = "empty"
    """When it is "", 0, false, or an empty list or map; a pointer only when unset; a struct never."""
    ZERO = "zero"
    """As EMPTY, and a struct too when all of it is zero."""
    NEVER = "never"
    """Never: an unset field shows as its zero value (null for lists, maps and times)."""


@dataclass(eq=False, slots=True)
class Schema:
    """One node. Identity, not content, makes two nodes the same."""

    type: SchemaType
    name: str = ""
    """For structs of built-in kinds, the definition's name, such as io.k8s.api.core.v1.Container."""
    go_type: str = ""
    """What the reference calls the type in decoding errors, such as `v1.Container` or `int32`."""
    fields: dict[str, Field] = field(default_factory=dict)
    element: Schema | None = None
    """The items of a list, the values of a map; for a STRUCT, what unlisted fields look like, if they are allowed."""
    format: str = ""
    """int32, int64, byte, date-time, micro-time, quantity, duration, …; a fact about a scalar."""
    list_type: ListType = ListType.ATOMIC
    list_map_keys: tuple[str, ...] = ()
    atomic: bool = False
    """For structs and maps: owned and replaced as a whole (x-kubernetes-map-type: atomic)."""
    preserve_unknown_fields: bool = False
    embedded_resource: bool = False
    nullable: bool = False
    enum: tuple[Any, ...] = ()
    keyed_defaults: Mapping[str, Any] = field(default_factory=dict)
    """For map lists: defaults of key fields, used when an item does not have one (such as protocol: TCP)."""

    def __repr__(self) -> str:
        return f"<Schema {self.name or self.go_type or self.type.value}>"


@dataclass(eq=False, slots=True)
class Field:
    """A named field of a struct. `default` is a JSON value, `...` when there is none."""

    name: str
    schema: Schema
    required: bool = False
    pointer: bool = False
    omit: Omit = Omit.EMPTY
    default: Any = ...
    patch_strategy: frozenset[str] = frozenset()
    """Of merge, replace, retainKeys (x-kubernetes-patch-strategy)."""
    patch_merge_key: str = ""
    go_path: str = ""
    """How decoding errors name it where the Go type has it from a struct within, such as `VolumeSource.hostPath`."""
    description: str = ""
