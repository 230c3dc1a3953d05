from __future__ import annotations

from typing import Any

import pytest
from kind_writer import create, created, read, row, update, update_status

from watchkeeper.runtime.scheme import DecodeError
from watchkeeper.testing import Server
from watchkeeper.testing.handle import RequestFailed

TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}


def hpa(**spec: Any) -> Any:
    given = {"scaleTargetRef": TARGET, "maxReplicas": 3, **spec}
    return {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "h"}, "spec": given}


def resource(**target: Any) -> Any:
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


def test_an_autoscaler_goes_by_the_cpu() -> None:
    obj = created(hpa())
    assert obj["spec"]["minReplicas"] == 1
    assert obj["spec"]["metrics"] == [resource(type="Utilization", averageUtilization=80)]
    assert obj["status"] == {"desiredReplicas": 0, "currentMetrics": None}
    assert "generation" not in obj["metadata"]


def test_behavior_is_completed_where_it_is_given() -> None:
    behavior = created(hpa(behavior={"scaleDown": {"stabilizationWindowSeconds": 10}}))["spec"]["behavior"]
    assert behavior["scaleDown"] == {
        "stabilizationWindowSeconds": 10,
        "selectPolicy": "Max",
        "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}],
    }
    assert behavior["scaleUp"]["stabilizationWindowSeconds"] == 0
    assert len(behavior["scaleUp"]["policies"]) == 2


def test_behavior_in_the_annotation_of_v1_is_judged_as_it_was_sent_and_completed_once_stored() -> None:
    path = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers"
    policies = '[{"Type":"Pods","Value":1,"PeriodSeconds":5}]'
    annotation = "autoscaling.alpha.kubernetes.io/behavior"

    def of(name: str, rules: str) -> Any:
        target = {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}
        metadata = {"name": name, "annotations": {annotation: f'{{"ScaleUp":{rules}}}'}}
        return {"metadata": metadata, "spec": {"maxReplicas": 3, "scaleTargetRef": target}}

    with Server(insecure_http=True) as server:
        with pytest.raises(RequestFailed, match="must specify at least one Policy"):
            server.request("POST", path, of("none", "{}"))
        answer = server.request("POST", path, of("some", f'{{"Policies":{policies}}}'))
    assert answer["metadata"]["annotations"][annotation] == (
        f'{{"ScaleUp":{{"StabilizationWindowSeconds":0,"SelectPolicy":"Max","Policies":{policies},"Tolerance":null}},'
        '"ScaleDown":{"StabilizationWindowSeconds":null,"SelectPolicy":"Max",'
        '"Policies":[{"Type":"Percent","Value":100,"PeriodSeconds":15}],"Tolerance":null}}'
    )


@pytest.mark.parametrize(
    ("spec", "errors"),
    [
        (
            {"maxReplicas": 0},
            [
                "spec.maxReplicas: Required value: must be set and greater than 0",
                "spec.maxReplicas: Invalid value: 0: must be greater than or equal to `minReplicas`",
            ],
        ),
        (
            {"scaleTargetRef": {"kind": "Deployment"}},
            [
                "spec.scaleTargetRef.name: Required value",
                'spec.scaleTargetRef.apiVersion: Invalid value: "": apiVersion must specify API group',
            ],
        ),
        (
            {"metrics": [resource(type="Utilization")]},
            [
                "spec.metrics[0].resource.target.averageUtilization: Required value: must set either a "
                "target raw value or "
                "a target utilization"
            ],
        ),
        (
            {
                "metrics": [
                    {"type": "Pods", "resource": {"name": "cpu", "target": {"type": "Value", "averageValue": "1"}}}
                ]
            },
            [
                "spec.metrics[0].pods: Required value: must populate information for the given metric source",
            ],
        ),
        (
            {"behavior": {"scaleUp": {"selectPolicy": "Some", "stabilizationWindowSeconds": 9999}}},
            [
                "spec.behavior.scaleUp.stabilizationWindowSeconds: Invalid value: 9999: must be less than "
                "or equal to 3600",
                'spec.behavior.scaleUp.selectPolicy: Unsupported value: "Some": supported values: '
                '"Disabled", "Max", "Min"',
            ],
        ),
    ],
)
def test_what_an_autoscaler_may_not_be(spec: Any, errors: list[str]) -> None:
    assert create(hpa(**spec)).errors == errors


def test_what_was_scaled_to_zero_may_stay_there() -> None:
    external = {"metric": {"name": "m"}, "target": {"type": "Value", "value": "1"}}
    metrics = [{"type": "External", "external": external}]
    assert create(hpa(minReplicas=0, metrics=metrics)).errors == [
        "spec.minReplicas: Invalid value: 0: must be greater than or equal to 1"
    ]
    old = created(hpa(metrics=metrics))
    old["spec"]["minReplicas"] = 0
    assert update(old, hpa(minReplicas=0, maxReplicas=5, metrics=metrics)).errors == []


def test_of_the_core_group_only_replication_controllers_are_scaled() -> None:
    controller = {"apiVersion": "v1", "kind": "ReplicationController", "name": "c"}
    refused = "spec.scaleTargetRef.apiVersion: Invalid value: {}: {}"
    without_group = refused.format('"v1"', "apiVersion must specify API group")
    assert create(hpa(scaleTargetRef=controller)).errors == []
    assert create(hpa(scaleTargetRef={**controller, "kind": "Pod"})).errors == [without_group]
    old = created(hpa())
    assert update(old, hpa(scaleTargetRef=controller)).errors == []
    assert update(old, hpa(scaleTargetRef={**TARGET, "apiVersion": "v1"})).errors == [without_group]


def test_a_target_of_a_wrong_version_may_stay_but_not_become_another() -> None:
    old = created(hpa())
    old["spec"]["scaleTargetRef"]["apiVersion"] = "a/b/c"
    assert update(old, hpa(scaleTargetRef={**TARGET, "apiVersion": "a/b/c", "name": "other"})).errors == []
    assert update(old, hpa(scaleTargetRef={**TARGET, "apiVersion": "d/e/f"})).errors == [
        'spec.scaleTargetRef.apiVersion: Invalid value: "d/e/f": unexpected GroupVersion string: d/e/f'
    ]


def test_statuses_count_from_zero() -> None:
    assert update_status(created(hpa()), {"currentReplicas": -1, "desiredReplicas": 1}).errors == [
        "status.currentReplicas: Invalid value: -1: must be greater than or equal to 0"
    ]


def test_the_table_compares_metrics_with_their_targets() -> None:
    pods = {"type": "Pods", "pods": {"metric": {"name": "m"}, "target": {"type": "AverageValue", "averageValue": "10"}}}
    obj = created(hpa(metrics=[resource(type="Utilization", averageUtilization=50), pods, pods]))
    used = {"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": 20}}}
    obj["status"]["currentMetrics"] = [used]
    cells = row(obj)
    assert cells["Reference"] == "Deployment/d"
    assert cells["Targets"] == "cpu: 20%/50%, <unknown>/10 + 1 more..."
    obj["spec"]["metrics"] = [pods]
    obj["status"]["currentMetrics"] = [{"type": "Pods", "pods": {"metric": {"name": "m"}, "current": {}}}]
    assert row(obj)["Targets"] == "<nil>/10"
    assert (cells["MinPods"], cells["MaxPods"], cells["Replicas"]) == ("1", 3, 0)


def test_rules_without_policies_are_completed_but_for_those_that_say_so() -> None:
    rules = hpa(behavior={"scaleUp": {"policies": None}})
    assert [policy["type"] for policy in read(rules)["spec"]["behavior"]["scaleUp"]["policies"]] == ["Pods", "Percent"]
    refusal = ["spec.behavior.scaleUp.policies: Required value: must specify at least one Policy"]
    assert create(hpa(behavior={"scaleUp": {"policies": []}})).errors == refusal
    # What is not plain is decoded another way.
    assert create(hpa(behavior={"scaleUp": {"policies": []}}, unknown=1)).errors == refusal
    with pytest.raises(DecodeError):
        read(hpa(behavior={"scaleUp": {"policies": {}}}))
