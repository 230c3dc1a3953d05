"""Where the kubelet of a Node is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from watchkeeper.meta.errors import ApiError

PREFERRED_ADDRESS_TYPES = ("Hostname", "InternalDNS", "InternalIP", "ExternalDNS", "ExternalIP")
KUBELET_PORT = 10250
_HOSTNAME_LABEL = "kubernetes.io/hostname"
_WEBSOCKETS = "ExtendWebSocketsToKubelet"
"""The feature that kubelets declare which need no translation of WebSockets."""


@dataclass(frozen=True, slots=True)
class Kubelet:
    """Host and port of a kubelet."""

    host: str
    port: int
    websockets: bool = False
    """Whether it takes WebSockets as they come from clients."""


@dataclass(frozen=True, slots=True)
class KubeletPlaces:
    """At which addresses and ports kubelets are reached."""

    address_types: tuple[str, ...] = PREFERRED_ADDRESS_TYPES
    """The types of addresses, those that are preferred first."""
    port: int = KUBELET_PORT
    """For nodes that do not tell."""


def kubelet_of(node: dict[str, Any], places: KubeletPlaces) -> Kubelet:
    """The kubelet of a node, at the address that is preferred. Raises an ApiError when there is none."""
    status = node.get("status") or {}
    port = ((status.get("daemonEndpoints") or {}).get("kubeletEndpoint") or {}).get("Port") or 0
    port = port if port > 0 else places.port
    websockets = _WEBSOCKETS in (status.get("declaredFeatures") or ())
    known = status.get("addresses") or []
    for wanted in places.address_types:
        for each in known:
            if each.get("type") == wanted:
                return Kubelet(each.get("address", ""), port, websockets)
        label = (node["metadata"].get("labels") or {}).get(_HOSTNAME_LABEL)
        if wanted == "Hostname" and label:
            return Kubelet(label, port, websockets)
    shown = " ".join(f"{{{a.get('type', '')} {a.get('address', '')}}}" for a in known)
    raise ApiError(500, "", f"no preferred addresses found; known addresses: [{shown}]")
