"""APIServices: what they may say, what they are when nobody has looked yet, and how they are shown."""

from __future__ import annotations

from typing import Any

import pytest

from watchkeeper.apis.apiregistration.apiservice import BEHAVIORS, default_port
from watchkeeper.apis.builtin import builtin_scheme
from watchkeeper.apis.protobuf import object_of, protobuf_of
from watchkeeper.meta.gvk import GroupVersionKind

BEHAVIOR = BEHAVIORS[0]
KIND = builtin_scheme().kind(GroupVersionKind("apiregistration.k8s.io", "v1", "APIService"))


def service(name: str = "v1.example.io", **spec: Any) -> dict[str, Any]:
    given = {"group": "example.io", "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 10, **spec}
    return {"metadata": {"name": name}, "spec": given}


def remote(**reference: Any) -> dict[str, Any]:
    return {"name": "s", "namespace": "n", "port": 443, **reference}


def test_this_server_itself_is_available_at_once_and_another_is_not_known_to_be() -> None:
    local, other = service(), service(service=remote())
    for each in (local, other):
        assert BEHAVIOR.prepare_for_create is not None
        BEHAVIOR.prepare_for_create(each)
    condition = local["status"]["conditions"][0]
    assert (condition["type"], condition["status"], condition["reason"]) == ("Available", "True", "Local")
    assert other["status"] == {}


def test_writers_of_a_status_change_nothing_that_is_said_about_a_service_but_may_send_times() -> None:
    assert BEHAVIOR.prepare_for_status_update is not None
    old = {**service(), "metadata": {"name": "v1.example.io", "labels": {"a": "b"}}}
    sent = {"name": "v1.example.io", "finalizers": ["f"], "deletionTimestamp": "2024-01-01T00:00:00Z"}
    new = {**service(), "metadata": sent}
    BEHAVIOR.prepare_for_status_update(new, old)
    assert new["metadata"] == {**old["metadata"], "deletionTimestamp": "2024-01-01T00:00:00Z"}


def test_a_service_without_a_port_is_asked_on_443() -> None:
    obj = service(service={"name": "s", "namespace": "n"})
    default_port(obj)
    assert obj["spec"]["service"]["port"] == 443
    assert BEHAVIOR.validate(obj) == []


@pytest.mark.parametrize(
    ("obj", "fields"),
    [
        (service(), []),
        (service("v1.", group=""), []),
        (service("v2.", group="", version="v2"), ["spec.group"]),
        (service("V1.a_b", group="a_b", version="V1"), ["spec.group", "spec.version"]),
        (service(groupPriorityMinimum=0, versionPriority=1001), ["spec.groupPriorityMinimum", "spec.versionPriority"]),
        (service(groupPriorityMinimum=20000, versionPriority=1000), []),
        (service(caBundle="YWJj", insecureSkipTLSVerify=True), ["spec.caBundle", "spec.insecureSkipTLSVerify"]),
        (service(service=remote(), caBundle="YWJj", insecureSkipTLSVerify=True), ["spec.insecureSkipTLSVerify"]),
        (service(service=remote(name="", namespace="")), ["spec.service.namespace", "spec.service.name"]),
        (service(service=remote(port=0)), ["spec.service.port"]),
    ],
)
def test_what_is_wrong_is_told(obj: dict[str, Any], fields: list[str]) -> None:
    assert [error.field for error in BEHAVIOR.validate(obj)] == fields


def test_a_status_is_true_false_or_unknown() -> None:
    conditions = [{"type": "A", "status": status} for status in ("True", "False", "Unknown", "Maybe")]
    assert BEHAVIOR.validate_status_update is not None
    errors = BEHAVIOR.validate_status_update({"status": {"conditions": conditions}}, {})
    assert [error.field for error in errors] == ["status.conditions[3].status"]


@pytest.mark.parametrize(
    ("conditions", "shown"),
    [
        ([], "Unknown"),
        ([{"type": "Available", "status": "True", "reason": "Passed"}], "True"),
        ([{"type": "Available", "status": "False", "reason": "ServiceNotFound"}], "False (ServiceNotFound)"),
        ([{"type": "Available", "status": "False"}], "False"),
    ],
)
def test_a_table_tells_where_it_is_and_whether_it_can_be_reached(conditions: list[Any], shown: str) -> None:
    assert BEHAVIOR.table is not None
    obj = service(service=remote())
    obj["metadata"]["creationTimestamp"] = None
    assert BEHAVIOR.table.cells({**obj, "status": {"conditions": conditions}}, 0.0)[:3] == [
        "v1.example.io",
        "n/s",
        shown,
    ]


def test_protobuf_says_the_same_as_json() -> None:
    obj = KIND.decode(service(service=remote(), caBundle="YWJj"), None)
    obj = {"kind": "APIService", "apiVersion": "apiregistration.k8s.io/v1", **obj}
    obj["status"] = {"conditions": [{"type": "Available", "status": "False", "lastTransitionTime": None}]}
    read = object_of(protobuf_of(obj))
    assert KIND.decode(read, None)["spec"] == obj["spec"]
    assert read["status"]["conditions"][0]["status"] == "False"
