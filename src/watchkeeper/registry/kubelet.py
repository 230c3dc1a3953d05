"""Where the kubelet of a Node is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from watchkeeper.aio.dial import authority
from watchkeeper.meta.errors import ApiError

_PREFERRED = ("Hostname", "InternalDNS", "InternalIP", "ExternalDNS", "ExternalIP")
_HOSTNAME_LABEL = "kubernetes.io/hostname"
_PORT = 10250
_WEBSOCKETS = "ExtendWebSocketsToKubelet"
"""The feature that kubelets declare which need no translation of WebSockets."""


@dataclass(frozen=True, slots=True)
class Kubelet:
    """Host and port of a kubelet."""

    host: str
    port: int
    websockets: bool = False
    """Whether it takes WebSockets as they come from clients."""

    @property
    def authority(self) -> str:
        """Both, as they stand in a URL."""
        return authority(self.host, self.port)


def kubelet_of(node: dict[str, Any]) -> Kubelet:
    """The kubelet of a node, at the address that kube-apiserver prefers. Raises an ApiError when there is none."""
    status = node.get("status") or {}
    port = ((status.get("daemonEndpoints") or {}).get("kubeletEndpoint") or {}).get("Port") or 0
    port = port if port > 0 else _PORT
    websockets = _WEBSOCKETS in (status.get("declaredFeatures") or ())
    known = status.get("addresses") or []
    for wanted in _PREFERRED:
        for each in known:
            if each.get("type") == wanted:
                return Kubelet(each.get("address", ""), port, websockets)
        label = (node["metadata"].get("labels") or {}).get(_HOSTNAME_LABEL)
        if wanted == "Hostname" and label:
            return Kubelet(label, port, websockets)
    shown = " ".join(f"{{{a.get('type', '')} {a.get('address', '')}}}" for a in known)
    raise ApiError(500, "", f"no preferred addresses found; known addresses: [{shown}]")
