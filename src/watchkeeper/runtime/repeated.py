"""Fields that a JSON text sets twice: finding them, and what they add up to."""

from __future__ import annotations

from typing import Any

import orjson

from watchkeeper.runtime.json_text import read_leniently
from watchkeeper.runtime.schema import Field, Schema, SchemaType


class Pairs(list[tuple[str, Any]]):
    """An object as the list of its fields, repeated ones included."""


def repeats_fields(data: bytes, parsed: Any) -> bool:
    """Whether some object in a JSON text may name a field twice, so that parsing has lost one. Rarely wrong, cheap.

    Each field has a colon, and colons within texts come out as they went in, unless escapes spell them; so parsed and
    written again a text without repeated fields has as many colons as before.
    """
    escapes = b"\\" in data and b"\\u" in data
    return escapes or data.count(b":") != orjson.dumps(parsed).count(b":")


def read_pairs(data: bytes) -> Any:
    """Parse well-formed JSON, keeping objects as `Pairs`. Raises JsonError."""
    return read_leniently(data, Pairs)


def settled(schema: Schema | None, value: Any, earlier: Any = None) -> Any:
    """What decoding `value` over an earlier value of the same field gives, as dicts and lists.

    Structs and maps are merged, lists item by item; everything else counts as it comes last. Without a schema the last
    value counts.
    """
    kind = schema.type if schema is not None else SchemaType.ANY
    if isinstance(value, Pairs):
        found: dict[str, Any] = earlier if isinstance(earlier, dict) and kind is not SchemaType.ANY else {}
        if schema is not None and kind is SchemaType.STRUCT:
            for name, each in value:
                _set_field(found, name, each, schema.fields.get(name))
        else:
            element = schema.element if schema is not None else None
            found.update((name, settled(element, each)) for name, each in value)
        return found
    if isinstance(value, list):
        element = schema.element if schema is not None else None
        before = earlier if isinstance(earlier, list) and element is not None else []
        return [settled(element, each, before[i] if i < len(before) else None) for i, each in enumerate(value)]
    return value


def _set_field(found: dict[str, Any], name: str, value: Any, field: Field | None) -> None:
    if field is None:
        found[name] = settled(None, value)
    elif value is None and name in found and not _nullable(field):
        return
    else:
        found[name] = settled(field.schema, value, found.get(name))


def _nullable(field: Field) -> bool:
    """Whether null unsets the field; elsewhere null has no effect."""
    kinds = (SchemaType.LIST, SchemaType.MAP, SchemaType.ANY)
    return field.pointer or field.schema.type in kinds or field.schema.format == "byte"
