"""Limits and quotas of namespaces in a running server."""

from __future__ import annotations

from typing import Any

import pytest
from tests.waiting import eventually

from watchkeeper.testing import Server
from watchkeeper.testing.handle import Handle

Object = dict[str, Any]
BASE = "/api/v1/namespaces/default"


def pod(name: str) -> Object:
    container = {"name": "c", "image": "i"}
    return {"metadata": {"name": name}, "spec": {"terminationGracePeriodSeconds": 0, "containers": [container]}}


def used(server: Handle) -> Object:
    status: Object = server.request("GET", f"{BASE}/resourcequotas/q").get("status") or {}
    return status.get("used") or {}


def test_limits_apply_to_the_very_next_pod() -> None:
    limits = [{"type": "Container", "default": {"cpu": "1"}, "max": {"cpu": "2"}}]
    with Server(storage="memory:") as server:
        server.request("POST", f"{BASE}/limitranges", {"metadata": {"name": "l"}, "spec": {"limits": limits}})
        made = server.request("POST", f"{BASE}/pods", pod("p"))
        assert made["spec"]["containers"][0]["resources"] == {"limits": {"cpu": "1"}, "requests": {"cpu": "1"}}
        note = made["metadata"]["annotations"]["kubernetes.io/limit-ranger"]
        assert note == "LimitRanger plugin set: cpu request for container c; cpu limit for container c"


def test_a_pod_asks_as_a_whole_for_what_its_containers_have_got() -> None:
    limits = [{"type": "Container", "defaultRequest": {"memory": "1Gi"}}]
    with Server(storage="memory:") as server:
        server.request("POST", f"{BASE}/limitranges", {"metadata": {"name": "l"}, "spec": {"limits": limits}})
        limited = pod("p")
        limited["spec"]["resources"] = {"limits": {"cpu": "1"}}
        assert server.request("POST", f"{BASE}/pods", limited)["spec"]["resources"] == {
            "limits": {"cpu": "1"},
            "requests": {"cpu": "1", "memory": "1Gi"},
        }


def test_the_controller_counts_and_admission_charges() -> None:
    with Server(storage="memory:", controllers=("namespace", "resourcequota")) as server:
        server.request("POST", f"{BASE}/pods", pod("first"))
        quota = {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "2", "count/configmaps": "9"}}}
        server.request("POST", f"{BASE}/resourcequotas", quota)
        eventually(lambda: used(server) == {"pods": "1", "count/configmaps": "0"})
        server.request("POST", f"{BASE}/pods", pod("second"))
        assert used(server)["pods"] == "2"
        with pytest.raises(Exception, match="exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2"):
            server.request("POST", f"{BASE}/pods", pod("third"))
        server.request("DELETE", f"{BASE}/pods/first")
        eventually(lambda: used(server)["pods"] == "1")
        server.request("POST", f"{BASE}/pods", pod("third"))


def test_without_the_controller_a_new_quota_limits_nothing() -> None:
    with Server(storage="memory:") as server:
        quota = {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "0"}}}
        server.request("POST", f"{BASE}/resourcequotas", quota)
        assert server.request("POST", f"{BASE}/pods", pod("p"))["metadata"]["name"] == "p"
        assert used(server) == {}
