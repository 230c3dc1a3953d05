"""Values that a schema holds as they are: defaults, enumerations and examples, with numbers as Go writes them."""

from __future__ import annotations

import re
from typing import Any

import orjson

from watchkeeper.apiextensions.definition.walk import walk

Json = Any

_FRACTION = re.compile(rb"[:,\[]-?[0-9]+(?:\.[0-9]|[eE])")
_EMBEDDED, _DEFAULT = b'"x-kubernetes-embedded-resource":true', b'"default":'
_MAX_INT, _MIN_INT = 2**63 - 1, -(2**63)


def settle_values(definition: dict[str, Any]) -> None:
    """Write values as they are once they have been read, in place.

    Doubles without a fraction are integers, and metadata of resources in defaults has only what it can have.
    """
    versions = (definition.get("spec") or {}).get("versions") or ()
    for schema in [(v.get("schema") or {}).get("openAPIV3Schema") for v in versions]:
        if not schema:
            continue
        # Few schemas have such values, and to look for them in the text is a fraction of a walk.
        text = orjson.dumps(schema)
        if _EMBEDDED in text and _DEFAULT in text:
            from watchkeeper.apiextensions.definition.default_values import settle_metadata

            settle_metadata(schema)
        if _FRACTION.search(text):
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
