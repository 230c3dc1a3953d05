"""Services: defaults, table, and what an update keeps. Their rules are in `service_validation`."""

from __future__ import annotations

from typing import Any

from watchkeeper.apis import printing
from watchkeeper.apis.behavior import Column, KindBehavior, TableSpec
from watchkeeper.apis.core.service_validation import validate, validate_status_update, validate_update
from watchkeeper.apis.validation.names import name_is_dns1035_label
from watchkeeper.meta.gvk import GroupKind, GroupVersionKind

Object = dict[str, Any]

_CLIENT_IP_SECONDS = 10800
_EXTERNAL = ("NodePort", "LoadBalancer")


def default_service(service: Object) -> None:
    """Fill in a Service."""
    spec = service.setdefault("spec", {})
    kind = spec.setdefault("type", "ClusterIP")
    if spec.setdefault("sessionAffinity", "None") == "ClientIP":
        config = spec.setdefault("sessionAffinityConfig", {}).setdefault("clientIP", {})
        config.setdefault("timeoutSeconds", _CLIENT_IP_SECONDS)
    for port in spec.get("ports") or ():
        port.setdefault("protocol", "TCP")
        if port.get("targetPort") in (None, 0, ""):
            port["targetPort"] = port.get("port", 0)
    if kind in _EXTERNAL:
        spec.setdefault("externalTrafficPolicy", "Cluster")
    if kind in (*_EXTERNAL, "ClusterIP"):
        spec.setdefault("internalTrafficPolicy", "Cluster")
    if kind == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)


def _prepare_for_create(service: Object) -> None:
    service["status"] = {"loadBalancer": {}}
    _drop_unused(service)


def keep_allocated(new: Object, old: Object) -> None:
    """What the server allocated stays with an update that does not name it."""
    _patch_allocated(new.setdefault("spec", {}), old.get("spec") or {})


def _prepare_for_update(new: Object, _old: Object) -> None:
    _drop_unused(new)


def _drop_unused(service: Object) -> None:
    """Fields that mean nothing for the type."""
    spec = service["spec"]
    if spec.get("type") == "ExternalName":
        for name in ("ipFamilies", "ipFamilyPolicy", "clusterIPs"):
            if not spec.get(name):
                spec.pop(name, None)


def _patch_allocated(spec: Object, old: Object) -> None:
    if _takes_cluster_ip(spec) and _takes_cluster_ip(old) and not spec.get("clusterIP") and not spec.get("clusterIPs"):
        for name in ("clusterIP", "clusterIPs"):
            if old.get(name):
                spec[name] = old[name]
    _patch_node_ports(spec, old)
    local = spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"
    was_local = old.get("type") == "LoadBalancer" and old.get("externalTrafficPolicy") == "Local"
    if local and was_local and not spec.get("healthCheckNodePort") and old.get("healthCheckNodePort"):
        spec["healthCheckNodePort"] = old["healthCheckNodePort"]
    if was_local and not local and spec.get("healthCheckNodePort") == old.get("healthCheckNodePort"):
        spec.pop("healthCheckNodePort", None)


def _patch_node_ports(spec: Object, old: Object) -> None:
    if spec.get("type") not in _EXTERNAL or old.get("type") not in _EXTERNAL:
        return
    known = {(p.get("protocol"), p.get("port")): p.get("nodePort") for p in old.get("ports") or ()}
    used = {p.get("nodePort") for p in spec.get("ports") or () if p.get("nodePort")}
    for port in spec.get("ports") or ():
        found = known.get((port.get("protocol"), port.get("port")))
        if not port.get("nodePort") and found and found not in used:
            port["nodePort"] = found


def _takes_cluster_ip(spec: Object) -> bool:
    return spec.get("type") in ("ClusterIP", *_EXTERNAL)


def _external_ips(service: Object) -> str:
    spec = service.get("spec") or {}
    kind, given = spec.get("type"), spec.get("externalIPs") or []
    if kind in ("ClusterIP", "NodePort"):
        return ",".join(given) if given else printing.NONE
    if kind == "LoadBalancer":
        ingress = ((service.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()
        served = [i.get("ip") or i.get("hostname") for i in ingress if i.get("ip") or i.get("hostname")]
        found = [*served, *given]
        return ",".join(dict.fromkeys(found)) if found else "<pending>"
    if kind == "ExternalName":
        return str(spec.get("externalName", ""))
    return printing.UNKNOWN


def _ports(spec: Object) -> str:
    shown = []
    for port in spec.get("ports") or ():
        number = str(port.get("port"))
        if port.get("nodePort"):
            number += f":{port['nodePort']}"
        shown.append(f"{number}/{port.get('protocol', '')}")
    return ",".join(shown) if shown else printing.NONE


def _cells(service: Object, now: float) -> list[Any]:
    spec = service.get("spec") or {}
    addresses = spec.get("clusterIPs") or ([spec["clusterIP"]] if spec.get("clusterIP") else [])
    return [
        printing.name_of(service),
        spec.get("type", ""),
        addresses[0] if addresses else printing.NONE,
        _external_ips(service),
        _ports(spec),
        printing.age(service, now),
        printing.format_labels(spec.get("selector")),
    ]


def _fields(service: Object) -> dict[str, str]:
    spec = service.get("spec") or {}
    return {"spec.clusterIP": spec.get("clusterIP", ""), "spec.type": spec.get("type", "")}


BEHAVIORS = [
    KindBehavior(
        kind=GroupKind("", "Service"),
        prepare_for_create=_prepare_for_create,
        prepare_for_update=_prepare_for_update,
        validate=validate,
        validate_update=validate_update,
        validate_status_update=validate_status_update,
        name_rule=name_is_dns1035_label,
        selectable_fields=_fields,
        selectable_labels=("spec.clusterIP", "spec.type"),
        unsupported_field_label=lambda label: f"field label not supported: {label}",
        table=TableSpec(
            columns=(
                printing.NAME,
                Column("Type", "string", "How the Service is reached."),
                Column("Cluster-IP", "string", "Its address within the cluster."),
                Column("External-IP", "string", "Its addresses from outside."),
                Column("Port(s)", "string", "The ports it listens on, with their node ports."),
                printing.AGE,
                printing.SELECTOR,
            ),
            cells=_cells,
        ),
    )
]
DEFAULTS = {GroupVersionKind("", "v1", "Service"): default_service}
