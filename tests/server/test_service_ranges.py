"""The networks and ports that Services are given: what may be configured, and what Services get then."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from watchkeeper.server.errors import StartupError
from watchkeeper.server.service_ranges import node_ports, service_networks
from watchkeeper.testing import Server
from watchkeeper.testing.handle import RequestFailed

SERVICES = "/api/v1/namespaces/default/services"


def service(name: str, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"ports": [{"port": 80}], **spec}}


@pytest.mark.parametrize(
    ("text", "ports"),
    [("30000-32767", (30000, 32767)), ("30000+10", (30000, 30010)), ("31000", (31000, 31000)), ("1-65535", (1, 65535))],
)
def test_a_range_of_ports_is_read_as_kube_apiserver_reads_it(text: str, ports: tuple[int, int]) -> None:
    assert node_ports(text) == ports


@pytest.mark.parametrize("text", ["", "a-b", "10-9", "0-5", "60000-70000", "5+-9", "1-2-3"])
def test_what_is_no_range_of_ports_keeps_a_server_from_starting(text: str) -> None:
    with pytest.raises(StartupError, match="--service-node-port-range"):
        node_ports(text)


@pytest.mark.parametrize(
    ("networks", "why"),
    [
        ((), "one network, or two"),
        (("10.0.0.0/31",), "too few addresses"),
        (("fd00::/48",), "64"),
        (("10.0.0.0/24", "10.1.0.0/24"), "same IP family"),
        (("10.0.0.0/24", "fd00::/112", "fd01::/112"), "not 3"),
        (("10.0.0.0/24x",), "10.0.0.0/24x"),
    ],
)
def test_networks_that_cannot_serve_keep_a_server_from_starting(networks: tuple[str, ...], why: str) -> None:
    with pytest.raises(StartupError, match=why):
        service_networks(networks)


def test_services_get_addresses_and_ports_of_the_configured_ranges() -> None:
    with Server(
        insecure_http=True,
        controllers=(),
        service_cluster_ip_range=("172.20.0.0/28", "fd00:20::/112"),
        service_node_port_range="31000+1",
    ) as server:
        own = server.request("GET", f"{SERVICES}/kubernetes")
        assert own["spec"]["clusterIP"] == "172.20.0.1"
        cidr = server.request("GET", "/apis/networking.k8s.io/v1/servicecidrs/kubernetes")
        assert cidr["spec"] == {"cidrs": ["172.20.0.0/28", "fd00:20::/112"]}
        both = server.request(
            "POST", SERVICES, service("both", type="NodePort", ipFamilyPolicy="PreferDualStack", ports=[{"port": 80}])
        )["spec"]
        assert both["clusterIPs"][0].startswith("172.20.0.")
        assert both["clusterIPs"][1].startswith("fd00:20::")
        assert both["ports"][0]["nodePort"] in (31000, 31001)
        server.request("POST", SERVICES, service("more", type="NodePort"))
        with pytest.raises(RequestFailed, match="range is full"):
            server.request("POST", SERVICES, service("too-many", type="NodePort"))
        with pytest.raises(RequestFailed, match="does not match the current range"):
            server.request("POST", SERVICES, service("outside", clusterIP="10.96.0.9"))


@pytest.mark.parametrize(
    ("first", "then", "shown"),
    [
        (["10.0.0.0/24"], ["10.0.0.0/24", "fd00::/112"], ["10.0.0.0/24", "fd00::/112"]),
        (["10.0.0.0/24"], ["10.1.0.0/24", "fd00::/112"], ["10.0.0.0/24"]),
        (["10.0.0.0/24", "fd00::/112"], ["10.0.0.0/24"], ["10.0.0.0/24", "fd00::/112"]),
    ],
)
def test_a_server_that_gets_a_second_network_shows_it(
    tmp_path: Path, first: list[str], then: list[str], shown: list[str]
) -> None:
    path = "/apis/networking.k8s.io/v1/servicecidrs/kubernetes"
    for networks in (first, then):
        with Server(storage=f"sqlite:{tmp_path / 'db'}", controllers=(), service_cluster_ip_range=networks) as server:
            found = server.request("GET", path)
    assert found["spec"]["cidrs"] == shown
    assert found["status"]["conditions"][0]["status"] == "True"


@pytest.mark.parametrize("subresource", ["", "/status"])
def test_an_address_is_free_once_the_last_finalizer_is_gone(subresource: str) -> None:
    with Server(controllers=()) as server:
        held = service("held", clusterIP="10.0.0.40", type="NodePort")
        held["metadata"]["finalizers"] = ["example.com/f"]
        server.request("POST", SERVICES, held)
        server.request("DELETE", f"{SERVICES}/held")
        server.request("PATCH", f"{SERVICES}/held{subresource}", {"metadata": {"finalizers": None}})
        with pytest.raises(RequestFailed, match="404"):
            server.request("GET", "/apis/networking.k8s.io/v1/ipaddresses/10.0.0.40")
        assert server.request("POST", SERVICES, service("next", clusterIP="10.0.0.40"))["spec"]["clusterIP"]
        server.request("DELETE", SERVICES)
        with pytest.raises(RequestFailed, match="404"):
            server.request("GET", "/apis/networking.k8s.io/v1/ipaddresses/10.0.0.40")


def test_an_address_is_written_down_in_its_canonical_form() -> None:
    with Server(controllers=(), service_cluster_ip_range=("fd00::/112",)) as server:
        made = server.request("POST", SERVICES, service("six", clusterIP="FD00::5"))
        assert made["spec"]["clusterIPs"] == ["FD00::5"]
        record = server.request("GET", "/apis/networking.k8s.io/v1/ipaddresses/fd00::5")
        assert record["spec"]["parentRef"]["name"] == "six"
        with pytest.raises(RequestFailed, match="provided IP is already allocated"):
            server.request("POST", SERVICES, service("again", clusterIP="fd00::5"))
        server.request("DELETE", f"{SERVICES}/six")
        with pytest.raises(RequestFailed, match="404"):
            server.request("GET", "/apis/networking.k8s.io/v1/ipaddresses/fd00::5")
        refused = service("outside", clusterIP="FD01::5")
        with pytest.raises(RequestFailed, match=r"failed to allocate IP FD01::5: the provided IP \(fd01::5\) is not"):
            server.request("POST", f"{SERVICES}?dryRun=All", refused)
