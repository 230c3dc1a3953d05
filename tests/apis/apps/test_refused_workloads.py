"""How workloads are refused: how often each fault is told, where, and how its value shows."""

from typing import Any

import pytest
from kind_writer import create, created, template, update, update_status

SELECTOR = {"matchLabels": {"app": "x"}}


def workload(kind: str, **spec: Any) -> Any:
    spec = {"selector": SELECTOR, "template": template(), **spec}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "a"}, "spec": spec}


@pytest.mark.parametrize("kind", ["Deployment", "DaemonSet", "ReplicaSet", "StatefulSet", "ReplicationController"])
def test_an_update_is_told_of_each_fault_once(kind: str) -> None:
    body = workload(kind)
    if kind == "ReplicationController":
        body |= {"apiVersion": "v1", "spec": {"template": template()}}
    old = created(body)
    new = {**body, "spec": {**body["spec"], "minReadySeconds": -1}}
    new["metadata"] = {"name": "a", "finalizers": ["x"]}
    told = update(old, new).errors
    assert sorted(error.split(":")[0] for error in told) == ["metadata.finalizers[0]", "spec.minReadySeconds"]


@pytest.mark.parametrize(
    ("kind", "field", "shown"),
    [
        (
            "Deployment",
            "strategy",
            'Unsupported value: {"Type":"X","RollingUpdate":null}: supported values: "Recreate", "RollingUpdate"',
        ),
        (
            "DaemonSet",
            "updateStrategy",
            'Unsupported value: {"Type":"X","RollingUpdate":null}: supported values: "RollingUpdate", "OnDelete"',
        ),
        (
            "StatefulSet",
            "updateStrategy",
            'Invalid value: {"Type":"X","RollingUpdate":null}: must be \'RollingUpdate\' or \'OnDelete\'',
        ),
    ],
)
def test_an_unknown_strategy_shows_by_the_names_of_its_go_fields(kind: str, field: str, shown: str) -> None:
    assert create(workload(kind, **{field: {"type": "X"}})).errors == [f"spec.{field}: {shown}"]


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "StatefulSet"])
def test_an_unusable_selector_shows_its_labels_sorted(kind: str) -> None:
    body = workload(kind, selector={"matchLabels": {"app": "x", "a/b/c": "x"}})
    assert 'spec.selector: Invalid value: {"matchLabels":{"a/b/c":"x","app":"x"}}' in create(body).errors[-1]


def test_claims_of_stateful_sets_come_before_the_volumes_of_the_template() -> None:
    claims = [{"metadata": {"name": "v"}, "spec": {"accessModes": ["X"], "resources": {"requests": {"storage": "1"}}}}]
    body = workload("StatefulSet", template=template(volumes=[{"name": "E", "emptyDir": {}}]))
    body["spec"] |= {"volumeClaimTemplates": claims, "serviceName": "A", "replicas": -1}
    assert [error.split(":")[0] for error in create(body).errors] == [
        "spec.volumeClaimTemplates[0].spec.accessModes",
        "spec.replicas",
        "spec.serviceName",
        "spec.template.spec.volumes[1].name",
    ]


def test_stateful_sets_name_their_pods_themselves() -> None:
    assert create(workload("StatefulSet", template=template(hostname="A_b", subdomain="A_b"))).errors == []


def test_bad_labels_in_a_template_of_a_stateful_set_are_told_twice() -> None:
    pods = template()
    pods["metadata"]["labels"]["b"] = "-"
    told = create(workload("StatefulSet", template=pods)).errors
    assert [error.split(":")[0] for error in told] == ["spec.template.labels"] * 2


JOB = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"}}


def job(**spec: Any) -> Any:
    return {**JOB, "spec": {"template": template(restartPolicy="Never"), **spec}}


def changed_job(old: Any, **pods: Any) -> list[str]:
    spec = {**old["spec"], "template": {**old["spec"]["template"]}}
    spec["template"]["spec"] = {**spec["template"]["spec"], **pods}
    return [error.split(":")[0] for error in update(old, {**old, "spec": spec}).errors]


def test_pods_of_a_suspended_job_change_as_long_as_none_runs() -> None:
    suspended = created(job(suspend=True))
    assert changed_job(suspended, nodeSelector={"a": "b"}) == []
    assert changed_job(suspended, hostNetwork=True) == ["spec.template.spec"]
    assert changed_job(created(job()), nodeSelector={"a": "b"}) == ["spec.template"]
    running = {**suspended, "status": {"active": 1}}
    assert changed_job(running, nodeSelector={"a": "b"}) == ["spec.template"]


def test_policies_of_jobs_show_by_the_names_of_their_go_fields() -> None:
    success = {"rules": [{"succeededCount": 1}]}
    shown = 'Invalid value: {"Rules":[{"SucceededIndexes":null,"SucceededCount":1}]}: requires indexed completion mode'
    assert create(job(successPolicy=success)).errors == [f"spec.successPolicy: {shown}"]
    failure = {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "A", "status": "True"}]}]}
    old = created(job(podFailurePolicy=failure))
    new = {**old, "spec": {**old["spec"], "podFailurePolicy": {"rules": []}}}
    assert update(old, new).errors == ['spec.podFailurePolicy: Invalid value: {"Rules":[]}: field is immutable']


START, LATER = "2024-01-01T00:00:00Z", "2024-01-02T00:00:00Z"


def test_what_a_status_of_a_job_may_not_change() -> None:
    old = {**created(job()), "status": {"startTime": LATER}}
    text = "field is immutable for unsuspended job once set"
    assert update_status(old, {}).errors == [f"status.startTime: Invalid value: null: {text}"]
    assert update_status(old, {"startTime": START}).errors == [f'status.startTime: Invalid value: "{START}": {text}']
    done = [{"type": kind, "status": "True"} for kind in ("SuccessCriteriaMet", "Complete")]
    status = {"startTime": LATER, "completionTime": START, "conditions": done}
    assert update_status(old, status).errors == [
        f'status.completionTime: Invalid value: "{START}": must be equal to or after `startTime`'
    ]
    status = {"startTime": LATER, "completionTime": LATER, "conditions": done}
    uncounted = update_status(old, {**status, "uncountedTerminatedPods": {"failed": ["u"]}}).errors
    shown = '{"Succeeded":null,"Failed":["u"]}'
    assert uncounted == [f"status.uncountedTerminatedPods: Invalid value: {shown}: must be empty for finished job"]
    assert update_status(old, {"startTime": LATER, "failedIndexes": ""}).errors == [
        'status.failedIndexes: Invalid value: "": cannot set non-null failedIndexes when backoffLimitPerIndex is null'
    ]
