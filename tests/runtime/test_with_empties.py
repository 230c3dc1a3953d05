"""Structs that remember which of their lists and maps were sent empty."""

from __future__ import annotations

import copy
from typing import Any

import orjson
import pytest

from watchkeeper.apis.schema_data import kind_schema
from watchkeeper.meta.gvk import GroupVersionKind
from watchkeeper.runtime.alike import Memo, Specs
from watchkeeper.runtime.decode import compile_decoder
from watchkeeper.runtime.with_empties import WithEmpties, as_sent, as_shown, equal_as_sent, equal_as_stored

POD = GroupVersionKind("", "v1", "Pod")
ROLE = GroupVersionKind("rbac.authorization.k8s.io", "v1", "Role")
CRD = GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")


def decode(gvk: GroupVersionKind, obj: Any) -> Any:
    return compile_decoder(kind_schema(gvk))(copy.deepcopy(obj), None)


def struct() -> WithEmpties:
    return WithEmpties({"name": "a", "rules": None}, {"rules": [], "labels": {}})


@pytest.mark.parametrize("odd", [{}, {"odd": 1}])
def test_what_was_sent_empty_is_remembered_at_any_depth_but_not_stored(odd: Any) -> None:
    containers = [{"name": "a", "args": ["x"]}, {"name": "b", "args": [], "resources": {"limits": {}}}]
    given = {"metadata": {"labels": {}, "annotations": None}, "spec": {"containers": containers}, **odd}
    pod = decode(POD, given)
    assert pod["metadata"] == {}
    assert pod["metadata"].get("labels") == {}
    assert pod["metadata"].get("annotations") is None
    first, second = pod["spec"]["containers"]
    assert first.__class__ is dict
    assert second.get("args") == []
    assert second["resources"].get("limits") == {}
    assert orjson.loads(orjson.dumps(second)) == {"name": "b", "resources": {}}


@pytest.mark.parametrize("odd", [{}, {"odd": 1}])
def test_a_list_that_is_never_left_out_is_null_when_it_is_stored(odd: Any) -> None:
    role = decode(ROLE, {"rules": [], **odd})
    assert role["rules"] is None
    assert role.get("rules") == []
    assert as_shown(role) == {"metadata": {}, "rules": []}
    assert orjson.loads(orjson.dumps(role)) == {"metadata": {}, "rules": None}
    assert decode(ROLE, {"rules": None, **odd}).__class__ is dict


def test_definitions_remember_what_their_encoding_leaves_out() -> None:
    schema = decode(CRD, {"spec": {"validation": {"openAPIV3Schema": {"enum": []}}, "versions": []}})
    assert schema["spec"]["versions"] == []
    versions = [{"name": "v1", "schema": {"openAPIV3Schema": {"enum": []}}}]
    decoded = decode(CRD, {"spec": {"versions": versions}})["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    assert "enum" not in decoded
    assert decoded.get("enum") == []


def test_what_is_set_or_removed_later_counts() -> None:
    obj = struct()
    obj["labels"] = {"a": "b"}
    assert obj.get("labels") == {"a": "b"}
    assert obj.pop("labels") == {"a": "b"}
    assert obj.get("labels") is None
    assert obj.pop("rules") == []
    assert as_sent(obj) == {"name": "a"}
    with pytest.raises(KeyError):
        obj.pop("rules")
    obj["name"] = None
    assert obj.get("name", "other") is None
    assert obj.get("none", "other") == "other"
    updated = struct()
    updated.update(labels={"c": "d"})
    updated.setdefault("rules", [])
    assert as_sent(updated) == {"name": "a", "rules": [], "labels": {"c": "d"}}
    del obj["name"]
    assert not obj


def test_copies_remember() -> None:
    for copied in (struct().copy(), copy.copy(struct()), copy.deepcopy(struct())):
        assert as_sent(copied) == {"name": "a", "rules": [], "labels": {}}
        copied["rules"] = None
        assert copied.get("rules") is None
        assert struct().get("rules") == []


def test_equality_tells_an_empty_list_from_none_where_json_does() -> None:
    stored = {"name": "a", "rules": None}
    assert struct() != stored
    assert struct() == {"name": "a", "rules": []} == as_shown(struct())
    assert [struct()] == [struct()]
    assert not equal_as_sent(struct(), stored)
    assert equal_as_stored({"spec": struct()}, {"spec": stored})
    labels = WithEmpties({"name": "a"}, {"labels": {}})
    assert labels == {"name": "a"}
    assert not equal_as_sent({"spec": labels}, {"spec": {"name": "a"}})
    labels["labels"] = {"a": "b"}
    assert equal_as_sent({"spec": labels}, {"spec": {"name": "a", "labels": {"a": "b"}}})
    assert not equal_as_sent({"spec": 1}, {"spec": 2})


def test_what_is_more_than_its_text_is_not_found_by_its_text() -> None:
    memo: Memo[int] = Memo()
    assert memo.key({"spec": struct()}) is None
    assert memo.key({"spec": {}}) is not None
    specs = Specs(lambda obj: None)
    key = specs.key({"a": []})
    assert key is not None
    specs.add(key, struct())
    assert specs.find(key) is None
