"""What an update of a Service means when it leaves out, or names once, what the server allocated."""

from __future__ import annotations

from typing import Any

from watchkeeper.apis.core import service_traits as traits

Spec = dict[str, Any]


def keep_allocated(spec: Spec, was: Spec) -> None:
    """Carry over allocated values that a client left out, so that writing a manifest again changes nothing."""
    if traits.needs_cluster_ip(was) and traits.needs_cluster_ip(spec):
        if not spec.get("clusterIP") and was.get("clusterIP"):
            spec["clusterIP"] = was["clusterIP"]
        if not spec.get("clusterIPs") and was.get("clusterIPs"):
            spec["clusterIPs"] = list(was["clusterIPs"])
    # A load balancer that is to have no node ports gives up those that an update leaves out.
    if traits.allocates_node_ports(was) and traits.allocates_node_ports(spec):
        _keep_node_ports(spec, was)
    checked = traits.needs_health_check_port(was) and traits.needs_health_check_port(spec)
    if checked and not spec.get("healthCheckNodePort") and was.get("healthCheckNodePort"):
        spec["healthCheckNodePort"] = was["healthCheckNodePort"]


def _keep_node_ports(spec: Spec, was: Spec) -> None:
    """By the names of ports. Two that have the same name get the same, which is an error to tell."""
    used = set(traits.node_ports(was)) & set(traits.node_ports(spec))
    known = {port.get("name", ""): port.get("nodePort") for port in was.get("ports") or ()}
    for port in spec.get("ports") or ():
        before = known.get(port.get("name", ""))
        if not port.get("nodePort") and before and before not in used:
            port["nodePort"] = before


def normalize_addresses(spec: Spec, was: Spec | None) -> None:
    """Keep clusterIP and clusterIPs in step for clients that know only the one. Validation sees to the rest."""
    first, addresses = spec.get("clusterIP") or "", spec.get("clusterIPs") or []
    if was is None:
        if first and not addresses:
            spec["clusterIPs"] = [first]
        return
    first_was, were = was.get("clusterIP") or "", was.get("clusterIPs") or []
    if first == first_was:
        if were and not addresses:
            spec["clusterIPs"] = list(were)
    elif addresses == were:
        if first:
            spec["clusterIPs"] = [first]
        else:
            spec.pop("clusterIPs", None)
