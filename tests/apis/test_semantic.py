"""Values that rules about changes take for the same."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from kind_writer import created, read, update

from watchkeeper.apis.semantic import same, same_spec
from watchkeeper.meta.gvk import GroupVersionKind

MEMORY = ("1Gi", "1073741824")
"""One amount, in two notations that stay as they are."""


def pod(memory: str, **spec: Any) -> Any:
    resources = {"limits": {"memory": memory}, "requests": {"memory": memory}}
    container = {"name": "c", "image": "i", "resources": resources}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [container], **spec}}


def template(memory: str) -> Any:
    return {"metadata": {"labels": {"a": "b"}}, "spec": pod(memory)["spec"]}


def workload(kind: str, memory: str) -> Any:
    spec: Any = {"selector": {"matchLabels": {"a": "b"}}, "template": template(memory)}
    if kind == "StatefulSet":
        claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": memory}}}
        spec["volumeClaimTemplates"] = [{"metadata": {"name": "d"}, "spec": claim}]
        spec["serviceName"] = "s"
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "w"}, "spec": spec}


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ({"limits": {"cpu": "1"}}, {"limits": {"cpu": "1e0"}}, True),
        ({"limits": {"cpu": "1"}}, {"limits": {"cpu": "2"}}, False),
        ({"limits": {"cpu": "1"}}, {"limits": {"memory": "1"}}, False),
        ({"limits": {"cpu": "1"}}, {"requests": {"cpu": "1"}}, False),
        ({"limits": {}}, {}, True),
        ({"claims": [{"name": "a"}]}, {"claims": [{"name": "a"}, {"name": "b"}]}, False),
        ({"odd": 1}, {}, False),
        ({}, None, False),
        (None, None, True),
    ],
)
def test_quantities_are_the_same_by_amount(one: Any, other: Any, *, equal: bool) -> None:
    assert same(one, other, "core.v1.ResourceRequirements") is equal
    assert same(other, one, "core.v1.ResourceRequirements") is equal


def test_texts_that_are_no_quantities_are_the_same_only_by_letter() -> None:
    assert not same({"name": "a", "value": "1Gi"}, {"name": "a", "value": "1024Mi"}, "core.v1.EnvVar")
    assert not same({"sizeLimit": "0"}, {}, "core.v1.EmptyDirVolumeSource")
    assert not same({"limits": {"cpu": "x"}}, {"limits": {"cpu": "y"}}, "core.v1.ResourceRequirements")


def test_specs_of_other_kinds_are_the_same_as_they_are_stored() -> None:
    kind = GroupVersionKind("a.example", "v1", "A")
    assert same_spec({"a": {"b": 1}}, {"a": {"b": 1}}, kind)
    assert not same_spec({"size": "1Gi"}, {"size": "1024Mi"}, kind)


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "DaemonSet", "StatefulSet"])
def test_another_notation_is_no_change_of_a_workload(kind: str) -> None:
    first, second = MEMORY
    old = created(workload(kind, first))
    new = copy.deepcopy(old)
    for part in ("template", "volumeClaimTemplates"):
        if part in new["spec"]:
            new["spec"][part] = read(workload(kind, second))["spec"][part]
    written = update(old, new)
    assert written.errors == []
    assert written.obj["metadata"] == old["metadata"]
    assert written.obj["spec"] != old["spec"]


def test_another_notation_may_be_sent_where_nothing_can_change() -> None:
    first, second = MEMORY
    old = created(pod(first))
    new = copy.deepcopy(old)
    new["spec"]["containers"] = read(pod(second))["spec"]["containers"]
    written = update(old, new)
    assert (written.errors, written.obj["metadata"]["generation"]) == ([], 1)
    new["spec"]["containers"][0]["resources"]["limits"]["memory"] = "2Gi"
    assert update(old, new).errors != []


def test_another_notation_of_a_size_is_no_other_claim() -> None:
    def claim(size: str) -> Any:
        spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}}
        return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "c"}, "spec": spec}

    old = created(claim("1Gi"))
    assert update(old, claim("1073741824")).errors == []
    assert update(old, claim("1073741825")).errors != []
