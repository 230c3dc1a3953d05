"""Whom a log, an exec or a proxy leads to, and what is said when nobody is there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from tests.addresses import own_address

from watchkeeper.testing import Server
from watchkeeper.testing.handle import Handle
from watchkeeper.testing.ports import free_port

PODS = "/api/v1/namespaces/default/pods"
SERVICES = "/api/v1/namespaces/default/services"
ENDPOINTS = "/api/v1/namespaces/default/endpoints"
UPGRADE = {"Connection": "Upgrade", "Upgrade": "SPDY/3.1"}
WEBSOCKET = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "MDEyMzQ1Njc4OWFiY2RlZg==",
    "Sec-WebSocket-Protocol": "v5.channel.k8s.io",
}


CLOSED = free_port()
REFUSED = f"dial tcp 127.0.0.1:{CLOSED}: connect: connection refused"


def node(name: str, *addresses: tuple[str, str], labels: dict[str, str] | None = None) -> dict[str, Any]:
    status = {
        "addresses": [{"type": kind, "address": address} for kind, address in addresses],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": CLOSED}},
    }
    return {"metadata": {"name": name, "labels": labels or {}}, "status": status}


def pod(name: str, node_name: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"nodeName": node_name, "containers": [{"name": "c", "image": "i"}]}}


def endpoints(service: str, *ports: dict[str, Any], **target: str) -> dict[str, Any]:
    address = {"ip": "10.9.9.9", **({"targetRef": {"kind": "Pod", **target}} if target else {})}
    return {"metadata": {"name": service}, "subsets": [{"addresses": [address], "ports": list(ports)}]}


@pytest.fixture(scope="module")
def server() -> Iterator[Handle]:
    with Server(insecure_http=True) as running:
        local = ("InternalIP", "127.0.0.1")
        for each in (
            node("internal", ("ExternalIP", "127.0.0.2"), local),
            node("labeled", local, labels={"kubernetes.io/hostname": "127.0.0.1"}),
            node("odd", ("Elsewhere", "127.0.0.1")),
            node("mapped", ("InternalIP", "::ffff:127.0.0.1")),
        ):
            running.request("POST", "/api/v1/nodes", each)
            running.request("POST", PODS, pod(each["metadata"]["name"], each["metadata"]["name"]))
        for name, found in (
            ("empty", {"metadata": {"name": "empty"}}),
            ("strange", endpoints("strange", {"port": 80})),
            ("elsewhere", endpoints("elsewhere", {"port": 80}, name="internal", namespace="other")),
            ("moved", endpoints("moved", {"port": 80}, name="internal", namespace="default")),
        ):
            service = {"metadata": {"name": name}, "spec": {"clusterIP": "None", "ports": [{"port": 80}]}}
            running.request("POST", SERVICES, service)
            running.request("POST", ENDPOINTS, found)
        yield running


def ask(server: Handle, path: str, headers: dict[str, str] | None = None) -> httpx.Response:
    return httpx.get(server.url + path, headers={"Authorization": f"Bearer {server.token}", **(headers or {})})


def told(answer: httpx.Response) -> tuple[int, str]:
    assert answer.json()["code"] == answer.status_code
    return answer.status_code, answer.json()["message"]


@pytest.mark.parametrize("name", ["internal", "labeled"])
def test_a_log_is_looked_for_at_the_kubelet(server: Handle, name: str) -> None:
    place = f"https://127.0.0.1:{CLOSED}/containerLogs/default/{name}/c"
    assert told(ask(server, f"{PODS}/{name}/log")) == (500, f'Get "{place}": {REFUSED}')
    query = "timestamps=&follow=true&previous=0&tailLines=5&sinceTime=2026-01-02T03:04:05Z"
    asked = "follow=true&sinceTime=2026-01-02T03%3A04%3A05Z&tailLines=5&timestamps=true"
    assert told(ask(server, f"{PODS}/{name}/log?{query}")) == (500, f'Get "{place}?{asked}": {REFUSED}')


@pytest.mark.parametrize("subresource", ["exec?command=ls&container=c", "attach", "portforward?ports=80"])
def test_a_connection_has_to_be_an_upgrade_and_then_somebody_has_to_answer(server: Handle, subresource: str) -> None:
    path = f"{PODS}/internal/{subresource}"
    assert told(ask(server, path)) == (400, "Upgrade request required")
    assert told(ask(server, path, UPGRADE)) == (500, f"error dialing backend: {REFUSED}")
    nowhere = "no preferred addresses found; known addresses: [{Elsewhere 127.0.0.1}]"
    assert told(ask(server, f"{PODS}/odd/{subresource}")) == (500, nowhere)


@pytest.mark.parametrize("subresource", ["exec?command=ls&container=c", "attach"])
def test_a_kubelet_that_takes_websockets_is_handed_them(server: Handle, subresource: str) -> None:
    path = f"{PODS}/internal/{subresource}"
    assert ask(server, path, WEBSOCKET).status_code == 101
    status = server.request("GET", "/api/v1/nodes/internal")
    status["status"]["declaredFeatures"] = ["ExtendWebSocketsToKubelet"]
    server.request("PUT", "/api/v1/nodes/internal/status", status)
    assert told(ask(server, path, WEBSOCKET)) == (500, f"error dialing backend: {REFUSED}")
    assert told(ask(server, path)) == (400, "Upgrade request required")
    status = server.request("GET", "/api/v1/nodes/internal")
    del status["status"]["declaredFeatures"]
    server.request("PUT", "/api/v1/nodes/internal/status", status)


@pytest.fixture(scope="module")
def own(server: Handle) -> str:
    """The address of a node that is this machine."""
    address = own_address()
    server.request("POST", "/api/v1/nodes", node("own", ("InternalIP", address)))
    return address


def test_a_proxy_leads_to_the_kubelet_or_another_port_of_its_node(server: Handle, own: str) -> None:
    refused = f"dial tcp {own}:{CLOSED}: connect: connection refused"
    for name in ("own", f"https:own:{CLOSED}"):
        proxied = (503, f"error trying to reach service: {refused}")
        assert told(ask(server, f"/api/v1/nodes/{name}/proxy/healthz")) == proxied
    assert told(ask(server, "/api/v1/nodes/own/proxy/", UPGRADE)) == (500, f"error dialing backend: {refused}")
    far = "error trying to reach service: dial tcp: address 99999: invalid port"
    assert told(ask(server, "/api/v1/nodes/own:99999/proxy/")) == (503, far)


@pytest.mark.parametrize("name", ["internal", "labeled", "mapped", "internal:80"])
def test_a_proxy_leads_to_no_node_at_a_loopback_address(server: Handle, name: str) -> None:
    for path in ("", "/", "/healthz"):
        assert told(ask(server, f"/api/v1/nodes/{name}/proxy{path}")) == (400, "address not allowed")


def test_a_proxy_leads_to_no_node_whose_name_nobody_knows(server: Handle) -> None:
    server.request("POST", "/api/v1/nodes", node("unknown", ("Hostname", "nobody.invalid")))
    message = "lookup nobody.invalid: no such host"
    assert told(ask(server, "/api/v1/nodes/unknown/proxy/")) == (400, message)


@pytest.mark.usefixtures("own")
def test_the_root_of_what_is_proxied_has_a_slash(server: Handle) -> None:
    answer = ask(server, "/api/v1/nodes/own/proxy?a=b")
    assert (answer.status_code, answer.headers["location"]) == (301, "/api/v1/nodes/own/proxy/?a=b")
    assert answer.content == b""


@pytest.mark.parametrize(
    ("service", "message"),
    [
        ("empty:80", 'no endpoints available for service "empty"'),
        ("strange:80", 'no endpoints available for service "strange:80"'),
        ("elsewhere", 'no endpoints available for service "elsewhere"'),
        ("moved:+80", 'no endpoints available for service "moved:+80"'),
        ("moved:http", 'no endpoints available for service "moved:http"'),
    ],
)
def test_a_service_leads_to_pods_alone(server: Handle, service: str, message: str) -> None:
    assert told(ask(server, f"{SERVICES}/{service}/proxy/")) == (503, message)


@pytest.mark.parametrize("service", ["none", "none:80", "none:http"])
def test_a_service_without_endpoints_is_said_not_to_be_there(server: Handle, service: str) -> None:
    assert told(ask(server, f"{SERVICES}/{service}/proxy/")) == (404, 'services "none" not found')


def test_a_service_leads_to_the_pod_that_has_the_address(server: Handle) -> None:
    server.request("POST", ENDPOINTS, endpoints("led", {"port": 80}, name="led", namespace="default"))
    server.request("POST", PODS, pod("led", "internal"))
    server.request("PATCH", f"{PODS}/led/status", {"status": {"podIP": "10.9.9.9", "podIPs": [{"ip": "10.9.9.9"}]}})
    answer = ask(server, f"{SERVICES}/led/proxy")
    assert (answer.status_code, answer.headers["location"]) == (301, f"{SERVICES}/led/proxy/")
