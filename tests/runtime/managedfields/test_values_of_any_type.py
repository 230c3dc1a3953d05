"""What the types of published kinds cannot hold, and what is raw in them."""

from __future__ import annotations

from typing import Any

import pytest

from watchkeeper.apis.builtin import builtin_scheme
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.gvk import GroupVersionKind
from watchkeeper.runtime.managedfields import FieldManager

Object = dict[str, Any]
SCHEME = builtin_scheme()


def manager(group: str, kind: str) -> FieldManager:
    return FieldManager(SCHEME, SCHEME.kind(GroupVersionKind(group, "v1", kind)), now=lambda: "2020-01-01T00:00:00Z")


def revision(**data: Any) -> Object:
    metadata = {"name": "r", "namespace": "n"}
    return {"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": metadata, "revision": 1, "data": data}


def test_raw_data_are_owned_as_a_whole() -> None:
    made = manager("apps", "ControllerRevision").update(None, revision(a={"b": 1}), "maker")
    assert made["metadata"]["managedFields"][0]["fieldsV1"] == {"f:data": {}, "f:revision": {}}
    with pytest.raises(ApiError, match=r"conflict with .*: \.data$"):
        manager("apps", "ControllerRevision").apply(made, revision(a={"b": 2}), "other", force=False)
    merged = manager("apps", "ControllerRevision").apply(made, revision(c=1), "other", force=True)
    assert merged["data"] == {"c": 1}


def test_records_of_parts_of_raw_data_become_records_of_the_whole() -> None:
    sent = revision(a={"b": 1})
    entry = {"apiVersion": "apps/v1", "fieldsType": "FieldsV1", "time": "2020-01-01T00:00:00Z"}
    fields = {"f:data": {"f:a": {}}, "f:revision": {}}
    sent["metadata"]["managedFields"] = [{**entry, "manager": "hand", "operation": "Update", "fieldsV1": fields}]
    made = manager("apps", "ControllerRevision").update(None, sent, "maker")
    assert [each["manager"] for each in made["metadata"]["managedFields"]] == ["maker"]
    kept = manager("apps", "ControllerRevision").update(made, {**made, "revision": 2}, "other")
    assert [each["fieldsV1"] for each in kept["metadata"]["managedFields"]] == [{"f:data": {}}, {"f:revision": {}}]


@pytest.mark.parametrize(
    ("group", "kind", "fields", "why"),
    [
        ("", "Secret", {"data": {"k": "b!"}}, "error decoding from json: illegal base64 data at input byte 1"),
        ("apps", "Deployment", {"spec": {"replicas": 1.5}}, "cannot convert float64 to int32"),
        (
            "apiextensions.k8s.io",
            "CustomResourceDefinition",
            {"spec": {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": {"additionalProperties": "x"}}}]}},
            "boolean or JSON schema expected",
        ),
    ],
)
def test_what_is_applied_but_fits_no_object_is_told_in_the_words_of_conversion(
    group: str, kind: str, fields: Object, why: str
) -> None:
    api_version = f"{group}/v1" if group else "v1"
    applied = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "a", "namespace": "n"}, **fields}
    with pytest.raises(ApiError) as refused:
        manager(group, kind).apply(None, applied, "one", force=False)
    assert refused.value.code == 500
    shown = f"{group}/v1, Kind={kind}"
    assert refused.value.message == (
        f"failed to convert new object (n/a; {shown}) to proper version: "
        f"unable to convert unstructured object to {shown}: {why}"
    )


def test_what_cannot_be_told_apart_in_an_object_that_was_never_applied_is_named() -> None:
    live: Object = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "a", "namespace": "n"}}
    applied = {**live, "automountServiceAccountToken": True}
    with pytest.raises(ApiError) as refused:
        manager("", "ServiceAccount").apply({**live, "secrets": [{"name": "s"}, {}]}, applied, "one", force=False)
    assert refused.value.code == 500
    assert refused.value.message == (
        "failed to create manager for existing fields: "
        "failed to convert new object (n/a; /v1, Kind=ServiceAccount) to smd typed: .secrets: element 1: "
        'associative list with keys has an element that omits all key fields ["name"] '
        "(and doesn't have default values for any key fields)"
    )


def test_whoever_sends_no_template_generation_sets_it() -> None:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    kind = SCHEME.kind(GroupVersionKind("apps", "v1", "DaemonSet"))
    daemon_set: Object = {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "d"}, "spec": spec}
    assert kind.default is not None
    kind.default(daemon_set)
    made = manager("apps", "DaemonSet").update(None, daemon_set, "maker")
    owned = made["metadata"]["managedFields"][0]["fieldsV1"]["f:metadata"]["f:annotations"]
    assert owned == {".": {}, "f:deprecated.daemonset.template.generation": {}}


def test_a_namespace_without_a_phase_is_active() -> None:
    namespace: Object = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}}
    kind = SCHEME.kind(GroupVersionKind("", "v1", "Namespace"))
    assert kind.default is not None
    kind.default(namespace)
    assert namespace["status"] == {"phase": "Active"}


@pytest.mark.parametrize(("stored", "applied"), [(0, False), (1, True), (1, False)])
def test_a_truth_is_no_number_even_where_it_would_change_nothing(stored: int, applied: bool) -> None:
    def budget(least: Any) -> Object:
        metadata = {"name": "b", "namespace": "n"}
        return {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": metadata,
            "spec": {"minAvailable": least},
        }

    made = manager("policy", "PodDisruptionBudget").apply(None, budget(stored), "one", force=False)
    with pytest.raises(ApiError, match="cannot unmarshal bool") as refused:
        manager("policy", "PodDisruptionBudget").apply(made, budget(applied), "one", force=False)
    assert refused.value.code == 500
