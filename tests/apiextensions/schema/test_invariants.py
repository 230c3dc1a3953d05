"""What makes a schema structural."""

from __future__ import annotations

from typing import Any

import pytest

from watchkeeper.apiextensions.schema.invariants import validate_structural
from watchkeeper.apiextensions.schema.structural import NotStructural, read_structural


def _violations(schema: dict[str, Any]) -> list[str]:
    return [str(e) for e in validate_structural(read_structural(schema), "s")]


def _with(child: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": child}}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({}, ["s.type: Required value: must not be empty at the root"]),
        ({"type": "string"}, ['s.type: Invalid value: "string": must be object at the root']),
        (_with({}), ["s.properties[a].type: Required value: must not be empty for specified object fields"]),
        (_with({"type": "array"}), ["s.properties[a].items: Required value: must be specified"]),
        (
            _with({"type": "array", "items": {}}),
            ["s.properties[a].items.type: Required value: must not be empty for specified array items"],
        ),
        (
            {"type": "object", "additionalProperties": {"type": "string"}},
            ["s.additionalProperties: Forbidden: must not be used at the root"],
        ),
        (
            _with({"type": "integer", "anyOf": [{"type": "integer"}]}),
            ["s.properties[a].anyOf[0].type: Forbidden: must be empty to be structural"],
        ),
        (
            _with({"type": "integer", "oneOf": [{"x-kubernetes-map-type": "", "title": ""}]}),
            ["s.properties[a].oneOf[0].x-kubernetes-map-type: Forbidden: must be undefined to be structural"],
        ),
        (
            {"type": "object", "oneOf": [{"properties": {"b": {"minLength": 1}}}]},
            ["s.properties[b]: Required value: because it is defined in s.oneOf[0].properties[b]"],
        ),
        (
            {
                "type": "object",
                "properties": {"metadata": {"type": "object", "properties": {"labels": {"type": "object"}}}},
            },
            [
                "s.properties[metadata]: Forbidden: must not specify anything other than name and generateName, "
                "but metadata is implicitly specified"
            ],
        ),
        (
            _with({"x-kubernetes-int-or-string": True, "x-kubernetes-preserve-unknown-fields": True}),
            [
                "s.properties[a].x-kubernetes-preserve-unknown-fields: Invalid value: true: "
                "must be false if x-kubernetes-int-or-string is true"
            ],
        ),
        (
            _with({"type": "object", "x-kubernetes-embedded-resource": True}),
            [
                "s.properties[a].properties: Required value: must not be empty if "
                "x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields"
            ],
        ),
        (_with({"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]}), []),
        (_with({"type": "object", "oneOf": [{"required": ["x"]}]}), []),
    ],
)
def test_violations_are_told(schema: dict[str, Any], expected: list[str]) -> None:
    assert _violations(schema) == expected


@pytest.mark.parametrize("word", ["$ref", "definitions", "patternProperties", "additionalItems"])
def test_parts_that_no_structural_schema_has_are_refused(word: str) -> None:
    with pytest.raises(NotStructural, match="is not supported"):
        read_structural({"type": "object", word: {"a": {}} if word != "$ref" else "#/x"})


def test_of_parts_that_are_refused_only_additional_items_count_when_they_say_nothing() -> None:
    assert read_structural({"type": "object", "definitions": {}, "$ref": ""}).type == "object"
    with pytest.raises(NotStructural, match="'additionalItems' is not supported"):
        read_structural({"type": "object", "additionalItems": {}})
