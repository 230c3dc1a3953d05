from __future__ import annotations

from typing import Any

import pytest
from kind_writer import create, created, row, template, update, update_status

SELECTOR = {"matchLabels": {"app": "x"}}


def deployment(**spec: Any) -> Any:
    given = {"selector": SELECTOR, "template": template(), **spec}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": given}


def test_a_deployment_rolls_by_a_quarter() -> None:
    spec = created(deployment())["spec"]
    assert spec["replicas"] == 1
    assert spec["strategy"] == {
        "type": "RollingUpdate",
        "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"},
    }
    assert (spec["revisionHistoryLimit"], spec["progressDeadlineSeconds"]) == (10, 600)


@pytest.mark.parametrize(
    ("spec", "errors"),
    [
        ({"replicas": -1}, ["spec.replicas: Invalid value: -1: must be greater than or equal to 0"]),
        (
            {"selector": {"matchLabels": {"app": "y"}}},
            ['spec.template.metadata.labels: Invalid value: {"app":"x"}: `selector` does not match template `labels`'],
        ),
        ({"selector": {}}, ["spec.selector: Invalid value: {}: empty selector is invalid for deployment"]),
        (
            {"strategy": {"type": "Recreate", "rollingUpdate": {"maxSurge": 1}}},
            ["spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'"],
        ),
        (
            {"strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}}},
            [
                "spec.strategy.rollingUpdate.maxUnavailable: Invalid value: 0: may not be 0 when `maxSurge` is 0",
            ],
        ),
        (
            {"minReadySeconds": 600},
            ["spec.progressDeadlineSeconds: Invalid value: 600: must be greater than minReadySeconds"],
        ),
        (
            {"template": template(restartPolicy="Never")},
            ['spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"'],
        ),
    ],
)
def test_what_a_deployment_may_not_be(spec: Any, errors: list[str]) -> None:
    assert create(deployment(**spec)).errors == errors


def test_the_selector_stays() -> None:
    old = created(deployment())
    other = {"matchLabels": {"app": "x", "b": "c"}}
    labeled = {**template(), "metadata": {"labels": {"app": "x", "b": "c"}}}
    assert update(old, deployment(selector=other, template=labeled)).errors == [
        'spec.selector: Invalid value: {"matchLabels":{"app":"x","b":"c"}}: field is immutable'
    ]


def test_generations_count_specs_and_annotations() -> None:
    old = created(deployment())
    assert update(old, deployment()).obj["metadata"]["generation"] == 1
    assert update(old, deployment(replicas=2)).obj["metadata"]["generation"] == 2
    noted = deployment()
    noted["metadata"]["annotations"] = {"note": "x"}
    assert update(old, noted).obj["metadata"]["generation"] == 2


def test_counts_in_a_status_make_sense() -> None:
    old = created(deployment())
    assert update_status(old, {"replicas": 2, "updatedReplicas": 2, "readyReplicas": 1}).errors == []
    assert update_status(old, {"replicas": 1, "updatedReplicas": 2, "availableReplicas": 1}).errors == [
        "status.updatedReplicas: Invalid value: 2: cannot be greater than status.replicas",
        "status.availableReplicas: Invalid value: 1: cannot be greater than readyReplicas",
    ]
    counted = {**old, "status": {"collisionCount": 2}}
    assert update_status(counted, {"collisionCount": 1}).errors == [
        "status.collisionCount: Invalid value: 1: cannot be decremented"
    ]


def test_the_table() -> None:
    obj = created(deployment(replicas=3))
    obj["status"] = {"replicas": 3, "readyReplicas": 2, "updatedReplicas": 1, "availableReplicas": 2}
    cells = row(obj)
    assert [cells[name] for name in ("Ready", "Up-to-date", "Available")] == ["2/3", 1, 2]
    assert [cells[name] for name in ("Containers", "Images", "Selector")] == ["main", "img:1", "app=x"]


def test_labels_and_selectors_are_told_by_key() -> None:
    written = create(deployment(template={**template(), "metadata": {"labels": {"b": "1", "a": "2"}}}))
    text = 'Invalid value: {"a":"2","b":"1"}: `selector` does not match template `labels`'
    assert written.errors == [f"spec.template.metadata.labels: {text}"]
    changed = {"matchExpressions": [{"key": "app", "operator": "Exists"}], "matchLabels": SELECTOR["matchLabels"]}
    (error,) = update(created(deployment()), deployment(selector=changed)).errors
    selector = '{"matchLabels":{"app":"x"},"matchExpressions":[{"key":"app","operator":"Exists"}]}'
    assert error == f"spec.selector: Invalid value: {selector}: field is immutable"
