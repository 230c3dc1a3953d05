"""Values that a schema holds as they are: defaults, enumerations and examples, with numbers as Go writes them."""

from __future__ import annotations

import re
from typing import Any

import orjson

from watchkeeper.apiextensions.definition.walk import walk

Json = Any

_FRACTION = re.compile(rb"[:,\[]-?[0-9]+(?:\.[0-9]|[eE])")
_MAX_INT, _MIN_INT = 2**63 - 1, -(2**63)


def settle_numbers(definition: dict[str, Any]) -> None:
    """Write doubles without a fraction as integers, in place: that is what they are once they have been read."""
    versions = (definition.get("spec") or {}).get("versions") or ()
    schemas = [(v.get("schema") or {}).get("openAPIV3Schema") for v in versions]
    for schema in schemas:
        # Few schemas have such numbers, and to look for them in the text is a fraction of a walk.
        if schema and _FRACTION.search(orjson.dumps(schema)):
            for node in walk(schema):
                for keyword in ("default", "enum", "example"):
                    if keyword in node:
                        node[keyword] = _settled(node[keyword])


def _settled(value: Json) -> Json:
    if isinstance(value, float):
        return int(value) if value.is_integer() and _MIN_INT <= value <= _MAX_INT else value
    if isinstance(value, list):
        return [_settled(item) for item in value]
    if isinstance(value, dict):
        return {key: _settled(item) for key, item in value.items()}
    return value
