from __future__ import annotations

from typing import Any

import pytest
from kind_writer import BEHAVIORS, create, created, row, template, update

from watchkeeper.apis import scale
from watchkeeper.meta.gvk import GroupKind

SELECTOR = {"matchLabels": {"app": "x"}}
APPS = "apps/v1"


def workload(kind: str, **spec: Any) -> Any:
    given = {"selector": SELECTOR, "template": template(), **spec}
    return {"apiVersion": APPS, "kind": kind, "metadata": {"name": "w"}, "spec": given}


def claim(name: str = "data") -> Any:
    resources = {"requests": {"storage": "1Gi"}}
    return {"metadata": {"name": name}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": resources}}


@pytest.mark.parametrize("kind", ["ReplicaSet", "StatefulSet"])
def test_selectors_are_required(kind: str) -> None:
    body = workload(kind)
    del body["spec"]["selector"]
    assert any(error.startswith("spec.selector: Required value") for error in create(body).errors)


@pytest.mark.parametrize("kind", ["ReplicaSet", "DaemonSet", "StatefulSet"])
def test_selectors_select_the_template_and_stay(kind: str) -> None:
    old = created(workload(kind))
    [error] = create(workload(kind, selector={"matchLabels": {"app": "y"}})).errors
    assert error.startswith('spec.template.metadata.labels: Invalid value: {"app":"x"}: `selector` does not match')
    other = workload(kind, selector={"matchLabels": {"app": "x", "b": "c"}})
    other["spec"]["template"]["metadata"]["labels"]["b"] = "c"
    assert update(old, other).errors != []


def test_replica_sets_begin_with_one_replica() -> None:
    obj = created(workload("ReplicaSet"))
    assert obj["spec"]["replicas"] == 1
    assert obj["status"] == {"replicas": 0}
    obj["status"] = {"replicas": 2, "readyReplicas": 1}
    cells = row(obj)
    assert (cells["Desired"], cells["Current"], cells["Ready"], cells["Selector"]) == (1, 2, 1, "app=x")


def test_daemon_sets_roll_one_by_one() -> None:
    obj = created(workload("DaemonSet"))
    assert obj["spec"]["updateStrategy"] == {
        "type": "RollingUpdate",
        "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0},
    }
    assert obj["status"] == {
        "currentNumberScheduled": 0,
        "numberMisscheduled": 0,
        "desiredNumberScheduled": 0,
        "numberReady": 0,
    }
    strategy = {"type": "Slowly"}
    errors = create(workload("DaemonSet", updateStrategy=strategy)).errors
    assert errors[0].startswith("spec.updateStrategy: Unsupported value")


@pytest.mark.parametrize(
    ("rolling", "kept"),
    [
        ({}, {"maxUnavailable": 0, "maxSurge": 0}),
        ({"maxSurge": 3}, {"maxUnavailable": 0, "maxSurge": 3}),
        ({"maxUnavailable": "5%"}, {"maxUnavailable": "5%", "maxSurge": 0}),
    ],
)
def test_what_an_unused_rolling_update_of_a_daemon_set_leaves_out_is_none(rolling: Any, kept: Any) -> None:
    strategy = {"type": "OnDelete", "rollingUpdate": rolling}
    assert created(workload("DaemonSet", updateStrategy=strategy))["spec"]["updateStrategy"]["rollingUpdate"] == kept


@pytest.mark.parametrize(
    ("kind", "field"), [("Deployment", "strategy"), ("DaemonSet", "updateStrategy")], ids=["deployment", "daemon set"]
)
def test_a_number_in_a_text_is_no_percentage_but_a_number(kind: str, field: str) -> None:
    path = f"spec.{field}.rollingUpdate.maxSurge"
    rolling = {"maxUnavailable": 0, "maxSurge": "+1"}
    (error,) = create(workload(kind, **{field: {"rollingUpdate": rolling}})).errors
    assert error.startswith(f'{path}: Invalid value: "+1": a valid percent string')
    rolling["maxSurge"] = "0"
    assert len(create(workload(kind, **{field: {"rollingUpdate": rolling}})).errors) == 2


def test_daemon_sets_count_changes_of_their_spec() -> None:
    old = created(workload("DaemonSet"))
    written = update(old, workload("DaemonSet", minReadySeconds=5))
    assert written.errors == []
    assert written.obj["metadata"]["generation"] == 2


def test_stateful_sets_are_completed() -> None:
    obj = created(workload("StatefulSet", serviceName="s", volumeClaimTemplates=[claim()]))
    spec = obj["spec"]
    assert (spec["replicas"], spec["podManagementPolicy"], spec["revisionHistoryLimit"]) == (1, "OrderedReady", 10)
    assert spec["updateStrategy"] == {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}
    assert spec["persistentVolumeClaimRetentionPolicy"] == {"whenDeleted": "Retain", "whenScaled": "Retain"}
    [found] = spec["volumeClaimTemplates"]
    assert (found["kind"], found["spec"]["volumeMode"]) == ("PersistentVolumeClaim", "Filesystem")


def test_only_stateful_sets_that_have_a_maximum_of_unavailable_pods_keep_one() -> None:
    wanted = {"type": "RollingUpdate", "rollingUpdate": {"partition": 1, "maxUnavailable": 2}}
    obj = created(workload("StatefulSet", serviceName="s", updateStrategy=wanted))
    assert obj["spec"]["updateStrategy"] == {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}
    changed = workload("StatefulSet", serviceName="s", updateStrategy=wanted)
    written = update(obj, changed)
    assert written.errors == []
    assert "maxUnavailable" not in written.obj["spec"]["updateStrategy"]["rollingUpdate"]
    assert written.obj["metadata"]["generation"] == 1
    obj["spec"]["updateStrategy"]["rollingUpdate"]["maxUnavailable"] = 3
    assert update(obj, changed).obj["spec"]["updateStrategy"] == wanted


def test_little_of_a_stateful_set_may_change() -> None:
    old = created(workload("StatefulSet", serviceName="s"))
    assert update(old, workload("StatefulSet", serviceName="s", replicas=3)).errors == []
    [error] = update(old, workload("StatefulSet", serviceName="other")).errors
    assert error.startswith(
        "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', "
    )


def test_revisions_are_immutable_and_never_negative() -> None:
    body = {
        "apiVersion": APPS,
        "kind": "ControllerRevision",
        "metadata": {"name": "r"},
        "data": {"a": 1},
        "revision": 1,
    }
    old = created(body)
    assert row(old)["Revision"] == 1
    [error] = update(old, {**body, "data": {"a": 2}}).errors
    assert error == 'data: Invalid value: {"a":2}: field is immutable'
    [error] = update(old, {**body, "data": {"a": True}}).errors
    assert error == 'data: Invalid value: {"a":true}: field is immutable'
    [error] = update(old, {**body, "data": {"a": 1.0}}).errors
    assert error == 'data: Invalid value: {"a":1}: field is immutable'
    assert update(old, {**body, "data": {"a": 1}}).errors == []
    assert create({**body, "revision": -1}).errors == [
        "revision: Invalid value: -1: must be greater than or equal to 0"
    ]
    assert create({**body, "data": [1]}).errors == ["data: Required value: data must be a valid JSON object"]
    assert update(old, {**body, "data": None}).errors == ["data: Invalid value: null: field is immutable"]


def test_a_scale_tells_replicas_and_selects_pods() -> None:
    kind = GroupKind("apps", "ReplicaSet")
    obj = created(workload("ReplicaSet", replicas=3))
    found = scale.scale_of(kind, obj)
    assert (found["kind"], found["apiVersion"]) == ("Scale", "autoscaling/v1")
    assert found["spec"] == {"replicas": 3}
    assert found["status"] == {"replicas": 0, "selector": "app=x"}
    scale.set_scale(obj, {"metadata": {"name": "w", "resourceVersion": "7"}, "spec": {}})
    assert obj["spec"]["replicas"] == 0
    assert obj["metadata"]["resourceVersion"] == "7"
    assert scale.scale_of(kind, obj)["spec"] == {}


def test_scales_are_never_negative() -> None:
    errors = scale.validate_scale({"metadata": {"name": "w", "namespace": "ns"}, "spec": {"replicas": -1}})
    assert [str(error) for error in errors] == ["spec.replicas: Invalid value: -1: must be greater than or equal to 0"]


@pytest.mark.parametrize(
    ("version", "kind"), [("apps/v1", "Deployment"), ("apps/v1", "ReplicaSet"), ("v1", "ReplicationController")]
)
def test_a_name_that_is_no_hostname_is_warned_of_when_it_is_given(version: str, kind: str) -> None:
    selector = {"app": "x"} if version == "v1" else {"matchLabels": {"app": "x"}}
    spec = {"selector": selector, "template": template()}
    body = {"apiVersion": version, "kind": kind, "metadata": {"name": "a.b"}, "spec": spec}
    text = "this is used in Pod names and hostnames, which can result in surprising behavior"
    warning = f"metadata.name: {text}; a DNS label is recommended: [must not contain dots]"
    assert create(body).warnings == [warning]
    assert update(created(body), {**body, "spec": {**spec, "replicas": 2}}).warnings == []


def test_a_negative_history_limit_warns_with_each_update() -> None:
    old = created(workload("StatefulSet", serviceName="s", revisionHistoryLimit=-1))
    behavior = BEHAVIORS.of(GroupKind("apps", "StatefulSet"))
    assert behavior.warnings_on_update(old, old) == [
        "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended"
    ]
