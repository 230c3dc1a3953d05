"""In which order the outcome of a patch stands in errors."""

from __future__ import annotations

import json
from typing import Any

import pytest

from watchkeeper.apis.schema_data import kind_schema
from watchkeeper.meta.gvk import GroupVersionKind
from watchkeeper.runtime.go_order import in_go_order
from watchkeeper.runtime.patch import JsonPatch, MergePatch, outcome_in_order, outcome_text

POD = kind_schema(GroupVersionKind("", "v1", "Pod"))
STORED: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"labels": {"b": "1", "a": "2"}, "name": "p", "uid": "u"},
    "spec": {"containers": [{"image": "i", "name": "c", "resources": {}}], "dnsPolicy": "Default", "hostPID": True},
}
BEFORE = in_go_order(STORED, POD)


def test_what_the_encoder_wrote_is_in_the_order_of_its_types() -> None:
    assert list(BEFORE["metadata"]) == ["name", "uid", "labels"]
    assert list(BEFORE["metadata"]["labels"]) == ["a", "b"]
    assert list(BEFORE["spec"]) == ["containers", "dnsPolicy", "hostPID"]
    assert list(BEFORE["spec"]["containers"][0]) == ["name", "image", "resources"]


def test_a_schema_within_a_schema_is_in_the_order_of_its_type() -> None:
    definition = kind_schema(GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition"))
    text = {"enum": ["x"], "type": "string"}
    schema = {"items": text, "additionalProperties": text, "allOf": [text], "properties": {"b": text, "a": text}}
    stored = {"spec": {"versions": [{"schema": {"openAPIV3Schema": schema}}]}}
    shown = in_go_order(stored, definition)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    assert list(shown["properties"]) == ["a", "b"]
    within = [shown["items"], shown["additionalProperties"], *shown["allOf"], *shown["properties"].values()]
    assert [list(each) for each in within] == [["type", "enum"]] * 5


@pytest.mark.parametrize(
    ("patch", "metadata", "spec"),
    [
        ({}, ["name", "uid", "labels"], ["containers", "dnsPolicy", "hostPID"]),
        ({"metadata": {"z": 1}}, ["labels", "name", "uid", "z"], ["containers", "dnsPolicy", "hostPID"]),
        ({"spec": {"a": None}}, ["name", "uid", "labels"], ["containers", "dnsPolicy", "hostPID"]),
        ({"spec": {"b": {"d": 1, "c": 2}}}, ["name", "uid", "labels"], ["b", "containers", "dnsPolicy", "hostPID"]),
    ],
)
def test_a_merge_patch_sorts_what_it_leads_into(patch: Any, metadata: list[str], spec: list[str]) -> None:
    found = outcome_in_order(MergePatch(json.dumps(patch).encode()), BEFORE)
    assert (list(found["metadata"]), list(found["spec"])) == (metadata, spec)
    assert list(found["spec"]["containers"][0]) == ["name", "image", "resources"]
    assert list(found["spec"].get("b") or "cd") == ["c", "d"]


def test_a_json_patch_leaves_its_values_as_they_were_sent() -> None:
    operations = [{"op": "add", "path": "/spec/containers/0/x", "value": {"z": {"d": 1, "c": 2}, "y": 1}}]
    found = outcome_in_order(JsonPatch(json.dumps(operations).encode()), BEFORE)
    assert list(found["metadata"]) == ["name", "uid", "labels"]
    assert list(found["spec"]["containers"][0]) == ["image", "name", "resources", "x"]
    assert list(found["spec"]["containers"][0]["x"]) == ["z", "y"]
    assert list(found["spec"]["containers"][0]["x"]["z"]) == ["d", "c"]


def test_what_a_json_patch_leads_into_of_its_own_values_is_sorted() -> None:
    operations = [
        {"op": "add", "path": "/spec/x", "value": {"z": {"d": 1, "c": 2}, "y": 1}},
        {"op": "add", "path": "/spec/x/a", "value": 1},
    ]
    found = outcome_in_order(JsonPatch(json.dumps(operations).encode()), BEFORE)
    assert list(found["spec"]["x"]) == ["a", "y", "z"]
    assert list(found["spec"]["x"]["z"]) == ["d", "c"]


def test_copies_stay_as_their_originals_are_and_tests_lead_into_what_they_look_at() -> None:
    operations = [
        {"op": "add", "path": "/spec/z", "value": {"d": {"b": 1, "a": 2}, "c": 3}},
        {"op": "test", "path": "/spec/z/c", "value": 3},
        {"op": "copy", "from": "/spec/z", "path": "/spec/y"},
        {"op": "copy", "from": "/spec/containers/0", "path": "/spec/containers/-"},
    ]
    found = outcome_in_order(JsonPatch(json.dumps(operations).encode()), BEFORE)
    assert list(found["spec"]) == ["containers", "dnsPolicy", "hostPID", "y", "z"]
    assert [list(found["spec"][name]) for name in "yz"] == [["c", "d"]] * 2
    assert [list(found["spec"][name]["d"]) for name in "yz"] == [["b", "a"]] * 2
    assert [list(container) for container in found["spec"]["containers"]] == [["name", "image", "resources"]] * 2


def test_a_copy_into_its_original_is_sorted_as_that_is_led_into_first() -> None:
    operations = [{"op": "copy", "from": "/spec/containers/0", "path": "/spec/containers/0/x"}]
    (container,) = outcome_in_order(JsonPatch(json.dumps(operations).encode()), BEFORE)["spec"]["containers"]
    assert list(container) == ["image", "name", "resources", "x"]
    assert list(container["x"]) == ["image", "name", "resources"]


def test_a_test_sorts_all_parts_of_what_it_compares() -> None:
    containers = BEFORE["spec"]["containers"]
    operations = [{"op": "test", "path": "/spec/containers", "value": containers}]
    found = outcome_in_order(JsonPatch(json.dumps(operations).encode()), BEFORE)
    assert list(found["spec"]["containers"][0]) == ["image", "name", "resources"]
    assert list(found["metadata"]) == ["name", "uid", "labels"]
    operations = [
        {"op": "test", "path": "/metadata/absent", "value": None},
        {"op": "test", "path": "", "value": BEFORE},
    ]
    found = outcome_in_order(JsonPatch(json.dumps(operations).encode()), BEFORE)
    assert list(found["metadata"]) == ["labels", "name", "uid"]


def test_a_value_in_place_of_the_whole_is_sorted_itself() -> None:
    operations = [{"op": "replace", "path": "", "value": {"kind": "Pod", "apiVersion": "v1", "a": {"z": 1, "b": 2}}}]
    found = outcome_in_order(JsonPatch(json.dumps(operations).encode()), BEFORE)
    assert (list(found), list(found["a"])) == (["a", "apiVersion", "kind"], ["z", "b"])


def test_numbers_are_shown_as_they_were_sent_whether_they_are_copied_or_tested() -> None:
    body = b"""[
        {"op": "add", "path": "/a", "value": {"x": 1.50}},
        {"op": "test", "path": "/a/x", "value": 1.5},
        {"op": "copy", "from": "/a", "path": "/b"},
        {"op": "add", "path": "/b/y", "value": 1e2}
    ]"""
    found = outcome_in_order(JsonPatch.as_written(body), {})
    assert outcome_text(found) == '{"a":{"x":1.50},"b":{"x":1.50,"y":1e2}}'
