"""Defaults are filled in without what would not stay in an object."""

from __future__ import annotations

from typing import Any

import orjson

from watchkeeper.apiextensions.schema.defaulting import compile_defaulter
from watchkeeper.apiextensions.schema.settled_defaults import settle_defaults
from watchkeeper.apiextensions.schema.structural import read_structural
from watchkeeper.apiextensions.serving.version import CompiledVersion
from watchkeeper.meta.gvk import GroupVersionKind

RESOURCE = {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
TEXT = {"type": "string"}


def schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def filled(found: dict[str, Any], value: Any) -> Any:
    root = read_structural(found)
    settle_defaults(root)
    fill = compile_defaulter(root)
    if fill is not None:
        fill(value)
    return value


def test_fields_that_metadata_does_not_have_are_not_filled_in() -> None:
    metadata = schema(name={**TEXT, "default": "n"}, odd={**TEXT, "default": "o"})
    found = schema(inner={**RESOURCE, "properties": {"metadata": metadata}})
    assert filled(found, {"inner": {"metadata": {}}}) == {"inner": {"metadata": {"name": "n"}}}


def test_the_default_of_metadata_loses_them() -> None:
    metadata = {"type": "object", "default": {"name": "n", "odd": "o"}}
    inner = {**RESOURCE, "properties": {"metadata": metadata}}
    assert filled(schema(inner=inner), {"inner": {}}) == {"inner": {"metadata": {"name": "n"}}}
    items = schema(all={"type": "array", "items": inner})
    assert filled(items, {"all": [{}]}) == {"all": [{"metadata": {"name": "n"}}]}
    values = schema(all={"type": "object", "additionalProperties": inner})
    assert filled(values, {"all": {"x": {}}}) == {"all": {"x": {"metadata": {"name": "n"}}}}


def test_defaults_of_old_definitions_lose_what_the_schema_does_not_name() -> None:
    found = schema(spec={**schema(a=TEXT), "default": {"a": "x", "b": "y"}})
    assert filled(found, {}) == {"spec": {"a": "x"}}
    kept = schema(spec={**schema(a=TEXT), "x-kubernetes-preserve-unknown-fields": True, "default": {"b": "y"}})
    assert filled(kept, {}) == {"spec": {"b": "y"}}


def test_a_definition_that_keeps_unknown_fields_keeps_them_in_defaults() -> None:
    text = orjson.dumps(schema(spec={**schema(a=TEXT), "default": {"a": "x", "b": "y"}}))
    gvk = GroupVersionKind("example.io", "v1", "Widget")
    for keep, expected in ((False, {"a": "x"}), (True, {"a": "x", "b": "y"})):
        root = CompiledVersion(gvk, text, keep_unknown=keep).root
        assert root is not None
        assert root.properties["spec"].default == expected
