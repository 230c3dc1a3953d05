"""ServiceCIDRs decide where Services get addresses from, from the moment when they are written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from stored_values import put
from tests.waiting import eventually

from watchkeeper.testing import Server
from watchkeeper.testing.handle import Handle, RequestFailed

CIDRS = "/apis/networking.k8s.io/v1/servicecidrs"
ADDRESSES = "/apis/networking.k8s.io/v1/ipaddresses"
SERVICES = "/api/v1/namespaces/default/services"


def serving(tmp_path: Path, **options: Any) -> Server:
    return Server(storage=f"sqlite:{tmp_path / 'db'}", insecure_http=True, controllers=(), **options)


def cidr(name: str, *networks: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"cidrs": list(networks)}}


def create(server: Handle, name: str, **spec: Any) -> str:
    service = {"metadata": {"name": name}, "spec": {"ports": [{"port": 80}], **spec}}
    address: str = server.request("POST", SERVICES, service)["spec"]["clusterIP"]
    return address


def judge(server: Handle, name: str, status: str) -> None:
    condition = {"type": "Ready", "status": status, "reason": "r", "message": "m"}
    condition["lastTransitionTime"] = "2026-01-01T00:00:00Z"
    server.request("PATCH", f"{CIDRS}/{name}/status", {"status": {"conditions": [condition]}})


def test_what_is_written_of_a_service_cidr_counts_at_once(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        with pytest.raises(RequestFailed, match="does not match the current range"):
            create(server, "s", clusterIP="10.5.0.1")
        server.request("POST", CIDRS, cidr("more", "10.5.0.0/29"))
        assert create(server, "s", clusterIP="10.5.0.1") == "10.5.0.1"
        judge(server, "kubernetes", "False")
        assert create(server, "t").startswith("10.5.0.")
        judge(server, "more", "Unknown")
        with pytest.raises(RequestFailed, match="range is full"):
            create(server, "u")
        judge(server, "more", "True")
        server.request("PATCH", f"{CIDRS}/more", {"metadata": {"finalizers": ["example.com/f"]}})
        server.request("DELETE", f"{CIDRS}/more")
        with pytest.raises(RequestFailed, match="range is full"):
            create(server, "u")
    # And after a restart, too.
    with serving(tmp_path) as server:
        with pytest.raises(RequestFailed, match="range is full"):
            create(server, "u")
        judge(server, "kubernetes", "True")
        assert create(server, "u").startswith("10.0.0.")
        with pytest.raises(RequestFailed, match="does not match the current range"):
            create(server, "v", clusterIP="10.5.0.2")
        found = server.request("GET", f"{ADDRESSES}/10.5.0.1")
        assert found["spec"]["parentRef"]["name"] == "s"


def test_a_service_cidr_that_is_gone_gives_nothing_and_the_default_one_comes_back(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        server.request("DELETE", f"{CIDRS}/kubernetes")
        with pytest.raises(RequestFailed, match="range is full"):
            create(server, "s")
        assert server.request("GET", f"{SERVICES}/kubernetes")["spec"]["clusterIP"] == "10.0.0.1"
        eventually(lambda: bool(server.request("GET", CIDRS)["items"]))
        assert create(server, "s").startswith("10.0.0.")


def test_a_default_service_cidr_that_nobody_judges_is_ready(tmp_path: Path) -> None:
    stored = {"kind": "ServiceCIDR", "apiVersion": "networking.k8s.io/v1", **cidr("kubernetes", "10.0.0.0/24")}
    stored["metadata"]["uid"] = "u"
    with serving(tmp_path):
        pass
    put(tmp_path / "db", {"/registry/servicecidrs/kubernetes": json.dumps(stored).encode()})
    with serving(tmp_path) as server:
        found = server.request("GET", f"{CIDRS}/kubernetes")
    assert [(each["type"], each["status"]) for each in found["status"]["conditions"]] == [("Ready", "True")]
    assert found["metadata"]["managedFields"][0]["manager"] == "kubernetes-service-cidr-controller"


def test_a_default_service_cidr_of_other_networks_stays_as_it_is(tmp_path: Path) -> None:
    with serving(tmp_path):
        pass
    with serving(tmp_path, service_cluster_ip_range=("10.9.0.0/24",)) as server:
        assert create(server, "s").startswith("10.0.0.")
        with pytest.raises(RequestFailed, match="does not match the current range"):
            create(server, "t", clusterIP="10.9.0.5")
        judge(server, "kubernetes", "Unknown")
    with serving(tmp_path, service_cluster_ip_range=("10.9.0.0/24",)) as server:
        found = server.request("GET", f"{CIDRS}/kubernetes")
    assert found["spec"]["cidrs"] == ["10.0.0.0/24"]
    assert found["status"]["conditions"][0]["status"] == "Unknown"


def test_service_cidrs_that_cannot_be_read_leave_what_is_configured(tmp_path: Path) -> None:
    put(tmp_path / "db", {"/registry/servicecidrs/broken": b'{"kind":"Serv'})
    with serving(tmp_path) as server:
        assert create(server, "s").startswith("10.0.0.")


def test_an_address_of_a_gateway_is_no_services(tmp_path: Path) -> None:
    parent = {"group": "gateway.networking.k8s.io", "resource": "gateways", "namespace": "default", "name": "g"}
    with serving(tmp_path) as server:
        server.request("POST", ADDRESSES, {"metadata": {"name": "10.0.0.40"}, "spec": {"parentRef": parent}})
        with pytest.raises(
            RequestFailed, match=r"failed to allocate IP 10\.0\.0\.40: provided IP is already allocated"
        ):
            create(server, "s", clusterIP="10.0.0.40")
    with serving(tmp_path) as server:
        with pytest.raises(RequestFailed, match="provided IP is already allocated"):
            create(server, "s", clusterIP="10.0.0.40")
        server.request("DELETE", f"{ADDRESSES}/10.0.0.40")
        assert create(server, "s", clusterIP="10.0.0.40") == "10.0.0.40"
