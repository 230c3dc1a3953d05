"""How the cluster knows its own API server: the Service `kubernetes`, where it leads, and whom the server trusts."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Sequence
from typing import Any

from watchkeeper.apis.networking.servicecidr import READY, ready_status
from watchkeeper.meta.addresses import is_global_unicast

Object = dict[str, Any]

CIDR_CONTROLLER = "kubernetes-service-cidr-controller"
"""Who says that the networks are in use."""
_NAME = "kubernetes"
_PORT = 443
_ANY = ("0.0.0.0", "::", "")


def own_service(networks: tuple[str, ...], port: int) -> Object:
    """The Service, at the first address of the first network; `port` is where the server listens."""
    network = ipaddress.ip_network(networks[0])
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": _NAME,
            "namespace": "default",
            "labels": {"component": "apiserver", "provider": "kubernetes"},
        },
        "spec": {
            "clusterIP": str(network[1]),
            "ipFamilyPolicy": "SingleStack",
            "ports": [{"name": "https", "port": _PORT, "protocol": "TCP", "targetPort": port}],
            "sessionAffinity": "None",
            "type": "ClusterIP",
        },
    }


def own_endpoints(addresses: Sequence[str], port: int) -> list[Object]:
    """The Endpoints and the EndpointSlice of that Service; there is an address, and the first says of which family."""
    ports = [{"name": "https", "port": port, "protocol": "TCP"}]
    six = ":" in addresses[0]
    ready = [{"addresses": [each], "conditions": {"ready": True}} for each in addresses if (":" in each) is six]
    return [
        {
            "apiVersion": "v1",
            "kind": "Endpoints",
            "metadata": {
                "name": _NAME,
                "namespace": "default",
                "labels": {"endpointslice.kubernetes.io/skip-mirror": "true"},
            },
            "subsets": [{"addresses": [{"ip": each} for each in addresses], "ports": ports}],
        },
        {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {
                "name": _NAME,
                "namespace": "default",
                "labels": {"kubernetes.io/service-name": _NAME},
            },
            "addressType": "IPv6" if six else "IPv4",
            "endpoints": ready,
            "ports": ports,
        },
    ]


def advertised_address(bind: str) -> str:
    """Where others reach a server that listens on `bind`; "" when that is this machine only.

    Endpoints cannot have loopback addresses, so a server on one of those has no Endpoints, as the reference has none.
    """
    address = _outward_address() if bind in _ANY else bind
    return str(ipaddress.ip_address(address)) if is_advertisable(address) else ""


def is_advertisable(address: str) -> bool:
    """Whether endpoints may have this address."""
    return is_global_unicast(address)


def _outward_address() -> str:
    """The address of the interface that leads out of this machine. Sends nothing."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect(("192.0.2.1", 9))
            address: str = probe.getsockname()[0]
            return address
    except OSError:
        return ""


def service_cidr(networks: tuple[str, ...]) -> Object:
    """The networks that Services get their addresses from."""
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "ServiceCIDR",
        "metadata": {"name": _NAME},
        "spec": {"cidrs": list(networks)},
    }


def widened(stored: Object, expected: Object) -> Object | None:
    """The stored networks with a second one, of the other family, that the server has got; None if that is not so."""
    networks: list[str] = expected["spec"]["cidrs"]
    spec: Object = stored.get("spec") or {}
    if len(networks) == 2 and spec.get("cidrs") == networks[:1]:
        return {**stored, "spec": {**spec, "cidrs": networks}}
    return None


def is_unjudged(cidr: Object) -> bool:
    """Whether nobody says of a ServiceCIDR if it is ready."""
    return not cidr["metadata"].get("deletionTimestamp") and ready_status(cidr) in ("", "Unknown")


def trouble(stored: Object, expected: Object) -> str:
    """Why the stored networks are not those that this server would have, "" if they are, or are about to go."""
    if stored["metadata"].get("deletionTimestamp"):
        return ""
    networks, wanted = (", ".join((each.get("spec") or {}).get("cidrs") or ()) for each in (stored, expected))
    if networks != wanted:
        return f"the ServiceCIDR {_NAME} is of {networks}, which does not match what is configured: {wanted}"
    return f"the ServiceCIDR {_NAME} is as configured, but not ready" if ready_status(stored) == "False" else ""


def service_cidr_status(now: str) -> Object:
    """The status of networks that are in use."""
    condition = {
        "type": READY,
        "status": "True",
        "lastTransitionTime": now,
        "message": "Kubernetes default Service CIDR is ready",
    }
    return {"conditions": [condition]}
