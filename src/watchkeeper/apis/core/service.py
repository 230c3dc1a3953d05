"""Services."""

from __future__ import annotations

from typing import Any

from watchkeeper.apis.behavior import KindBehavior
from watchkeeper.apis.core import service_traits as traits
from watchkeeper.apis.core.service_defaults import default_service
from watchkeeper.apis.core.service_exposure_validation import validate_service_status
from watchkeeper.apis.core.service_table import TABLE
from watchkeeper.apis.core.service_validation import (
    TOPOLOGY_HINTS,
    TOPOLOGY_MODE,
    validate_service,
    validate_service_update,
)
from watchkeeper.apis.validation.names import name_is_dns_label
from watchkeeper.apis.validation.net import cidr_warnings, ip_warnings
from watchkeeper.meta.gvk import GroupKind, GroupVersionKind

Object = dict[str, Any]


def _prepare_for_update(new: Object, old: Object) -> None:
    """Drop what a new type has no use for, unless the client changed it too: then validation tells them.

    The addresses and ports that go this way are given back when the update is stored.
    """
    spec, was = new.get("spec") or {}, old.get("spec") or {}
    if traits.needs_cluster_ip(was) and not traits.needs_cluster_ip(spec):
        _drop_unchanged(spec, was, "clusterIP", "clusterIPs")
        _drop_unchanged(spec, was, "ipFamilies")
        _drop_unchanged(spec, was, "ipFamilyPolicy")
    without_node_ports = traits.needs_node_port(was) and not traits.needs_node_port(spec)
    if without_node_ports and set(traits.node_ports(spec)) <= set(traits.node_ports(was)):
        for port in spec.get("ports") or ():
            port.pop("nodePort", None)
    if traits.is_externally_accessible(was) and not traits.is_externally_accessible(spec):
        _drop_unchanged(spec, was, "externalTrafficPolicy")
    if traits.needs_health_check_port(was) and not traits.needs_health_check_port(spec):
        _drop_unchanged(spec, was, "healthCheckNodePort")
    if spec.get("type") != traits.LOAD_BALANCER:
        if was.get("type") == traits.LOAD_BALANCER:
            _drop_unchanged(spec, was, "allocateLoadBalancerNodePorts")
            _drop_unchanged(spec, was, "loadBalancerClass")
        status = new.get("status") or {}
        if status.get("loadBalancer"):
            new["status"] = {**status, "loadBalancer": {}}


def _drop_unchanged(spec: Object, was: Object, *names: str) -> None:
    if all(spec.get(name) == was.get(name) for name in names):
        for name in names:
            spec.pop(name, None)


def service_warnings(service: Object) -> list[str]:
    """What a Service says that is deprecated, ignored or in a dubious form."""
    spec = service.get("spec") or {}
    kind, headless = spec.get("type"), spec.get("type") == traits.CLUSTER_IP and spec.get("clusterIP") == traits.NONE
    external = spec.get("externalIPs") or ()
    found: list[str] = []
    if TOPOLOGY_HINTS in (service["metadata"].get("annotations") or {}):
        found.append(f"annotation {TOPOLOGY_HINTS} is deprecated, please use {TOPOLOGY_MODE} instead")
    if spec.get("clusterIP") not in (None, "", traits.NONE):
        for i, address in enumerate(spec.get("clusterIPs") or ()):
            found += ip_warnings(address, f"spec.clusterIPs[{i}]")
    if headless:
        if spec.get("loadBalancerIP"):
            found.append("spec.loadBalancerIP is ignored for headless services")
        if external:
            found.append("spec.externalIPs is ignored for headless services")
        if spec.get("sessionAffinity") != "None":
            found.append("spec.SessionAffinity is ignored for headless services")
    for i, address in enumerate(external):
        found += ip_warnings(address, f"spec.externalIPs[{i}]")
    if external and not headless and kind != traits.EXTERNAL_NAME:
        found.append("spec.externalIPs is deprecated and may no longer be implemented in some clusters")
    if spec.get("loadBalancerIP"):
        found += ip_warnings(spec["loadBalancerIP"], "spec.loadBalancerIP")
    for i, block in enumerate(spec.get("loadBalancerSourceRanges") or ()):
        found += cidr_warnings(block, f"spec.loadBalancerSourceRanges[{i}]")
    if kind == traits.EXTERNAL_NAME and external:
        found.append('spec.externalIPs is ignored when spec.type is "ExternalName"')
    if kind != traits.EXTERNAL_NAME and spec.get("externalName"):
        found.append('spec.externalName is ignored when spec.type is not "ExternalName"')
    if spec.get("trafficDistribution") == "PreferClose":
        found.append('spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"')
    return found


def _status_warnings(service: Object) -> list[str]:
    balancer = (service.get("status") or {}).get("loadBalancer") or {}
    found: list[str] = []
    for i, ingress in enumerate(balancer.get("ingress") or ()):
        found += ip_warnings(ingress.get("ip") or "", f"status.loadBalancer.ingress[{i}]")
    return found


def _fields(service: Object) -> dict[str, str]:
    spec = service.get("spec") or {}
    return {"spec.clusterIP": spec.get("clusterIP") or "", "spec.type": spec.get("type") or ""}


BEHAVIORS = [
    KindBehavior(
        kind=GroupKind("", "Service"),
        prepare_for_update=_prepare_for_update,
        validate=validate_service,
        validate_update=validate_service_update,
        validate_status_update=validate_service_status,
        warnings_on_create=service_warnings,
        warnings_on_update=lambda new, _old: service_warnings(new),
        warnings_on_status_update=_status_warnings,
        name_rule=name_is_dns_label,
        selectable_fields=_fields,
        selectable_labels=("spec.clusterIP", "spec.type"),
        unsupported_field_label=lambda label: f"field label not supported: {label}",
        allow_create_on_update=True,
        table=TABLE,
    )
]
DEFAULTS = {GroupVersionKind("", "v1", "Service"): default_service}
