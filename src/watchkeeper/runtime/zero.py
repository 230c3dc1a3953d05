"""Zero values: what a field of a compiled-in type holds when nobody sets it, and when an encoder leaves it out.

A nil pointer, list, map or time is None here. The rules are those of Go's encoding/json for the reference's types.
"""

from __future__ import annotations

from typing import Any

from watchkeeper.runtime.schema import Field, Omit, Schema, SchemaType

COLLECTIONS = frozenset({SchemaType.LIST, SchemaType.MAP})
"""The types of which an empty value is something else than none."""
_NONE_TYPES = frozenset({SchemaType.LIST, SchemaType.MAP, SchemaType.ANY})
_NONE_FORMATS = frozenset({"byte", "date-time", "micro-time"})


def zero_value(schema: Schema) -> Any:
    """A fresh zero value, as the encoder writes it."""
    kind = schema.type
    if kind is SchemaType.STRUCT:
        return zero_struct(schema)
    if kind in _NONE_TYPES or schema.format in _NONE_FORMATS:
        return None
    if kind is SchemaType.STRING:
        return "0" if schema.format == "quantity" else ""
    return False if kind is SchemaType.BOOLEAN else 0


def zero_struct(schema: Schema) -> dict[str, Any]:
    """A fresh struct with only the fields that show although nobody set them."""
    return {f.name: zero_field(f) for f in schema.fields.values() if shows_when_unset(f)}


def zero_field(field: Field) -> Any:
    """What an unset field shows, if it shows."""
    return None if field.pointer else zero_value(field.schema)


def shows_when_unset(field: Field) -> bool:
    """Whether the encoder writes a field that nobody set."""
    if field.omit is Omit.NEVER:
        return True
    return field.omit is Omit.EMPTY and not field.pointer and is_struct_like(field.schema)


def is_struct_like(schema: Schema) -> bool:
    """Whether the type is a Go struct, which `omitempty` never leaves out, whatever it looks like in JSON."""
    kind = schema.type
    if kind is SchemaType.STRING:
        return schema.format in ("quantity", "date-time", "micro-time")
    if kind is SchemaType.ANY:
        return schema.format != ""
    return kind is SchemaType.STRUCT or kind is SchemaType.INT_OR_STRING


def omitted(field: Field, value: Any) -> bool:
    """Whether the encoder leaves a field out that holds a decoded value."""
    if field.omit is Omit.NEVER:
        return False
    if field.pointer:
        return value is None
    if is_struct_like(field.schema):
        return field.omit is Omit.ZERO and (value is None or value == zero_value(field.schema))
    return not value


def keeps_empty_lists(schema: Schema) -> bool:
    """Whether a list or map that is required but empty stays `[]`, rather than null.

    The reference stores most built-in kinds in an encoding that cannot tell an empty list from none; the exceptions are
    definitions of custom resources, and lists of objects, which are not stored.
    """
    return schema.name.startswith("io.k8s.apiextensions-apiserver.") or schema.name.endswith("List")
