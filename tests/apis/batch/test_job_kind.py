from __future__ import annotations

from typing import Any

import pytest
from kind_writer import BEHAVIORS, UID, create, created, row, template, update, update_status

from watchkeeper.meta.gvk import GroupKind

NOW = "2024-01-01T00:00:00Z"
GENERATED = {
    "batch.kubernetes.io/controller-uid": UID,
    "batch.kubernetes.io/job-name": "j",
    "controller-uid": UID,
    "job-name": "j",
}


def job(*, labels: Any = None, **spec: Any) -> Any:
    meta = {"name": "j", **({"labels": labels} if labels else {})}
    pods = {"spec": {"containers": [{"name": "main", "image": "img:1"}], "restartPolicy": "Never"}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": {"template": pods, **spec}}


def condition(kind: str, status: str = "True") -> Any:
    return {"type": kind, "status": status}


def test_a_job_selects_its_own_pods() -> None:
    obj = created(job())
    assert obj["spec"]["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": UID}}
    assert obj["spec"]["template"]["metadata"]["labels"] == GENERATED
    assert obj["metadata"]["labels"] == GENERATED
    assert obj["status"] == {}


def test_a_job_without_labels_has_all_of_its_template() -> None:
    pods = template(restartPolicy="Never")
    assert created(job(template=pods))["metadata"]["labels"] == {"app": "x", **GENERATED}
    assert created(job(template=pods, labels={"own": "1"}))["metadata"]["labels"] == {"own": "1"}


def test_defaults() -> None:
    spec = created(job())["spec"]
    assert (spec["completions"], spec["parallelism"], spec["backoffLimit"]) == (1, 1, 6)
    assert (spec["completionMode"], spec["suspend"], spec["manualSelector"]) == ("NonIndexed", False, False)
    assert spec["podReplacementPolicy"] == "TerminatingOrFailed"
    several = created(job(parallelism=3))["spec"]
    assert "completions" not in several
    indexed = created(job(completionMode="Indexed", completions=2, backoffLimitPerIndex=1))["spec"]
    assert indexed["backoffLimit"] == 2**31 - 1
    rule = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}
    careful = created(job(podFailurePolicy={"rules": [rule]}))["spec"]
    assert careful["podReplacementPolicy"] == "Failed"
    assert careful["podFailurePolicy"]["rules"][0]["onPodConditions"] == [
        {"type": "DisruptionTarget", "status": "True"}
    ]


@pytest.mark.parametrize(
    ("spec", "errors"),
    [
        ({"parallelism": -1}, ["spec.parallelism: Invalid value: -1: must be greater than or equal to 0"]),
        (
            {"template": template(restartPolicy="Always")},
            ['spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"'],
        ),
        (
            {"completionMode": "Indexed", "parallelism": 1},
            ["spec.completions: Required value: when completion mode is Indexed"],
        ),
        (
            {"maxFailedIndexes": 1},
            [
                "spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified",
                "spec.maxFailedIndexes: Invalid value: 1: requires indexed completion mode",
            ],
        ),
        (
            {"managedBy": "me"},
            ['spec.managedBy: Invalid value: "me": must be a domain-prefixed path (such as "acme.io/foo")'],
        ),
        (
            {"podFailurePolicy": {"rules": [{"action": "Ignore"}]}},
            [
                "spec.podFailurePolicy.rules[0]: Invalid value: specifying one of OnExitCodes and "
                "OnPodConditions is required"
            ],
        ),
        (
            {"podFailurePolicy": {"rules": [{"onExitCodes": {"operator": "In", "values": [2, 0, 2]}}]}},
            [
                'spec.podFailurePolicy.rules[0].action: Required value: valid values: ["Count" "FailIndex" "FailJob" '
                '"Ignore"]',
                "spec.podFailurePolicy.rules[0].onExitCodes.values[1]: Invalid value: 0: must not be 0 for "
                "the In operator",
                "spec.podFailurePolicy.rules[0].onExitCodes.values[2]: Duplicate value: 2",
                "spec.podFailurePolicy.rules[0].onExitCodes.values: Invalid value: [2,0,2]: must be ordered",
            ],
        ),
        (
            {
                "completionMode": "Indexed",
                "completions": 3,
                "successPolicy": {"rules": [{"succeededIndexes": "0-1,1", "succeededCount": 9}]},
            },
            [
                'spec.successPolicy.rules[0].succeededIndexes: Invalid value: "0-1,1": error parsing succeededIndexes: '
                "non-increasing order, previous: 1, current: 1",
                "spec.successPolicy.rules[0].succeededCount: Invalid value: 9: must be less than or equal "
                "to 3 (the number "
                "of specified completions)",
                "spec.successPolicy.rules[0].succeededCount: Invalid value: 9: must be less than or equal "
                "to 0 (the number "
                "of indexes in the specified succeededIndexes field)",
            ],
        ),
        (
            {"podReplacementPolicy": "Never"},
            [
                'spec.podReplacementPolicy: Unsupported value: "Never": supported values: "Failed", '
                '"TerminatingOrFailed"'
            ],
        ),
    ],
)
def test_what_a_job_may_not_be(spec: Any, errors: list[str]) -> None:
    assert create(job(**spec)).errors == errors


def test_labels_of_another_job_are_found_out() -> None:
    pods = template(restartPolicy="Never")
    pods["metadata"]["labels"]["job-name"] = "other"
    [error] = create(job(template=pods)).errors
    assert error.startswith("spec.template.metadata.labels[job-name]: Invalid value: ")
    assert error.endswith(": must be 'j'")


def as_body(obj: Any, **spec: Any) -> Any:
    return {**obj, "spec": {**obj["spec"], **spec}}


def test_most_of_a_job_stays() -> None:
    old = created(job())
    assert update(old, as_body(old, parallelism=4, suspend=True)).errors == []
    assert update(old, as_body(old, completions=5)).errors == ["spec.completions: Invalid value: 5: field is immutable"]
    fields = [e.partition(":")[0] for e in update(old, as_body(old, selector={"matchLabels": {"a": "b"}})).errors]
    labels = "spec.template.metadata.labels"
    assert fields == ["spec.selector", labels, labels, "spec.selector"]


def test_indexed_jobs_grow_in_tandem() -> None:
    old = created(job(completionMode="Indexed", completions=2, parallelism=2))
    assert update(old, as_body(old, completions=3, parallelism=3)).errors == []
    assert update(old, as_body(old, completions=3)).errors == [
        "spec.completions: Invalid value: 3: can only be modified in tandem with spec.parallelism"
    ]


def test_jobs_at_rest_may_be_placed_and_sized_anew() -> None:
    old = created(job(suspend=True))
    pods = {**old["spec"]["template"], "spec": {**old["spec"]["template"]["spec"], "nodeSelector": {"a": "b"}}}
    pods["spec"]["containers"] = [{**pods["spec"]["containers"][0], "resources": {"requests": {"cpu": "1"}}}]
    assert update(old, as_body(old, template=pods)).errors == []
    started = {**old, "status": {"startTime": NOW}}
    assert [e.partition(":")[0] for e in update(started, as_body(old, template=pods)).errors] == ["spec.template"]
    stopped = {**old, "status": {"startTime": NOW, "conditions": [condition("Suspended")]}}
    assert update(stopped, as_body(old, template=pods)).errors == []


@pytest.mark.parametrize(
    ("before", "after", "errors"),
    [
        ({}, {"startTime": NOW, "active": 1}, []),
        ({}, {"active": -1}, ["status.active: Invalid value: -1: must be greater than or equal to 0"]),
        ({"failed": 2}, {"failed": 1}, ["status.failed: Invalid value: 1: cannot decrease the failed counter"]),
        (
            {},
            {"conditions": [condition("Complete"), condition("SuccessCriteriaMet")], "startTime": NOW},
            ["status.completionTime: Required value: completionTime is required for Complete jobs"],
        ),
        (
            {},
            {"conditions": [condition("Failed")], "startTime": NOW, "active": 1},
            [
                "status.conditions: Invalid value: cannot set Failed=True condition without the FailureTarget=true "
                "condition",
                "status.active: Invalid value: 1: active>0 is invalid for finished job",
            ],
        ),
        (
            {"conditions": [condition("Failed"), condition("FailureTarget")], "startTime": NOW},
            {"startTime": NOW},
            [
                "status.conditions: Invalid value: cannot disable the terminal Failed=True condition",
                "status.conditions: Invalid value: cannot disable the terminal FailureTarget=True condition",
            ],
        ),
        (
            {},
            {"completedIndexes": "1"},
            [
                'status.completedIndexes: Invalid value: "1": error parsing completedIndexes: too large index: "1"',
                'status.completedIndexes: Invalid value: "1": cannot set non-empty completedIndexes when non-indexed '
                "completion mode",
            ],
        ),
    ],
)
def test_statuses_follow_the_life_of_a_job(before: Any, after: Any, errors: list[str]) -> None:
    old = {**created(job()), "status": before}
    assert update_status(old, after).errors == errors


@pytest.mark.parametrize(
    ("spec", "errors"),
    [
        ({"suspend": True, "completions": 0}, []),
        ({"completions": 0}, ["status.startTime: Required value: startTime is required for finished job"]),
        ({"suspend": True}, ["status.startTime: Required value: startTime is required for finished job"]),
    ],
)
def test_a_suspended_job_of_nothing_is_complete_without_a_start(spec: Any, errors: list[str]) -> None:
    conditions = [condition("SuccessCriteriaMet"), condition("Complete")]
    old = created(job(**spec))
    assert update_status(old, {"conditions": conditions, "completionTime": NOW}).errors == errors


def test_a_job_starts_anew_when_it_is_resumed() -> None:
    old = {**created(job()), "status": {"startTime": NOW, "conditions": [condition("Suspended")]}}
    later = "2024-01-01T00:02:05Z"
    resumed = {**condition("Suspended"), "status": "False"}
    assert update_status(old, {"startTime": later, "conditions": [resumed]}).errors == []
    refused = [f'status.startTime: Invalid value: "{later}": field is immutable for unsuspended job once set']
    assert update_status(old, {"startTime": later}).errors == refused
    running = {**old, "status": {"startTime": NOW, "conditions": [resumed]}}
    assert update_status(running, {"startTime": later, "conditions": [resumed]}).errors == refused


@pytest.mark.parametrize(
    ("spec", "status", "cells"),
    [
        ({"completions": 5}, {"succeeded": 2}, ("Running", "2/5", "")),
        ({"parallelism": 3}, {}, ("Running", "0/1 of 3", "")),
        ({}, {"conditions": [condition("Suspended")]}, ("Suspended", "0/1", "")),
        (
            {},
            {"conditions": [condition("Complete")], "startTime": NOW, "completionTime": "2024-01-01T00:02:05Z"},
            ("Complete", "0/1", "2m5s"),
        ),
    ],
)
def test_the_table(spec: Any, status: Any, cells: tuple[str, str, str]) -> None:
    found = row({**created(job(**spec)), "status": status})
    assert (found["Status"], found["Completions"], found["Duration"]) == cells
    assert found["Selector"] == f"batch.kubernetes.io/controller-uid={UID}"


def test_jobs_are_selected_by_success_and_leave_their_pods_behind() -> None:
    behavior = BEHAVIORS.of(GroupKind("batch", "Job"))
    assert behavior.selectable_fields is not None and behavior.unsupported_field_label is not None
    assert behavior.selectable_fields({"status": {"succeeded": 3}}) == {"status.successful": "3"}
    assert behavior.unsupported_field_label("x") == 'field label "x" not supported for Job'
    assert behavior.default_propagation == "Orphan"


def test_leaving_out_an_empty_selector_changes_it() -> None:
    pods = template(restartPolicy="Never")
    old = created(job(manualSelector=True, selector={}, template=pods))
    assert update(old, job(manualSelector=True, selector={}, template=pods)).errors == []
    assert update(old, job(manualSelector=True, template=pods)).errors[-1] == (
        "spec.selector: Invalid value: null: field is immutable"
    )
