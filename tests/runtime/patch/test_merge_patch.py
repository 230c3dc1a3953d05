from __future__ import annotations

import copy
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from watchkeeper.meta.errors import ApiError
from watchkeeper.runtime.patch import MergePatch


def merge(document: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    before = copy.deepcopy(document)
    outcome = MergePatch(orjson.dumps(patch)).apply(document)
    assert document == before, "the document that was given has changed"
    return outcome


@pytest.mark.parametrize(
    ("document", "patch", "outcome"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
        ({"a": "text"}, {"a": {"b": 1, "c": None}}, {"a": {"b": 1}}),
    ],
)
def test_the_cases_of_rfc_7386(document: dict[str, Any], patch: dict[str, Any], outcome: dict[str, Any]) -> None:
    assert merge(document, patch) == outcome


def test_nulls_in_lists_go_from_objects_unless_the_list_replaces_an_object() -> None:
    assert merge({}, {"a": [{"b": None, "c": 1}, None]}) == {"a": [{"c": 1}, None]}
    assert merge({"a": [1]}, {"a": [{"b": None}]}) == {"a": [{}]}
    assert merge({"a": {"x": 1}}, {"a": [{"b": None}]}) == {"a": [{"b": None}]}


def test_untouched_parts_are_shared() -> None:
    document: dict[str, Any] = {"metadata": {"labels": {"a": "1"}, "annotations": {}}, "spec": {"containers": [{}]}}
    outcome = merge(document, {"metadata": {"labels": {"b": "2"}}})
    assert outcome["spec"] is document["spec"]
    assert outcome["metadata"]["annotations"] is document["metadata"]["annotations"]


def test_numbers_keep_their_digits_and_kind() -> None:
    outcome = merge({"a": 2**63 - 1}, {"b": 9007199254740993, "c": 1.0})
    assert outcome == {"a": 2**63 - 1, "b": 9007199254740993, "c": 1.0}
    assert isinstance(outcome["c"], float)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"[]", "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}"),
        (
            b'"text"',
            "error decoding patch: json: cannot unmarshal string into Go value of type map[string]interface {}",
        ),
        (b"spec", "error decoding patch: invalid character 's' looking for beginning of value"),
        (b"{", "error decoding patch: unexpected end of JSON input"),
        (b"", "error decoding patch: unexpected end of JSON input"),
        (b"null", "Invalid JSON Patch"),
    ],
)
def test_a_body_that_is_no_object_is_a_bad_request(body: bytes, message: str) -> None:
    with pytest.raises(ApiError) as raised:
        MergePatch(body)
    assert (raised.value.code, raised.value.message) == (400, message)


def test_fields_set_twice_are_strict_errors() -> None:
    patch = MergePatch(b'{"data": {"k": "1", "k": "2"}}')
    assert patch.strict_errors() == ['duplicate field "data.k"']
    assert patch.apply({}) == {"data": {"k": "2"}}


OBJECTS = st.recursive(
    st.dictionaries(st.sampled_from("abc"), st.integers(0, 3) | st.lists(st.integers(0, 3), max_size=2), max_size=3),
    lambda inner: st.dictionaries(st.sampled_from("abc"), inner | st.integers(0, 3), max_size=3),
    max_leaves=6,
)


@settings(max_examples=50, deadline=None)
@given(OBJECTS, OBJECTS)
def test_merging_twice_is_merging_once(document: dict[str, Any], patch: dict[str, Any]) -> None:
    once = merge(document, patch)
    assert merge(once, patch) == once


def diff(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    patch: dict[str, Any] = dict.fromkeys(old.keys() - new.keys())
    for key, value in new.items():
        before = old.get(key)
        if isinstance(before, dict) and isinstance(value, dict):
            patch[key] = diff(before, value)
        elif before != value:
            patch[key] = value
    return patch


@settings(max_examples=50, deadline=None)
@given(OBJECTS, OBJECTS)
def test_a_difference_merged_gives_the_other_object(old: dict[str, Any], new: dict[str, Any]) -> None:
    assert merge(old, diff(old, new)) == new
