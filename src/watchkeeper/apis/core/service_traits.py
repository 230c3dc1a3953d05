"""What the fields of a Service's spec say about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Spec = Mapping[str, Any]

CLUSTER_IP, NODE_PORT, LOAD_BALANCER, EXTERNAL_NAME = "ClusterIP", "NodePort", "LoadBalancer", "ExternalName"
NONE = "None"
"""As a cluster IP: the Service is headless."""
CLIENT_IP = "ClientIP"
"""Session affinity by the client's address."""
LOCAL = "Local"
SINGLE_STACK, PREFER_DUAL_STACK, REQUIRE_DUAL_STACK = "SingleStack", "PreferDualStack", "RequireDualStack"
IPV4, IPV6 = "IPv4", "IPv6"


def is_headless(spec: Spec) -> bool:
    """Whether its only cluster IP is None."""
    return bool(spec.get("clusterIPs") == [NONE])


def needs_cluster_ip(spec: Spec) -> bool:
    """Whether its type has cluster IPs (None counts as one)."""
    return spec.get("type") != EXTERNAL_NAME


def needs_node_port(spec: Spec) -> bool:
    """Whether its type can have node ports."""
    return spec.get("type") in (NODE_PORT, LOAD_BALANCER)


def needs_health_check_port(spec: Spec) -> bool:
    """Whether a load balancer must find out which nodes have endpoints."""
    return spec.get("type") == LOAD_BALANCER and spec.get("externalTrafficPolicy") == LOCAL


def is_externally_accessible(spec: Spec) -> bool:
    """Whether traffic can come from outside the cluster."""
    return needs_node_port(spec) or (spec.get("type") == CLUSTER_IP and bool(spec.get("externalIPs")))


def allocates_node_ports(spec: Spec) -> bool:
    """Whether ports without a node port get one."""
    kind = spec.get("type")
    return kind == NODE_PORT or (kind == LOAD_BALANCER and spec.get("allocateLoadBalancerNodePorts") is not False)


def node_ports(spec: Spec) -> list[int]:
    """The node ports it has."""
    return [port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort")]
