"""What of a schema decides how stored objects read: its structure, without all that only validates."""

from __future__ import annotations

from typing import Any

import orjson

_STRUCTURE = (
    "type",
    "nullable",
    "default",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-embedded-resource",
    "x-kubernetes-int-or-string",
)


def skeleton(schema_json: bytes | None) -> bytes:
    """The structure of a schema, encoded: two schemas with the same read alike."""
    if schema_json is None:
        return b""
    return orjson.dumps(_structure(orjson.loads(schema_json)), option=orjson.OPT_SORT_KEYS)


def _structure(schema: Any) -> Any:
    if not isinstance(schema, dict):
        return schema
    found = {key: schema[key] for key in _STRUCTURE if key in schema}
    if "properties" in schema:
        found["properties"] = {name: _structure(sub) for name, sub in (schema["properties"] or {}).items()}
    for key in ("items", "additionalProperties"):
        if schema.get(key) is not None:
            found[key] = _structure(schema[key])
    return found
