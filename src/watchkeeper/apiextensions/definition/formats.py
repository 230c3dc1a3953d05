"""Formats in schemas that nobody checks."""

from __future__ import annotations

from typing import Any

from watchkeeper.apiextensions.definition.spec import read_spec
from watchkeeper.apiextensions.definition.walk import walk
from watchkeeper.cel.formats import format_check

_NUMBER_FORMATS = {"integer": ("int32", "int64"), "number": ("float", "double")}


def unknown_formats(definition: dict[str, Any]) -> list[str]:
    """All formats of a definition's schemas that are unknown for their type, in the order in which they are found."""
    found: list[str] = []
    for schema in read_spec(definition).schemas():
        for node in walk(schema):
            form, kind = node.get("format") or "", node.get("type") or ""
            if not form:
                continue
            known = _NUMBER_FORMATS.get(kind, ())
            if form not in known and (kind not in ("", "string") or format_check(form) is None):
                found.append(form)
    return found
