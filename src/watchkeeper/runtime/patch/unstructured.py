"""What the reference's converter makes of an object whose values are no text any more, and why it cannot hold it.

The outcomes of JSON patches and merge patches are encoded and decoded again, so that a wrong type is an error of the
JSON decoder. The outcome of a strategic merge or of server-side apply is copied field by field into the Go type, which
knows other words, stops at the first fault, and takes numbers as Go converts them: 2.0 is the integer 2, what is too
large for its field is cut off.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any

from watchkeeper.runtime.base64_text import Base64Error, canonical_base64
from watchkeeper.runtime.schema import Schema, SchemaType
from watchkeeper.runtime.unmarshal import refusal_alone

_KINDS = {str: "string", bool: "bool", int: "int64", float: "float64", list: "slice", dict: "map"}
_SCALARS = {SchemaType.STRING: "string", SchemaType.BOOLEAN: "bool", SchemaType.NUMBER: "float64"}
_TAKEN = {SchemaType.STRING: (str,), SchemaType.BOOLEAN: (bool,), SchemaType.NUMBER: (int, float)}
_SELF_DECODING = frozenset({"quantity", "date-time", "micro-time", "duration", "fields"})


def mismatch(schema: Schema, value: Any) -> str | None:
    """The first fault in the order of the schema's fields; None when there is none."""
    if value is None:
        return None
    if _decodes_itself(schema):
        return refusal_alone(schema, as_json(value))
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


def _decodes_itself(schema: Schema) -> bool:
    if schema.format in _SELF_DECODING or schema.type is SchemaType.INT_OR_STRING:
        return True
    return schema.format.startswith("schema-or-")


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


def unknown_fields(schema: Schema, value: Any) -> list[str]:
    """What the converter says of fields that a type does not have, sorted, as often as they are found.

    Unlike the decoder it knows no limit, quotes names as they are, and passes over keys of maps on its way.
    """
    return sorted(f'unknown field "{path}"' for path in _unknown(schema, value, ""))


def _unknown(schema: Schema, value: Any, path: str) -> Iterator[str]:
    if schema.type is SchemaType.STRUCT and value.__class__ is dict:
        for name, item in value.items():
            inner = f"{path}.{name}" if path else name
            if field := schema.fields.get(name):
                yield from _unknown(field.schema, item, inner)
            else:
                yield inner
    elif schema.element is None:
        return
    elif schema.type is SchemaType.LIST and value.__class__ is list:
        for index, item in enumerate(value):
            yield from _unknown(schema.element, item, f"{path}[{index}]")
    elif schema.type is SchemaType.MAP and value.__class__ is dict:
        for item in value.values():
            yield from _unknown(schema.element, item, path)


def restored(schema: Schema, value: Any) -> Any:
    """A value that fits its schema, with numbers as the converter leaves them; containers are changed in place."""
    kind = value.__class__
    if schema.type is SchemaType.STRUCT and kind is dict:
        for name, field in schema.fields.items():
            if name in value:
                value[name] = restored(field.schema, value[name])
    elif schema.type is SchemaType.LIST and kind is list and schema.element is not None:
        value[:] = [restored(schema.element, item) for item in value]
    elif schema.type is SchemaType.MAP and kind is dict and schema.element is not None:
        for key, item in value.items():
            value[key] = restored(schema.element, item)
    elif schema.type is SchemaType.INTEGER:
        return _cut_off(value, _BITS.get(schema.format, 64), signed=not schema.format.startswith("u"))
    elif schema.type is not SchemaType.NUMBER:
        return as_json(value)
    return value


_BITS = {"int32": 32, "uint32": 32}


def _cut_off(value: Any, bits: int, *, signed: bool) -> Any:
    """A number as Go converts it to an integer of so many bits, on the machines that it mostly runs on."""
    if value.__class__ is float:
        value = int(value) if -(2.0**63) <= value < 2.0**63 else -(2**63)
    if value.__class__ is not int:
        return value
    value &= (1 << bits) - 1
    return value - (1 << bits) if signed and value >> (bits - 1) else value


def as_json(value: Any) -> Any:
    """A value that was written as JSON by Go and read again: whole floats below 1e21 are written as integers."""
    if value.__class__ is float:
        return int(Decimal(repr(value))) if value.is_integer() and abs(value) < 1e21 else value
    if value.__class__ is list:
        return [as_json(item) for item in value]
    if value.__class__ is dict:
        return {key: as_json(item) for key, item in value.items()}
    return value


_MAY_BE_LARGE = re.compile(rb"[0-9]{19}")


def go_numbers(body: bytes, value: Any) -> Any:
    """What was read from a body, with floats for integers that are too large for Go's int64."""
    return _with_floats(value) if _MAY_BE_LARGE.search(body) else value


def _with_floats(value: Any) -> Any:
    if value.__class__ is int:
        return value if -(2**63) <= value < 2**63 else float(value)
    if value.__class__ is list:
        return [_with_floats(item) for item in value]
    if value.__class__ is dict:
        return {key: _with_floats(item) for key, item in value.items()}
    return value
