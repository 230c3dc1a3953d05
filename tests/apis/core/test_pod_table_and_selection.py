from __future__ import annotations

from typing import Any

import pytest
from kind_writer import BEHAVIORS, created, pod, row

from watchkeeper.meta.gvk import GroupKind

POD = BEHAVIORS.of(GroupKind("", "Pod"))
NOW = 1_700_000_000.0


def running(ready: bool = True, **fields: Any) -> Any:
    return {"name": "main", "ready": ready, "restartCount": 0, "state": {"running": {}}, **fields}


def with_status(status: Any, *, metadata: Any = None, **spec: Any) -> Any:
    obj = created(pod(metadata=metadata, **spec))
    return {**obj, "status": status}


@pytest.mark.parametrize(
    ("status", "ready", "text"),
    [
        ({"phase": "Pending"}, "0/1", "Pending"),
        ({"phase": "Running", "containerStatuses": [running()]}, "1/1", "Running"),
        ({"phase": "Failed", "reason": "Evicted"}, "0/1", "Evicted"),
        (
            {"phase": "Pending", "conditions": [{"type": "PodScheduled", "reason": "SchedulingGated"}]},
            "0/1",
            "SchedulingGated",
        ),
        (
            {
                "phase": "Running",
                "containerStatuses": [running(False, state={"waiting": {"reason": "CrashLoopBackOff"}})],
            },
            "0/1",
            "CrashLoopBackOff",
        ),
        (
            {"phase": "Failed", "containerStatuses": [running(False, state={"terminated": {"exitCode": 3}})]},
            "0/1",
            "ExitCode:3",
        ),
        (
            {"phase": "Failed", "containerStatuses": [running(False, state={"terminated": {"signal": 9}})]},
            "0/1",
            "Signal:9",
        ),
        (
            {
                "phase": "Running",
                "containerStatuses": [
                    running(False, state={"terminated": {"exitCode": 0, "reason": "Completed"}}),
                    running(False, name="b", state={"terminated": {"exitCode": 2, "reason": "Error"}}),
                    running(name="c"),
                ],
            },
            "1/1",
            "Error",
        ),
    ],
)
def test_what_a_pod_is_doing(status: Any, ready: str, text: str) -> None:
    cells = row(with_status(status), NOW)
    assert (cells["Ready"], cells["Status"]) == (ready, text)


def test_init_containers_come_first() -> None:
    status = {
        "phase": "Pending",
        "initContainerStatuses": [
            {"name": "one", "restartCount": 0, "state": {"waiting": {"reason": "PodInitializing"}}}
        ],
    }
    init = [{"name": "one", "image": "i:1"}, {"name": "two", "image": "i:1"}]
    assert row(with_status(status, initContainers=init), NOW)["Status"] == "Init:0/2"


def test_restarts_of_sidecars_count_as_far_as_initialization_has_come() -> None:
    sidecars = [{"name": name, "image": "i:1", "restartPolicy": "Always"} for name in ("one", "two", "three")]
    begun = {"restartCount": 1, "state": {"running": {}}}
    status = {
        "phase": "Running",
        "conditions": [{"type": "Initialized", "status": "True"}],
        "initContainerStatuses": [
            {"name": "one", "started": True, "ready": True, **begun},
            {"name": "two", "started": False, **begun},
            {"name": "three", "started": True, **begun},
        ],
        "containerStatuses": [running(restartCount=3)],
    }
    cells = row(with_status(status, initContainers=sidecars), NOW)
    assert (cells["Ready"], cells["Restarts"]) == ("2/4", "5")


def test_a_pod_on_its_way_out_is_terminating() -> None:
    obj = with_status({"phase": "Running", "containerStatuses": [running()]})
    obj["metadata"]["deletionTimestamp"] = "2023-11-14T22:13:20Z"
    assert row(obj, NOW)["Status"] == "Terminating"


def test_restarts_tell_how_long_ago_the_last_was() -> None:
    last = {"terminated": {"exitCode": 1, "finishedAt": "2023-11-14T22:11:20Z"}}
    status = {"phase": "Running", "containerStatuses": [running(restartCount=2, lastState=last)]}
    assert row(with_status(status), NOW)["Restarts"] == "2 (2m ago)"


def test_the_wide_columns() -> None:
    obj = with_status({"phase": "Running", "podIPs": [{"ip": "10.0.0.1"}]}, nodeName="n")
    cells = row(obj, NOW)
    assert [cells[name] for name in ("IP", "Node", "Nominated Node", "Readiness Gates")] == [
        "10.0.0.1",
        "n",
        "<none>",
        "<none>",
    ]


def test_finished_pods_carry_a_condition() -> None:
    assert POD.table is not None and POD.table.conditions is not None
    done = POD.table.conditions(with_status({"phase": "Succeeded"}))
    assert done is not None
    assert [(c["type"], c["status"], c["reason"]) for c in done] == [("Completed", "True", "Succeeded")]
    assert not POD.table.conditions(with_status({"phase": "Running"}))


def test_pods_are_selected_by_fields() -> None:
    assert POD.selectable_fields is not None
    obj = with_status({"phase": "Running", "podIPs": [{"ip": "10.0.0.1"}]}, nodeName="n", hostNetwork=True)
    assert POD.selectable_fields(obj) == {
        "spec.nodeName": "n",
        "spec.restartPolicy": "Always",
        "spec.schedulerName": "default-scheduler",
        "spec.serviceAccountName": "",
        "spec.hostNetwork": "true",
        "status.phase": "Running",
        "status.podIP": "10.0.0.1",
        "status.nominatedNodeName": "",
    }


@pytest.mark.parametrize(
    ("spec", "phase", "options", "seconds"),
    [
        ({"nodeName": "n"}, "Running", {}, 30),
        ({"nodeName": "n"}, "Running", {"gracePeriodSeconds": 5}, 5),
        ({"nodeName": "n"}, "Running", {"gracePeriodSeconds": -5}, 1),
        ({"nodeName": "n"}, "Succeeded", {"gracePeriodSeconds": 5}, 0),
        ({}, "Pending", {"gracePeriodSeconds": 5}, 0),
    ],
)
def test_only_pods_that_somebody_runs_get_time_to_end(spec: Any, phase: str, options: Any, seconds: int) -> None:
    assert POD.grace_period is not None
    assert POD.grace_period(with_status({"phase": phase}, **spec), options) == seconds
