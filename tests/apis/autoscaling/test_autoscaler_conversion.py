from __future__ import annotations

import copy
from typing import Any

import orjson
import pytest

from watchkeeper.apis.autoscaling.conversion import drop_round_trip_annotations
from watchkeeper.apis.builtin import builtin_scheme
from watchkeeper.meta.gvk import GroupVersionKind

SCHEME = builtin_scheme()
V1 = GroupVersionKind("autoscaling", "v1", "HorizontalPodAutoscaler")
V2 = GroupVersionKind("autoscaling", "v2", "HorizontalPodAutoscaler")
PREFIX = "autoscaling.alpha.kubernetes.io/"
TARGET = {"kind": "Deployment", "name": "d"}
SELECTOR = {"matchLabels": {"a": "b"}}


def autoscaler(gvk: GroupVersionKind, spec: Any, status: Any = None, **metadata: Any) -> Any:
    obj = {
        "kind": gvk.kind,
        "apiVersion": gvk.api_version,
        "metadata": {"name": "a", **metadata},
        "spec": {"scaleTargetRef": TARGET, "maxReplicas": 3, **spec},
        "status": status or {},
    }
    return SCHEME.kind(gvk).decode(copy.deepcopy(obj), None)


def cpu(utilization: int) -> Any:
    target = {"type": "Utilization", "averageUtilization": utilization}
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


def test_the_cpu_target_is_a_field_of_v1() -> None:
    shown = SCHEME.convert(autoscaler(V2, {"metrics": [cpu(50)]}), V1)
    assert shown["spec"] == {"scaleTargetRef": TARGET, "maxReplicas": 3, "targetCPUUtilizationPercentage": 50}
    assert shown["status"] == {"currentReplicas": 0, "desiredReplicas": 0}
    assert "annotations" not in shown["metadata"]


def test_v1_without_a_target_means_eighty_percent() -> None:
    assert SCHEME.to_hub(autoscaler(V1, {}))["spec"]["metrics"] == [cpu(80)]


METRICS = [
    {
        "type": "Object",
        "object": {
            "describedObject": {"kind": "Service", "name": "s"},
            "metric": {"name": "m", "selector": SELECTOR},
            "target": {"type": "Value", "value": "5"},
        },
    },
    {
        "type": "Object",
        "object": {
            "describedObject": {"kind": "Service", "name": "s"},
            "metric": {"name": "m"},
            "target": {"type": "AverageValue", "averageValue": "5"},
        },
    },
    {
        "type": "Object",
        "object": {
            "describedObject": {"kind": "Service", "name": "s"},
            "metric": {"name": "m"},
            "target": {"type": "AverageValue", "value": "6", "averageValue": "5"},
        },
    },
    {"type": "Pods", "pods": {"metric": {"name": "m"}, "target": {"type": "AverageValue", "averageValue": "1"}}},
    {"type": "Resource", "resource": {"name": "memory", "target": {"type": "AverageValue", "averageValue": "1Gi"}}},
    {
        "type": "ContainerResource",
        "containerResource": {
            "name": "cpu",
            "container": "c",
            "target": {"type": "Utilization", "averageUtilization": 5},
        },
    },
    {"type": "External", "external": {"metric": {"name": "m"}, "target": {"type": "Value", "value": "7"}}},
    {
        "type": "External",
        "external": {"metric": {"name": "m"}, "target": {"type": "AverageValue", "averageValue": "7"}},
    },
]


@pytest.mark.parametrize("metric", METRICS)
def test_other_metrics_travel_in_an_annotation(metric: Any) -> None:
    stored = autoscaler(V2, {"metrics": [metric]})
    shown = SCHEME.convert(copy.deepcopy(stored), V1)
    assert "targetCPUUtilizationPercentage" not in shown["spec"]
    assert len(orjson.loads(shown["metadata"]["annotations"][PREFIX + "metrics"])) == 1
    assert SCHEME.to_hub(shown) == stored


def test_the_annotation_has_the_form_of_the_reference() -> None:
    shown = SCHEME.convert(autoscaler(V2, {"metrics": [METRICS[0], cpu(50)]}), V1)
    assert shown["metadata"]["annotations"][PREFIX + "metrics"] == (
        '[{"type":"Object","object":{"target":{"kind":"Service","name":"s"},"metricName":"m","targetValue":"5",'
        '"selector":{"matchLabels":{"a":"b"}}}}]'
    )


def test_structs_in_the_annotation_have_their_keys_in_the_order_of_the_reference() -> None:
    selector = {"matchExpressions": [{"key": "a", "operator": "Exists"}], "matchLabels": {"a": "b"}}
    described = {"apiVersion": "v1", "kind": "Service", "name": "s"}
    metric = {
        "type": "Object",
        "object": {
            "describedObject": described,
            "metric": {"name": "m", "selector": selector},
            "target": {"type": "Value", "value": "5"},
        },
    }
    shown = SCHEME.convert(autoscaler(V2, {"metrics": [metric]}), V1)
    assert shown["metadata"]["annotations"][PREFIX + "metrics"] == (
        '[{"type":"Object","object":{"target":{"kind":"Service","name":"s","apiVersion":"v1"},"metricName":"m",'
        '"targetValue":"5","selector":{"matchLabels":{"a":"b"},"matchExpressions":[{"key":"a","operator":"Exists"}]}}}]'
    )


def test_behavior_conditions_and_current_metrics_survive_v1() -> None:
    policies = [{"type": "Pods", "value": 4, "periodSeconds": 15}]
    behavior = {
        "scaleUp": {"policies": policies, "selectPolicy": "Max", "stabilizationWindowSeconds": 0, "tolerance": "100m"}
    }
    status = {
        "currentReplicas": 1,
        "desiredReplicas": 2,
        "currentMetrics": [
            {"type": "Resource", "resource": {"name": "cpu", "current": {"averageValue": "1", "averageUtilization": 7}}}
        ],
        "conditions": [{"type": "ScalingActive", "status": "True", "reason": "<ok>", "message": "m"}],
    }
    stored = autoscaler(V2, {"metrics": [cpu(50)], "behavior": behavior}, status)
    shown = SCHEME.convert(copy.deepcopy(stored), V1)
    assert shown["status"]["currentCPUUtilizationPercentage"] == 7
    annotations = shown["metadata"]["annotations"]
    assert annotations[PREFIX + "behavior"] == (
        '{"ScaleUp":{"StabilizationWindowSeconds":0,"SelectPolicy":"Max","Policies":'
        '[{"Type":"Pods","Value":4,"PeriodSeconds":15}],"Tolerance":"100m"},"ScaleDown":null}'
    )
    assert annotations[PREFIX + "conditions"] == (
        '[{"type":"ScalingActive","status":"True","lastTransitionTime":null,"reason":"\\u003cok\\u003e","message":"m"}]'
    )
    assert SCHEME.to_hub(shown) == stored


@pytest.mark.parametrize(
    "text", ["", "[", "5", '"x"', "[5]", '{"a":1}', '[{"type":5}]', '{"ScaleUp":{"SelectPolicy":5}}']
)
def test_annotations_that_cannot_be_read_are_ignored(text: str) -> None:
    names = ("metrics", "current-metrics", "conditions", "behavior")
    given = autoscaler(V1, {}, annotations={PREFIX + name: text for name in names} | {"kept": "1"})
    stored = SCHEME.to_hub(given)
    assert stored["metadata"]["annotations"] == {"kept": "1"}
    assert stored["spec"]["metrics"] == [cpu(80)]


def test_v2_keeps_none_of_the_annotations() -> None:
    given = autoscaler(V2, {"metrics": [cpu(50)]}, annotations={PREFIX + "metrics": "[]"})
    drop_round_trip_annotations(given)
    assert given["metadata"] == {"name": "a"}
