"""LimitRanges and ResourceQuotas: what follows from what, and which amounts make sense together."""

import uuid
from typing import Any

import pytest
from kind_writer import create, created, read, row, update, update_status


def limits(*items: Any, name: str = "l") -> Any:
    return {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": name}, "spec": {"limits": list(items)}}


def quota(**spec: Any) -> Any:
    return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": spec}


def test_defaults_of_containers_follow_from_each_other() -> None:
    (item,) = read(limits({"type": "Container", "max": {"cpu": "2"}, "min": {"memory": "1Mi"}}))["spec"]["limits"]
    assert item["default"] == {"cpu": "2"}
    assert item["defaultRequest"] == {"cpu": "2", "memory": "1Mi"}
    (item,) = read(limits({"type": "Pod", "max": {"cpu": "2"}}))["spec"]["limits"]
    assert "default" not in item


def test_a_limit_range_without_a_name_gets_one() -> None:
    obj = created(limits(name=""))
    assert str(uuid.UUID(obj["metadata"]["name"])) == obj["metadata"]["name"]


@pytest.mark.parametrize(
    ("item", "errors"),
    [
        ({"type": "Foo"}, ['type: Invalid value: "Foo": must be a standard limit type or fully qualified']),
        ({"type": "example.com/foo"}, []),
        (
            {"type": "Pod", "default": {"cpu": "1"}, "defaultRequest": {"cpu": "1"}},
            [
                "default: Forbidden: may not be specified when `type` is 'Pod'",
                "defaultRequest: Forbidden: may not be specified when `type` is 'Pod'",
            ],
        ),
        (
            {"type": "PersistentVolumeClaim", "max": {"pods": "1"}},
            ["limits: Required value: either minimum or maximum storage value is required, but neither was provided"],
        ),
        (
            {"type": "Pod", "min": {"cpu": "2"}, "max": {"cpu": "1"}},
            ['min[cpu]: Invalid value: "2": min value 2 is greater than max value 1'],
        ),
        (
            {"type": "Container", "min": {"cpu": "2"}, "default": {"cpu": "1"}, "defaultRequest": {"cpu": "1"}},
            [
                'defaultRequest[cpu]: Invalid value: "1": min value 2 is greater than default request value 1',
                'default[cpu]: Invalid value: "2": min value 2 is greater than default value 1',
            ],
        ),
        (
            {"type": "Container", "max": {"cpu": "1"}, "default": {"cpu": "2"}, "defaultRequest": {"cpu": "500m"}},
            ['default[cpu]: Invalid value: "1": default value 2 is greater than max value 1'],
        ),
        (
            {"type": "Pod", "maxLimitRequestRatio": {"cpu": "500m"}},
            ['maxLimitRequestRatio[cpu]: Invalid value: "500m": ratio 500m is less than 1'],
        ),
        (
            {"type": "Pod", "min": {"cpu": "1"}, "max": {"cpu": "3"}, "maxLimitRequestRatio": {"cpu": "4"}},
            ['maxLimitRequestRatio[cpu]: Invalid value: "4": ratio 4 is greater than max/min = 3.000000'],
        ),
        (
            {"type": "Pod", "min": {"cpu": "1"}, "max": {"cpu": "1e19"}, "maxLimitRequestRatio": {"cpu": "4"}},
            ['maxLimitRequestRatio[cpu]: Invalid value: "4": ratio 4 is greater than max/min = 0.000000'],
        ),
        (
            {
                "type": "Container",
                "default": {"example.com/gpu": "2"},
                "defaultRequest": {"example.com/gpu": "1"},
            },
            [
                'defaultRequest[example.com/gpu]: Invalid value: "1": '
                "default value 2 must equal to defaultRequest value 1 in example.com/gpu"
            ],
        ),
    ],
)
def test_what_a_limit_must_say(item: Any, errors: list[str]) -> None:
    assert create(limits(item)).errors == [f"spec.limits[0].{error}" for error in errors]


def test_each_type_is_limited_once() -> None:
    assert create(limits({"type": "Pod"}, {"type": "Pod"})).errors == ['spec.limits[1].type: Duplicate value: "Pod"']


@pytest.mark.parametrize(
    ("spec", "errors"),
    [
        ({"hard": {"pods": "1", "count/deployments.apps": "2", "requests.example.com/gpu": "1"}}, []),
        (
            {"hard": {"apples": "1"}},
            [
                'hard[apples]: Invalid value: "apples": must be a standard resource type or fully qualified',
                'hard[apples]: Invalid value: "apples": must be a standard resource for quota',
            ],
        ),
        (
            {"hard": {"pods": "-1"}},
            ['hard[pods]: Invalid value: "-1": must be greater than or equal to 0'],
        ),
        (
            {"hard": {"pods": "9223372036854776"}},
            ['hard[pods]: Invalid value: "9223372036854776": must be an integer'],
        ),
        ({"hard": {"pods": "500m"}}, ['hard[pods]: Invalid value: "500m": must be an integer']),
        ({"scopes": ["Odd"]}, ['scopes: Invalid value: ["Odd"]: unsupported scope']),
        (
            {"hard": {"cpu": "1"}, "scopes": ["BestEffort"]},
            ['scopes: Invalid value: ["BestEffort"]: unsupported scope applied to resource'],
        ),
        (
            {"scopes": ["BestEffort", "NotBestEffort"]},
            ['scopes: Invalid value: ["BestEffort","NotBestEffort"]: conflicting scopes'],
        ),
        (
            {"scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "In"}]}},
            [
                "scopeSelector.matchExpressions.values: Required value: "
                "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
            ],
        ),
        (
            {"scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "Like"}]}},
            ['scopeSelector.matchExpressions.operator: Invalid value: "Like": not a valid selector operator'],
        ),
    ],
)
def test_what_a_quota_must_say(spec: Any, errors: list[str]) -> None:
    assert create(quota(**spec)).errors == [f"spec.{error}" for error in errors]


def test_the_scopes_of_a_quota_stay() -> None:
    old = created(quota(scopes=["BestEffort"]))
    assert update(old, quota(scopes=["Terminating"])).errors == [
        'spec.scopes: Invalid value: ["Terminating"]: field is immutable'
    ]


def test_what_is_used_is_an_amount() -> None:
    old = created(quota(hard={"pods": "5"}))
    assert update_status(old, {"hard": {"pods": "5"}, "used": {"pods": "-1"}}).errors == [
        'status.used[pods]: Invalid value: "-1": must be greater than or equal to 0'
    ]


def test_the_table_divides_requests_and_limits() -> None:
    obj = created(quota(hard={"pods": "5"}))
    obj["status"] = {"hard": {"pods": "5", "limits.cpu": "4", "cpu": "2"}, "used": {"pods": "1", "limits.cpu": "1"}}
    shown = row(obj)
    assert (shown["Request"], shown["Limit"]) == ("cpu: 0/2, pods: 1/5", "limits.cpu: 1/4")


def test_a_quota_of_more_requests_than_limits_is_warned_of() -> None:
    hard = {
        "cpu": "2",
        "limits.cpu": "1",
        "requests.memory": "1Gi",
        "limits.memory": "1Gi",
        "requests.ephemeral-storage": "3Gi",
        "limits.ephemeral-storage": "2Gi",
    }
    body = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": hard}}
    assert create(body).warnings == [
        "ResourceQuota cpu (2) should be less than limits.cpu (1)",
        "ResourceQuota requests.ephemeral-storage (3Gi) should be less than limits.ephemeral-storage (2Gi)",
    ]
