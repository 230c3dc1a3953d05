"""The priority class that is the default of all pods."""

from __future__ import annotations

from typing import Any

from watchkeeper.testing import Server

PODS = "/api/v1/namespaces/default/pods"
CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"


def pod(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


def test_a_pod_without_a_class_is_of_the_default_one() -> None:
    with Server(storage="memory:") as server:
        before = server.request("POST", PODS, pod("before"))
        server.request("POST", CLASSES, {"metadata": {"name": "usual"}, "value": 7, "globalDefault": True})
        after = server.request("POST", PODS, pod("after"))
    assert (before["spec"]["priority"], before["spec"].get("priorityClassName")) == (0, None)
    assert (after["spec"]["priority"], after["spec"]["priorityClassName"]) == (7, "usual")
