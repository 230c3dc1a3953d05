"""Custom resources that others stored before metadata was checked can be read, without what cannot be understood."""

from __future__ import annotations

import copy
from typing import Any

import orjson
import pytest

from watchkeeper.apiextensions.schema.stored_metadata import readable_metadata
from watchkeeper.apiextensions.serving.version import CompiledVersion
from watchkeeper.meta.gvk import GroupVersionKind
from watchkeeper.runtime.scheme import DecodeError

ORDINARY = {
    "name": "a",
    "namespace": "default",
    "uid": "4ed1d044-842f-4334-8825-8a5b73fd2fc1",
    "generation": 3,
    "creationTimestamp": "2026-11-29T16:41:49Z",
    "labels": {"a": "b"},
    "finalizers": ["example.io/f"],
    "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u", "controller": True}],
    "managedFields": [
        {"manager": "m", "operation": "Update", "time": "2026-11-29T16:41:49Z", "fieldsV1": {"f:spec": {}}},
    ],
}
SCHEMA = orjson.dumps(
    {
        "type": "object",
        "properties": {
            "inner": {
                "type": "object",
                "x-kubernetes-embedded-resource": True,
                "x-kubernetes-preserve-unknown-fields": True,
            }
        },
    }
)


def version() -> CompiledVersion:
    return CompiledVersion(GroupVersionKind("example.io", "v1", "Widget"), SCHEMA)


def test_what_a_server_wrote_is_not_copied() -> None:
    assert readable_metadata(ORDINARY) is ORDINARY


@pytest.mark.parametrize(
    ("field", "value", "left"),
    [
        ("annotations", {"a": 1, "b": "c"}, None),
        ("labels", {"a": "not a value!"}, {"a": "not a value!"}),
        ("generation", "1", None),
        ("generation", 0, None),
        ("creationTimestamp", "yesterday", None),
        ("finalizers", [1], None),
        ("ownerReferences", [{"name": 1}], None),
        ("managedFields", [{"time": "yesterday"}], None),
        ("odd", "value", None),
    ],
)
def test_a_field_that_cannot_be_read_is_left_out(field: str, value: Any, left: Any) -> None:
    found = readable_metadata({"name": "a", field: value})
    assert (found["name"], found.get(field)) == ("a", left)


def test_unknown_fields_of_owners_are_left_out() -> None:
    [owner] = readable_metadata({"ownerReferences": [{"name": "a", "odd": "b"}]})["ownerReferences"]
    assert owner["name"] == "a"
    assert "odd" not in owner


def test_the_metadata_of_resources_inside_is_read_alike() -> None:
    broken = {"name": "a", "annotations": {"a": 1}, "labels": {"a": "x y"}, "odd": 1}
    stored = {
        "apiVersion": "example.io/v1",
        "kind": "Widget",
        "metadata": copy.deepcopy(broken),
        "inner": {"apiVersion": "v1", "kind": 7, "metadata": copy.deepcopy(broken)},
    }
    with pytest.raises(DecodeError):
        version().prune(copy.deepcopy(stored))
    found = version().on_read(stored)
    assert found["metadata"] == {"name": "a", "labels": {"a": "x y"}, "generation": 1}
    assert found["inner"] == {"apiVersion": "v1", "metadata": {"name": "a", "labels": {"a": "x y"}}}


def test_what_is_stored_without_a_generation_has_the_first() -> None:
    assert version().on_read({"metadata": {"name": "a"}})["metadata"]["generation"] == 1
    assert version().on_read({"metadata": dict(ORDINARY)})["metadata"]["generation"] == 3
