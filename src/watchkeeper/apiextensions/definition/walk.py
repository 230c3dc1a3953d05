"""Goes through the schemas in a schema."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Json = Any


def walk(schema: Json) -> Iterator[Json]:
    """A schema and all schemas in it, each before those in it."""
    todo = [schema]
    while todo:
        node = todo.pop()
        yield node
        if not _WITH_SCHEMAS.isdisjoint(node):
            below = list(_below(node))
            todo += reversed(below)


def _below(schema: Json) -> Iterator[Json]:
    items = schema.get("items")
    for sub in items if isinstance(items, list) else [items]:
        if sub is not None:
            yield sub
    for keyword in ("allOf", "anyOf", "oneOf"):
        yield from schema.get(keyword) or ()
    if schema.get("not") is not None:
        yield schema["not"]
    yield from (schema.get("properties") or {}).values()
    for keyword in ("additionalProperties", "additionalItems"):
        if isinstance(schema.get(keyword), dict):
            yield schema[keyword]
    for keyword in ("patternProperties", "definitions", "dependencies"):
        for sub in (schema.get(keyword) or {}).values():
            if isinstance(sub, dict):
                yield sub


_WITH_SCHEMAS = frozenset(
    {"items", "allOf", "anyOf", "oneOf", "not", "properties", "additionalProperties", "additionalItems"}
    | {"patternProperties", "definitions", "dependencies"}
)
