"""Embedded resources, and lists in which nothing may be twice."""

from __future__ import annotations

from typing import Any

import pytest

from watchkeeper.apiextensions.schema.embedded import compile_coercer, compile_embedded_check, decode_metadata
from watchkeeper.apiextensions.schema.lists import compile_list_check
from watchkeeper.apiextensions.schema.structural import read_structural
from watchkeeper.runtime.scheme import DecodeError

EMBEDDED = {
    "type": "object",
    "properties": {
        "inner": {
            "type": "object",
            "x-kubernetes-embedded-resource": True,
            "x-kubernetes-preserve-unknown-fields": True,
        }
    },
}


def test_metadata_is_read_as_the_kind_of_thing_it_is() -> None:
    unknown: list[str] = []
    assert decode_metadata({"name": "a", "odd": 1, "labels": {"x": "y"}}, unknown, "metadata") == {
        "name": "a",
        "labels": {"x": "y"},
    }
    assert unknown == ["metadata.odd"]
    with pytest.raises(DecodeError, match="cannot unmarshal number into Go struct field ObjectMeta"):
        decode_metadata({"labels": {"x": 1}}, None, "metadata")


def test_the_metadata_of_embedded_resources_is_pruned() -> None:
    coerce = compile_coercer(read_structural(EMBEDDED))
    assert coerce is not None
    unknown: list[str] = []
    value = {"inner": {"apiVersion": "v1", "kind": "K", "metadata": {"name": "a", "odd": 1}}}
    coerce(value, unknown, "")
    assert value["inner"]["metadata"] == {"name": "a"}
    assert unknown == ["inner.metadata.odd"]
    with pytest.raises(DecodeError, match="must be a string"):
        coerce({"inner": {"kind": 1}}, None, "")


def test_embedded_resources_need_their_type_and_good_names() -> None:
    check = compile_embedded_check(read_structural(EMBEDDED))
    assert check is not None
    assert [str(e) for e in check({"inner": {}}, "")] == [
        "inner.apiVersion: Required value",
        "inner.kind: Required value",
    ]
    good = {"apiVersion": "v1", "kind": "K", "metadata": {"name": "a"}}
    assert check({"inner": good}, "") == []
    bad = {"apiVersion": "a/b/c", "kind": "_K", "metadata": {"name": "a/b"}}
    assert [e.field for e in check({"inner": bad}, "")] == ["inner.apiVersion", "inner.kind", "inner.metadata.name"]


def test_schemas_without_embedded_resources_cost_nothing() -> None:
    root = read_structural({"type": "object", "properties": {"a": {"type": "string"}}})
    assert compile_coercer(root) is None
    assert compile_embedded_check(root) is None
    assert compile_list_check(root) is None


def _list(**more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"l": {"type": "array", **more}}}


def test_a_set_has_no_value_twice() -> None:
    check = compile_list_check(read_structural(_list(items={"type": "string"}, **{"x-kubernetes-list-type": "set"})))
    assert check is not None
    assert [str(e) for e in check({"l": ["a", "b", "a", "a", "b"]}, "")] == [
        'l[2]: Duplicate value: "a"',
        'l[4]: Duplicate value: "b"',
    ]
    assert check({"l": ["a", "b"]}, "") == []


def test_a_map_has_no_key_twice_and_missing_keys_are_keys() -> None:
    item = {"type": "object", "properties": {"name": {"type": "string"}, "port": {"type": "integer"}}}
    schema = _list(items=item, **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name", "port"]})
    check = compile_list_check(read_structural(schema))
    assert check is not None
    items = [{"name": "a", "port": 1}, {"name": "a"}, {"name": "a", "port": 1}, {"name": "a"}]
    assert [str(e) for e in check({"l": items}, "")] == [
        'l[2]: Duplicate value: {"name":"a","port":1}',
        'l[3]: Duplicate value: {"name":"a"}',
    ]
