"""Printer columns of a custom resource, as a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from watchkeeper.apis.behavior import Column, TableSpec
from watchkeeper.apis.printing import human_duration, parse_time
from watchkeeper.cel.conversions import format_double
from watchkeeper.meta.field import go_json
from watchkeeper.registry.table import NAME_DESCRIPTION
from watchkeeper.runtime.jsonpath import JSONPathError, Path, compile_path
from watchkeeper.runtime.timestamps import TimeError, canonical_time

Object = dict[str, Any]
Cell = Callable[[Any, float], Any]
"""(value, now) -> what the cell shows."""

DEFAULT_COLUMNS: tuple[Object, ...] = (
    {
        "name": "Age",
        "type": "date",
        "jsonPath": ".metadata.creationTimestamp",
        "description": (
            "CreationTimestamp is a timestamp representing the server time when this object was created. It is not "
            "guaranteed to be set in happens-before order across separate operations. Clients may not set this value. "
            "It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. "
            "More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
        ),
    },
)
"""What a version shows that names no columns."""

SCALE_COLUMNS: tuple[Object, ...] = (
    {
        "name": "Desired",
        "type": "integer",
        "jsonPath": ".spec.replicas",
        "description": "Number of desired replicas",
    },
    {
        "name": "Available",
        "type": "integer",
        "jsonPath": ".status.replicas",
        "description": "Number of actual replicas",
    },
    *DEFAULT_COLUMNS,
)
"""What is shown of a custom resource's Scale."""

_NAME = Column("Name", "string", NAME_DESCRIPTION, format="name")
_LEAST = -(2**63)


def table_of(columns: Sequence[Object]) -> TableSpec:
    """The table of a version with these columns. One path that is none, and only names are shown."""
    shown: list[Column] = [_NAME]
    cells: list[tuple[Path, Cell]] = []
    for column in columns or DEFAULT_COLUMNS:
        source = column.get("jsonPath") or ""
        try:
            path = compile_path(source)
        except JSONPathError:
            break
        description = column.get("description") or f"Custom resource definition column (in JSONPath format): {source}"
        kind = column.get("type") or ""
        shown.append(
            Column(
                column.get("name") or "",
                kind,
                description,
                format=column.get("format") or "",
                priority=column.get("priority") or 0,
            )
        )
        cells.append((path, _CELLS.get(kind, _nothing)))
    return TableSpec(columns=tuple(shown), cells=_row(tuple(cells)))


def _row(cells: tuple[tuple[Path, Cell], ...]) -> Callable[[Object, float], list[Any]]:
    def row(obj: Object, now: float) -> list[Any]:
        found: list[Any] = [(obj.get("metadata") or {}).get("name", "")]
        for path, cell in cells:
            try:
                values = path(obj)
            except JSONPathError:
                values = []
            found.append(cell(values[0], now) if values else None)
        return found

    return row


def _nothing(value: Any, now: float) -> Any:
    return None


def _text(value: Any, now: float) -> Any:
    """As JSONPath prints a value."""
    kind = value.__class__
    if kind is str:
        return value
    if kind is bool:
        return "true" if value else "false"
    if value is None:
        return "<no value>"
    if kind is float:
        return format_double(value)
    if kind is int:
        return str(value)
    return go_json(value)


def _integer(value: Any, now: float) -> Any:
    if value.__class__ is int:
        return value
    if value.__class__ is not float:
        return None
    # What does not fit becomes the least integer, as the reference's processors have it.
    return int(value) if _LEAST <= value < -_LEAST else _LEAST


def _number(value: Any, now: float) -> Any:
    """As a double, which has no fraction to show if it is whole."""
    if value.__class__ is int:
        return int(float(value)) if abs(value) < 2**62 else float(value)
    return value if value.__class__ is float else None


def _boolean(value: Any, now: float) -> Any:
    return value if value.__class__ is bool else None


def _date(value: Any, now: float) -> Any:
    if value.__class__ is not str:
        return None
    try:
        moment = canonical_time(value) if value not in ("", "null") else None
    except TimeError:
        return "<invalid>"
    return "<unknown>" if moment is None else human_duration(now - parse_time(moment))


_CELLS: dict[str, Cell] = {
    "string": _text,
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "date": _date,
}
