"""A server with a node, a Pod and a Service behind which something listens, for tests of what is passed on."""

from __future__ import annotations

from typing import Any

import httpx
from fake_kubelet import FakeKubelet

from watchkeeper.testing.handle import Handle

NODES = "/api/v1/nodes"
PODS = "/api/v1/namespaces/default/pods"
SERVICES = "/api/v1/namespaces/default/services"
ENDPOINTS = "/api/v1/namespaces/default/endpoints"


def make_node(server: Handle, name: str, address: str, port: int, *features: str) -> None:
    """A node whose kubelet is there."""
    status = {
        "addresses": [{"type": "InternalIP", "address": address}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
        "declaredFeatures": list(features),
    }
    server.request("POST", NODES, {"metadata": {"name": name}, "status": status})


def make_pod(server: Handle, name: str, node: str, *containers: str, address: str = "", port: int = 0) -> None:
    """A Pod on a node, with an address if there is one."""
    listed: list[dict[str, Any]] = [{"name": each, "image": "i"} for each in containers or ("c",)]
    if port:
        listed[0]["ports"] = [{"containerPort": port}]
    server.request("POST", PODS, {"metadata": {"name": name}, "spec": {"nodeName": node, "containers": listed}})
    if address:
        status = {"podIP": address, "podIPs": [{"ip": address}]}
        server.request("PATCH", f"{PODS}/{name}/status", {"status": status})


def make_service(server: Handle, name: str, pod: str, address: str, **ports: int) -> None:
    """A Service before a Pod."""
    listed = [{"name": each, "port": port} for each, port in ports.items()]
    server.request("POST", SERVICES, {"metadata": {"name": name}, "spec": {"clusterIP": "None", "ports": listed}})
    target = {"kind": "Pod", "name": pod, "namespace": "default"}
    subset = {"addresses": [{"ip": address, "targetRef": target}], "ports": listed}
    server.request("POST", ENDPOINTS, {"metadata": {"name": name}, "subsets": [subset]})


def client(server: Handle, **options: Any) -> httpx.Client:
    """One that says who it is."""
    headers = {"Authorization": f"Bearer {server.token}", **options.pop("headers", {})}
    return httpx.Client(base_url=server.url, verify=server.ssl_context(), headers=headers, timeout=20, **options)


def told(answer: httpx.Response) -> tuple[int, str]:
    """The code and the message of a Status."""
    assert answer.json()["code"] == answer.status_code
    return answer.status_code, answer.json()["message"]


def last(kubelet: FakeKubelet) -> Any:
    """The last request that it got."""
    return kubelet.asked[-1]
