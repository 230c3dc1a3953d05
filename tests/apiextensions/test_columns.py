"""What printer columns show of values of all sorts."""

from __future__ import annotations

from typing import Any

import pytest

from watchkeeper.apiextensions.serving.columns import table_of

NOW = 1_700_000_000.0
"""2023-11-14T22:13:20Z"""


def cell(kind: str, value: Any, path: str = ".spec.v") -> Any:
    table = table_of([{"name": "V", "type": kind, "jsonPath": path}])
    assert table.cells is not None
    return table.cells({"metadata": {"name": "a"}, "spec": {"v": value}}, NOW)[1]


@pytest.mark.parametrize(
    ("kind", "value", "shown"),
    [
        ("integer", 3, 3),
        ("integer", 3.9, 3),
        ("integer", "3", None),
        ("integer", 1e21, -(2**63)),
        ("number", 1.5, 1.5),
        ("number", 9007199254740993, 9007199254740992),
        ("boolean", True, True),
        ("boolean", "true", None),
        ("string", "text", "text"),
        ("string", 3, "3"),
        ("string", 1e21, "1e+21"),
        ("string", False, "false"),
        ("string", {"b": "<&>", "a": [1, None]}, '{"a":[1,null],"b":"\\u003c\\u0026\\u003e"}'),
        ("date", "2023-11-14T22:08:20Z", "5m"),
        ("date", "2023-11-14T23:08:20.5+01:00", "5m"),
        ("date", "2023-11-14T22:08Z", "<invalid>"),
        ("date", "20231114T220820Z", "<invalid>"),
        ("date", "2023-11-14", "<invalid>"),
        ("date", "2024-11-14T22:08:20Z", "<invalid>"),
        ("date", "0001-01-01T00:00:00Z", "<unknown>"),
        ("date", "", "<unknown>"),
        ("date", 5, None),
    ],
)
def test_a_cell_shows_a_value_as_its_column_type_asks(kind: str, value: Any, shown: Any) -> None:
    assert cell(kind, value) == shown


def test_a_path_that_leads_nowhere_leaves_its_column_empty_and_one_that_is_none_ends_them() -> None:
    columns = [
        {"name": name, "type": "integer", "jsonPath": path} for name, path in (("A", "spec.v"), ("B", ".spec.v"))
    ]
    table = table_of(columns)
    assert table.cells is not None
    assert table.cells({"metadata": {"name": "a"}, "spec": {"v": 3}}, NOW) == ["a", None, 3]
    assert [column.name for column in table_of([{**columns[0], "jsonPath": ".a["}, columns[1]]).columns] == ["Name"]


def test_bytes_of_a_text_are_no_numbers_though_they_print_as_some() -> None:
    shown = {kind: cell(kind, "abc", ".spec.v.*") for kind in ("string", "integer", "number", "boolean", "date")}
    assert shown == {"string": "97", "integer": None, "number": None, "boolean": None, "date": None}
