"""How often the kinds judge metadata themselves."""

import copy
from dataclasses import replace
from typing import Any

import pytest

from watchkeeper.apis.behavior import KindBehavior
from watchkeeper.apis.builtin import builtin_behaviors
from watchkeeper.apis.schema_data import resources
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.field import required
from watchkeeper.meta.gvk import GroupKind
from watchkeeper.registry.rest import Context
from watchkeeper.registry.strategy import StatusStrategy, Strategy
from watchkeeper.request.user import User

BEHAVIORS = builtin_behaviors()
RESOURCES = {info.kind.kind: info for info in resources()}
CTX = Context(user=User(name="tester"), namespace="ns", warn=lambda _text: None)


def strategy(kind: str, made: type[Strategy] = Strategy) -> Strategy:
    info = RESOURCES[kind]
    behavior = BEHAVIORS.of(info.kind.group_kind)
    return made(info.kind, behavior, namespaced=info.namespaced, has_status=True)


def causes(error: ApiError) -> list[str]:
    assert error.details is not None
    return [f"{cause['field']}: {cause['message']}" for cause in error.details["causes"]]


def meta(**fields: Any) -> Any:
    return {"name": "a", "namespace": "ns", "uid": "u", "resourceVersion": "1", **fields}


@pytest.mark.parametrize(
    ("kind", "made", "own"),
    [
        ("Lease", Strategy, 1),
        ("IngressClass", Strategy, 2),
        ("CSIStorageCapacity", Strategy, 2),
        ("VolumeAttributesClass", Strategy, 2),
        ("CSINode", Strategy, 1),
        ("VolumeAttachment", Strategy, 1),
        ("NetworkPolicy", Strategy, 1),
        ("RuntimeClass", Strategy, 2),
        ("ClusterRole", Strategy, 2),
        ("FlowSchema", Strategy, 1),
        ("ValidatingWebhookConfiguration", Strategy, 1),
        ("Ingress", StatusStrategy, 1),
        ("PodDisruptionBudget", Strategy, 0),
        ("PodDisruptionBudget", StatusStrategy, 0),
        ("CronJob", StatusStrategy, 0),
    ],
)
def test_a_bad_label_makes_two_causes_and_one_for_each_pass_of_the_kind(kind: str, made: Any, own: int) -> None:
    old: Any = {"metadata": meta(), "spec": {}}
    new: Any = {"metadata": meta(labels={"a b": ""}), "spec": {}}
    if not RESOURCES[kind].namespaced:
        del new["metadata"]["namespace"], old["metadata"]["namespace"]
    with pytest.raises(ApiError) as refused:
        strategy(kind, made).before_update(CTX, new, old)
    assert sum(cause.startswith("metadata.labels") for cause in causes(refused.value)) == 2 + own


def test_the_status_of_an_attachment_is_judged_in_one_pass() -> None:
    old: Any = {"metadata": {**meta(), "namespace": ""}, "spec": {}}
    new: Any = {"metadata": {**old["metadata"], "generateName": "A_"}, "spec": {}}
    with pytest.raises(ApiError) as refused:
        strategy("VolumeAttachment", StatusStrategy).before_update(CTX, new, old)
    assert sum(cause.startswith("metadata.generateName") for cause in causes(refused.value)) == 1


@pytest.mark.parametrize("kind", ["ReplicationController", "DeviceClass"])
def test_what_names_are_generated_from_is_judged_as_that_of_any_object_where_a_kind_has_no_rule(kind: str) -> None:
    new: Any = {"metadata": meta(generateName="A_/", name="A_/bcdfg"), "spec": {}}
    if not RESOURCES[kind].namespaced:
        del new["metadata"]["namespace"]
    with pytest.raises(ApiError) as refused:
        strategy(kind).before_create(CTX, new)
    assert sum(cause.startswith("metadata.name: ") for cause in causes(refused.value)) == 1
    assert not any(cause.startswith("metadata.generateName") for cause in causes(refused.value))
    old = {**new, "metadata": {**new["metadata"], "name": "a"}}
    with pytest.raises(ApiError) as refused:
        strategy(kind).before_update(CTX, {**old, "metadata": dict(old["metadata"])}, old)
    generated = [cause for cause in causes(refused.value) if cause.startswith("metadata.generateName")]
    assert generated == ["metadata.generateName: Invalid value: \"A_/\": may not contain '/'"]


def test_a_budget_is_judged_before_its_metadata_which_have_no_rules_of_its_own() -> None:
    both = {"minAvailable": 1, "maxUnavailable": 1}
    new: Any = {"metadata": meta(labels={"a b": ""}), "spec": both}
    with pytest.raises(ApiError) as refused:
        strategy("PodDisruptionBudget").before_create(CTX, new)
    (cause,) = causes(refused.value)
    assert cause.startswith("spec: ")
    new["spec"] = {}
    with pytest.raises(ApiError) as refused:
        strategy("PodDisruptionBudget").before_create(CTX, new)
    (cause,) = causes(refused.value)
    assert cause.startswith("metadata.labels: ")
    strategy("PodDisruptionBudget").before_create(CTX, {"metadata": meta(name="A b", finalizers=["plain"]), "spec": {}})


@pytest.mark.parametrize(("kind", "own"), [("Lease", 1), ("FlowSchema", 0), ("MutatingWebhookConfiguration", 0)])
def test_kinds_judged_as_new_do_not_see_that_something_changed(kind: str, own: int) -> None:
    old: Any = {"metadata": meta(), "spec": {}}
    new: Any = {"metadata": meta(uid="other"), "spec": {}}
    if not RESOURCES[kind].namespaced:
        del new["metadata"]["namespace"], old["metadata"]["namespace"]
    with pytest.raises(ApiError) as refused:
        strategy(kind).before_update(CTX, new, old)
    assert causes(refused.value).count('metadata.uid: Invalid value: "other": field is immutable') == 1 + own


@pytest.mark.parametrize(
    ("kind", "old", "new", "order"),
    [
        (
            "RoleBinding",
            {"roleRef": {"name": "r"}},
            {"roleRef": {"name": "s"}},
            "m m m roleRef.apiGroup roleRef.kind m roleRef",
        ),
        ("Role", {}, {"rules": [{"nonResourceURLs": ["/"], "verbs": ["get"]}]}, "m m m rules[0].nonResourceURLs m"),
        ("IPAddress", {"spec": {"parentRef": {}}}, {"spec": {}}, "m m metadata.name m spec.parentRef m spec.parentRef"),
        ("StorageClass", {"provisioner": "p"}, {}, "m m m provisioner volumeBindingMode m provisioner"),
        ("VolumeAttributesClass", {"driverName": "d"}, {"driverName": "e"}, "m m m driverName m parameters"),
        ("RuntimeClass", {"handler": "h"}, {"handler": "A"}, "m m m handler m handler"),
        ("ConfigMap", {"immutable": True}, {"data": {"a/b": ""}}, "m m m immutable data m data[a/b]"),
        (
            "IngressClass",
            {"spec": {"controller": "a/b"}},
            {"spec": {"controller": "c"}},
            "m m m spec.controller m spec.controller",
        ),
    ],
)
def test_metadata_stand_ahead_of_what_each_pass_finds(kind: str, old: Any, new: Any, order: str) -> None:
    old, new = {**old, "metadata": meta()}, {**new, "metadata": meta(labels={"a b": ""})}
    if not RESOURCES[kind].namespaced:
        del new["metadata"]["namespace"], old["metadata"]["namespace"]
    with pytest.raises(ApiError) as refused:
        strategy(kind).before_update(CTX, new, old)
    assert refused.value.details is not None
    fields = [cause["field"] for cause in refused.value.details["causes"]]
    short = ["m" if field == "metadata.labels" else field for field in fields]
    assert short == order.split(" ")


def test_a_status_of_a_stateful_set_is_judged_ahead_of_its_metadata() -> None:
    status = {"replicas": 1, "readyReplicas": 2, "collisionCount": 0}
    old: Any = {"metadata": meta(), "spec": {}, "status": {"replicas": 0, "collisionCount": 1}}
    new: Any = {"metadata": meta(labels={"a b": ""}), "spec": {}, "status": status}
    with pytest.raises(ApiError) as refused:
        strategy("StatefulSet", StatusStrategy).before_update(CTX, new, old)
    fields = [cause.partition(": ")[0] for cause in causes(refused.value)]
    assert fields == [*["metadata.labels"] * 2, "status.readyReplicas", "metadata.labels", "status.collisionCount"]


NO_CHANGES = KindBehavior(kind=GroupKind("", "Any")).validate_change
JUDGE_CHANGES_APART = [
    kind for kind, info in RESOURCES.items() if BEHAVIORS.of(info.kind.group_kind).validate_change is not NO_CHANGES
]


@pytest.mark.parametrize("kind", JUDGE_CHANGES_APART)
def test_what_is_wrong_with_a_change_alone_is_told_in_a_pass_of_the_kind(kind: str) -> None:
    info = RESOURCES[kind]
    refusing = replace(BEHAVIORS.of(info.kind.group_kind), validate_change=lambda _new, _old: [required("changed")])
    judging = Strategy(info.kind, refusing, namespaced=info.namespaced, has_status=True)
    state: Any = {"metadata": meta(), "spec": {}}
    found = judging.validate_update(copy.deepcopy(state), state)
    assert [error.field for error in found].count("changed") == 1


def test_many_kinds_judge_changes_apart() -> None:
    assert {"ConfigMap", "Secret", "ResourceClaim", "StorageClass", "RoleBinding"} <= set(JUDGE_CHANGES_APART)
