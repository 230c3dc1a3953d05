"""Files that configure a server."""

from __future__ import annotations

from typing import Any

import pytest

from watchkeeper.runtime.config_file import ANYTHING, TEXTS, ConfigFileError, parse_config

SPECS = {
    "g/v1": {"items": [{"name": str, "count": int}], "texts": [str], "any": [ANYTHING], "labels": TEXTS, "on": bool}
}
HEAD = "apiVersion: g/v1\nkind: K\n"


def parse(text: str) -> dict[str, Any]:
    found = parse_config(HEAD + text, "K", SPECS)
    return {name: value for name, value in found.items() if name not in ("apiVersion", "kind")}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("items: [null, {name: a}, {name: null}]", {"items": [{}, {"name": "a"}, {"name": None}]}),
        ("texts: [a, null]", {"texts": ["a", ""]}),
        ("any: [null, 1]", {"any": [None, 1]}),
        ("items: null", {"items": None}),
        ('labels: {a: b}\n"on": true', {"labels": {"a": "b"}, "on": True}),
    ],
)
def test_null_is_nothing_and_in_a_list_an_item_without_anything(text: str, found: dict[str, Any]) -> None:
    assert parse(text) == found


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("items: [{names: a}]", 'strict decoding error: unknown field "items[0].names"'),
        ("items: 5", "json: cannot unmarshal number into field items, which is a list"),
        ("items: [[]]", "json: cannot unmarshal array into field items[0], which is an object"),
        ("items: [{count: a}]", "json: cannot unmarshal string into field items[0].count, which is of type int32"),
        ("texts: [{}]", "json: cannot unmarshal object into field texts[0], which is of type string"),
    ],
)
def test_what_does_not_fit_is_named(text: str, problem: str) -> None:
    with pytest.raises(ConfigFileError) as refused:
        parse(text)
    assert str(refused.value) == problem
