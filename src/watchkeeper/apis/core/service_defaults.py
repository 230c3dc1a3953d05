"""What a Service gets when nobody says otherwise."""

from __future__ import annotations

from typing import Any

from watchkeeper.apis.core import service_traits as traits

Object = dict[str, Any]

_CLUSTER = "Cluster"
_CLIENT_IP_SECONDS = 10800


def default_service(service: Object) -> None:
    """Fill in defaults, in place. Addresses and ports are allocated later."""
    spec = service.setdefault("spec", {})
    _default_affinity(spec)
    if not spec.get("type"):
        spec["type"] = traits.CLUSTER_IP
    for port in spec.get("ports") or ():
        if not port.get("protocol"):
            port["protocol"] = "TCP"
        if not port.get("targetPort"):
            port["targetPort"] = port.get("port", 0)
    if not spec.get("externalTrafficPolicy") and traits.is_externally_accessible(spec):
        spec["externalTrafficPolicy"] = _CLUSTER
    kind = spec["type"]
    if spec.get("internalTrafficPolicy") is None and kind in (
        traits.CLUSTER_IP,
        traits.NODE_PORT,
        traits.LOAD_BALANCER,
    ):
        spec["internalTrafficPolicy"] = _CLUSTER
    if kind == traits.LOAD_BALANCER:
        if spec.get("allocateLoadBalancerNodePorts") is None:
            spec["allocateLoadBalancerNodePorts"] = True
        for ingress in ((service.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ():
            if ingress.get("ip") and ingress.get("ipMode") is None:
                ingress["ipMode"] = "VIP"


def _default_affinity(spec: Object) -> None:
    affinity = spec.get("sessionAffinity")
    if not affinity:
        affinity = spec["sessionAffinity"] = "None"
    if affinity == "None":
        spec.pop("sessionAffinityConfig", None)
    elif affinity == traits.CLIENT_IP:
        client = (spec.get("sessionAffinityConfig") or {}).get("clientIP") or {}
        if client.get("timeoutSeconds") is None:
            spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": _CLIENT_IP_SECONDS}}
