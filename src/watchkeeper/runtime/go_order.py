"""Values as Go's encoder writes them: the fields of structs in the order in which their types declare them."""

from __future__ import annotations

from typing import Any

from watchkeeper.meta.field import in_key_order
from watchkeeper.runtime.schema import Schema, SchemaType


def in_go_order(value: Any, schema: Schema) -> Any:
    """JSON with its fields in the order of its type, and the keys of maps sorted."""
    element = schema.element
    if isinstance(value, dict):
        if schema.type is SchemaType.STRUCT:
            return _in_field_order(value, schema)
        if element is not None:
            if schema.type is SchemaType.ANY:  # what may be one thing or several
                return in_go_order(value, element)
            return {key: in_go_order(value[key], element) for key in sorted(value)}
    elif isinstance(value, list) and element is not None:
        return [in_go_order(item, element) for item in value]
    return in_key_order(value)


def _in_field_order(value: dict[str, Any], schema: Schema) -> dict[str, Any]:
    known = {name: in_go_order(value[name], each.schema) for name, each in schema.fields.items() if name in value}
    if len(known) < len(value):
        known.update((name, in_key_order(value[name])) for name in sorted(value) if name not in known)
    return known
