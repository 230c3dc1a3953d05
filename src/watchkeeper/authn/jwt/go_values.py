"""How Go's encoding/json finds the fields of a struct, and what it calls the kinds of values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

KINDS = {bool: "bool", int: "number", float: "number", list: "array", dict: "object"}
"""What a value is called that is of a wrong type; a text is a `string`."""


def field_of(given: Mapping[str, Any], name: str) -> Any:
    """What stands under a name in lower case, however that is spelled; the last one of several, None for nothing."""
    found = None
    for key, value in given.items():
        if is_field(key, name):
            found = value
    return found


def is_field(key: str, name: str) -> bool:
    """Whether a key of an object is a name in lower case: in any case, and with the letters that fold to it."""
    return key.lower().replace("\u017f", "s") == name
