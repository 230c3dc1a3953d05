"""Goes through the schemas in a schema."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Json = Any


def walk(schema: Json) -> Iterator[Json]:
    """A schema and all schemas in it."""
    yield schema
    items = schema.get("items")
    for sub in items if isinstance(items, list) else [items]:
        if sub is not None:
            yield from walk(sub)
    for keyword in ("allOf", "anyOf", "oneOf"):
        for sub in schema.get(keyword) or ():
            yield from walk(sub)
    if schema.get("not") is not None:
        yield from walk(schema["not"])
    for sub in (schema.get("properties") or {}).values():
        yield from walk(sub)
    for keyword in ("additionalProperties", "additionalItems"):
        if isinstance(schema.get(keyword), dict):
            yield from walk(schema[keyword])
    for keyword in ("patternProperties", "definitions", "dependencies"):
        for sub in (schema.get(keyword) or {}).values():
            if isinstance(sub, dict):
                yield from walk(sub)
