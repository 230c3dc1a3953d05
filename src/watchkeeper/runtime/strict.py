"""Strict decoding: unknown and repeated fields, and how clients are told."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from watchkeeper.meta.field import go_quote
from watchkeeper.runtime.repeated import Pairs
from watchkeeper.runtime.schema import Schema, SchemaType
from watchkeeper.runtime.unmarshal import MAX_STRICT_ERRORS

_STEP = re.compile(r"\[(\d+)\]|([^.\[\]]+)")
_YAML_PREFIXES = ("yaml: unmarshal errors:\n", "error converting YAML to JSON: yaml: unmarshal errors:\n")


def strict_text(errors: Sequence[str]) -> str:
    """All strict errors as one message."""
    return f"strict decoding error: {', '.join(errors)}"


def warnings_of(errors: Sequence[str]) -> list[str]:
    """The warnings that tell of strict errors: one for each, and one for each line of what YAML reports at once."""
    found: list[str] = []
    for error in errors:
        for prefix in _YAML_PREFIXES:
            if error.startswith(prefix):
                found += (line.strip() for line in error.removeprefix(prefix).split("\n"))
                break
        else:
            found.append(error)
    return found


def in_path_order(errors: Sequence[str]) -> list[str]:
    """Errors about fields in the order of a text whose keys are sorted at every level, lists in the order of items."""

    def position(error: str) -> list[tuple[int, str]]:
        steps = _STEP.findall(error.partition('"')[2].rpartition('"')[0])
        return [(int(index), "") if index else (-1, name) for index, name in steps]

    return sorted(errors, key=position)


def strict_errors(schema: Schema | None, pairs: Any) -> list[str]:
    """Unknown and repeated fields of an object kept as `Pairs`, in the order of the text.

    Without a schema every field is known.
    """
    walk = _StrictWalk()
    walk.value(schema, pairs, "")
    return list(walk.errors)[:MAX_STRICT_ERRORS]


class _StrictWalk:
    """Collects what is wrong; each text once."""

    def __init__(self) -> None:
        self.errors: dict[str, None] = {}

    def value(self, schema: Schema | None, value: Any, path: str) -> None:
        """Look into a value. What a self-decoding type decodes is not looked into."""
        if schema is not None and schema.type is SchemaType.ANY and schema.format:
            return
        element = schema.element if schema is not None else None
        if isinstance(value, Pairs):
            if schema is not None and schema.type is SchemaType.STRUCT:
                self._struct(schema, value, path)
            else:
                self._map(element, value, path)
        elif isinstance(value, list):
            for index, item in enumerate(value):
                self.value(element, item, f"{path}[{index}]")

    def _struct(self, schema: Schema, fields: Pairs, path: str) -> None:
        seen: set[str] = set()
        for name, value in fields:
            inner = f"{path}.{name}" if path else name
            field = schema.fields.get(name)
            if field is None:
                self._report("unknown", inner)
                continue
            self._check_repeated(seen, name, inner)
            self.value(field.schema, value, inner)

    def _map(self, element: Schema | None, fields: Pairs, path: str) -> None:
        seen: set[str] = set()
        for name, value in fields:
            inner = f"{path}.{name}" if path else name
            self._check_repeated(seen, name, inner)
            self.value(element, value, inner)

    def _check_repeated(self, seen: set[str], name: str, path: str) -> None:
        if name in seen:
            self._report("duplicate", path)
        seen.add(name)

    def _report(self, what: str, path: str) -> None:
        self.errors[f"{what} field {go_quote(path)}"] = None
