"""What is stored at versions that are served no more comes out in the form of the version that is."""

from __future__ import annotations

from typing import Any

import pytest

from watchkeeper.apis.protobuf import object_of
from watchkeeper.apis.schema_data import schema_data
from watchkeeper.apis.stored_versions import CURRENT, current_form, message_name
from watchkeeper.meta.gvk import GroupVersionKind
from watchkeeper.runtime.protobuf_writer import write_envelope

SCHEMA = {"openAPIV3Schema": {"type": "object"}}
COLUMN = {"name": "Size", "type": "integer"}
LABEL = "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match"


def definition(**spec: Any) -> dict[str, Any]:
    kind = {"apiVersion": "apiextensions.k8s.io/v1beta1", "kind": "CustomResourceDefinition"}
    found = current_form({**kind, "metadata": {"name": "carts.shop"}, "spec": {"group": "shop", **spec}})
    assert found["apiVersion"] == "apiextensions.k8s.io/v1"
    return dict(found["spec"])


def test_each_version_has_what_a_definition_says_once_for_all() -> None:
    spec = definition(
        version="v1",
        scope="Cluster",
        validation=SCHEMA,
        subresources={"status": {}},
        additionalPrinterColumns=[{**COLUMN, "JSONPath": ".spec.size"}],
        selectableFields=[{"jsonPath": ".spec.size"}],
        versions=[{"name": "v1", "served": True, "storage": True}, {"name": "v2", "served": True, "storage": False}],
        preserveUnknownFields=False,
        conversion={"strategy": "None"},
    )
    shared = {
        "schema": SCHEMA,
        "subresources": {"status": {}},
        "additionalPrinterColumns": [{**COLUMN, "jsonPath": ".spec.size"}],
        "selectableFields": [{"jsonPath": ".spec.size"}],
    }
    assert spec == {
        "group": "shop",
        "scope": "Cluster",
        "versions": [
            {"name": "v1", "served": True, "storage": True, **shared},
            {"name": "v2", "served": True, "storage": False, **shared},
        ],
        "preserveUnknownFields": False,
        "conversion": {"strategy": "None"},
    }


def test_what_a_version_has_of_its_own_it_keeps() -> None:
    own = {"name": "v1", "schema": SCHEMA, "additionalPrinterColumns": [{**COLUMN, "JSONPath": ".a"}]}
    [version] = definition(versions=[own])["versions"]
    assert version == {"name": "v1", "schema": SCHEMA, "additionalPrinterColumns": [{**COLUMN, "jsonPath": ".a"}]}


def test_old_definitions_have_one_version_and_keep_all_fields() -> None:
    assert definition(version="v1alpha1") == {
        "group": "shop",
        "scope": "Namespaced",
        "versions": [{"name": "v1alpha1", "served": True, "storage": True}],
        "preserveUnknownFields": True,
        "conversion": {"strategy": "None"},
    }


@pytest.mark.parametrize(
    ("stored", "current"),
    [
        (
            {"strategy": "Webhook", "webhookClientConfig": {"url": "u"}, "conversionReviewVersions": ["v1"]},
            {"strategy": "Webhook", "webhook": {"clientConfig": {"url": "u"}, "conversionReviewVersions": ["v1"]}},
        ),
        (
            {"strategy": "Webhook", "webhookClientConfig": {"url": "u"}},
            {"strategy": "Webhook", "webhook": {"clientConfig": {"url": "u"}, "conversionReviewVersions": ["v1beta1"]}},
        ),
        ({"strategy": "None"}, {"strategy": "None"}),
    ],
)
def test_the_webhook_of_a_conversion_has_its_own_object(stored: Any, current: Any) -> None:
    assert definition(version="v1", conversion=stored)["conversion"] == current


@pytest.mark.parametrize(
    ("stored", "current"),
    [
        ({}, {"matchExpressions": [{"key": LABEL, "operator": "Exists"}]}),
        ({"matchExpressions": [{"key": LABEL, "operator": "DoesNotExist"}]}, {}),
        ({"matchLabels": {"a": "b"}}, {"matchLabels": {"a": "b"}}),
        (None, None),
    ],
)
def test_the_empty_selector_of_an_old_budget_chooses_no_pods(stored: Any, current: Any) -> None:
    budget = {"apiVersion": "policy/v1beta1", "kind": "PodDisruptionBudget", "spec": {"selector": stored}}
    assert current_form(budget) == {**budget, "apiVersion": "policy/v1", "spec": {"selector": current}}


def test_other_kinds_only_change_their_version() -> None:
    policy = {"apiVersion": "admissionregistration.k8s.io/v1beta1", "kind": "MutatingAdmissionPolicy", "spec": {"a": 1}}
    assert current_form(dict(policy)) == {**policy, "apiVersion": "admissionregistration.k8s.io/v1"}
    claim = {"apiVersion": "resource.k8s.io/v1alpha2", "kind": "ResourceClaim"}
    assert current_form(dict(claim)) == claim


def test_kinds_of_extensions_are_in_the_groups_that_they_moved_to() -> None:
    policy = {"apiVersion": "extensions/v1beta1", "kind": "NetworkPolicy", "spec": {"egress": [{}]}}
    found = current_form(policy)
    assert found["apiVersion"] == "networking.k8s.io/v1"
    assert found["spec"]["policyTypes"] == ["Ingress", "Egress"]


@pytest.mark.parametrize(
    ("stored", "current"),
    [
        (("scheduling.k8s.io/v1alpha1", "PriorityClass"), {"value": 7}),
        (("batch/v2alpha1", "CronJob"), {"spec": {"schedule": "@daily"}}),
    ],
)
def test_versions_that_kube_apiserver_has_forgotten_are_as_those_that_followed_them(
    stored: tuple[str, str], current: dict[str, Any]
) -> None:
    version, kind = stored
    found = current_form({"apiVersion": version, "kind": kind, **current})
    assert found == {"apiVersion": version.partition("/")[0] + "/v1", "kind": kind, **current}


def test_the_first_priority_levels_had_assured_shares() -> None:
    level = {"apiVersion": "flowcontrol.apiserver.k8s.io/v1alpha1", "kind": "PriorityLevelConfiguration"}
    message = b"\x12\x0b\n\x07Limited\x12\x00"  # spec {type: Limited, limited: {}}
    read = object_of(write_envelope(level["apiVersion"], level["kind"], message))
    found = current_form(read)
    assert found["apiVersion"] == "flowcontrol.apiserver.k8s.io/v1"
    assert found["spec"] == {"type": "Limited", "limited": {"nominalConcurrencyShares": 30}}


def test_messages_of_versions_that_are_described_no_more_are_those_of_their_successors() -> None:
    level = GroupVersionKind("flowcontrol.apiserver.k8s.io", "v1alpha1", "PriorityLevelConfiguration")
    assert message_name(level) == "k8s.io.api.flowcontrol.v1beta1.PriorityLevelConfiguration"
    assert message_name(level._replace(version="v1beta2")).startswith("k8s.io.api.flowcontrol.v1beta2.")


def test_all_of_them_are_kinds_that_are_served_now() -> None:
    assert set(CURRENT.values()) <= set(schema_data().kinds)
