"""Why a strategic merge patch makes an object that its kind cannot hold, as the reference's converter says it.

The outcomes of the other patches are encoded and decoded again, so that a wrong type is an error of the JSON decoder;
the outcome of a strategic merge is copied field by field into the Go type, which knows other words and stops at the
first fault.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from watchkeeper.runtime.base64_text import Base64Error, canonical_base64
from watchkeeper.runtime.schema import Schema, SchemaType

_KINDS = {str: "string", bool: "bool", int: "int64", float: "float64", list: "slice", dict: "map"}
_SCALARS = {SchemaType.STRING: "string", SchemaType.BOOLEAN: "bool", SchemaType.NUMBER: "float64"}
_TAKEN = {SchemaType.STRING: (str,), SchemaType.BOOLEAN: (bool,), SchemaType.NUMBER: (int, float)}
_SELF_DECODING = frozenset({"quantity", "date-time", "micro-time", "duration", "fields"})


def mismatch(schema: Schema, value: Any) -> str | None:
    """The first fault in the order of the schema's fields; None when types fit, or a type decodes itself."""
    if value is None or schema.format in _SELF_DECODING:
        return None
    if schema.type is SchemaType.STRUCT:
        return _struct(schema, value)
    if schema.type is SchemaType.LIST:
        return _all(schema.element, value) if value.__class__ is list else _cannot_restore("slice", value)
    if schema.type is SchemaType.MAP:
        return _all(schema.element, value.values()) if value.__class__ is dict else _cannot_restore("map", value)
    if schema.format == "byte":
        return _bytes(value)
    if schema.type is SchemaType.INTEGER:
        return _integer(schema.go_type or schema.format or "int64", value)
    if schema.type in _SCALARS and value.__class__ not in _TAKEN[schema.type]:
        return _scalar(_SCALARS[schema.type], schema.go_type, value)
    return None


def _struct(schema: Schema, value: Any) -> str | None:
    if value.__class__ is not dict:
        return f"cannot restore struct from: {_KINDS[value.__class__]}"
    for name, field in schema.fields.items():
        if name in value and (found := mismatch(field.schema, value[name])):
            return found
    return None


def _all(element: Schema | None, values: Iterable[Any]) -> str | None:
    for value in values:
        if element is not None and (found := mismatch(element, value)):
            return found
    return None


def _cannot_restore(what: str, value: Any) -> str:
    return f"cannot restore {what} from {_KINDS[value.__class__]}"


def _integer(go_type: str, value: Any) -> str | None:
    if value.__class__ is int or (value.__class__ is float and value.is_integer()):
        return None
    return f"cannot convert float64 to {go_type}" if value.__class__ is float else f"unrecognized type: {go_type}"


def _scalar(kind: str, go_type: str, value: Any) -> str:
    # Go can make a string of an integer (the character of that number), so it is another check that refuses.
    if kind == "string" and value.__class__ is int:
        return f"cannot convert int64 to {go_type or kind}"
    return f"unrecognized type: {kind}"


def _bytes(value: Any) -> str | None:
    if value.__class__ is not str:
        return _cannot_restore("slice", value)
    try:
        canonical_base64(value)
    except Base64Error as error:
        return f"error decoding from json: {error}"
    return None
