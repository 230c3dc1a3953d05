"""The rules of Services."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from watchkeeper.apis.validation.enums import validate_enum
from watchkeeper.apis.validation.metadata import validate_immutable, validate_labels
from watchkeeper.apis.validation.names import is_dns1123_label, is_dns1123_subdomain, is_port_name
from watchkeeper.apis.validation.net import parse_ip, validate_legacy_cidr, validate_legacy_ip
from watchkeeper.apis.validation.numbers import validate_port_number
from watchkeeper.meta.field import FieldError, duplicate, forbidden, invalid, not_supported, required

Object = dict[str, Any]
Spec = Mapping[str, Any]

_PROTOCOLS = ("SCTP", "TCP", "UDP")
_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_EXTERNAL = ("NodePort", "LoadBalancer")
_MAX_CLIENT_IP_SECONDS = 86400


def validate(service: Object) -> list[FieldError]:
    """What is wrong with a new Service, in the reference's order."""
    spec: Spec = service.get("spec") or {}
    errors = _by_type(spec)
    errors += _port_errors(spec)
    if spec.get("selector"):
        errors += validate_labels(spec["selector"], "spec.selector")
    errors += _affinity_errors(spec)
    errors += validate_enum(spec.get("type"), "spec.type", _TYPES)
    errors += _ip_errors(spec)
    errors += _name_port_errors(spec)
    errors += _traffic_errors(spec)
    errors += _load_balancer_errors(spec)
    return errors


def _by_type(spec: Spec) -> list[FieldError]:
    kind = spec.get("type")
    errors: list[FieldError] = []
    headless = spec.get("clusterIP") == "None"
    if not spec.get("ports") and not headless and kind != "ExternalName":
        errors.append(required("spec.ports"))
    if kind == "LoadBalancer" and headless:
        errors.append(invalid("spec.clusterIPs[0]", "None", "may not be set to 'None' for LoadBalancer services"))
    if kind == "NodePort" and headless:
        errors.append(invalid("spec.clusterIPs[0]", "None", "may not be set to 'None' for NodePort services"))
    if kind == "ExternalName":
        errors += _external_name_errors(spec)
    return errors


def _external_name_errors(spec: Spec) -> list[FieldError]:
    errors: list[FieldError] = []
    why = "may not be set for ExternalName services"
    errors += [forbidden(f"spec.{n}", why) for n in ("clusterIPs", "ipFamilies", "ipFamilyPolicy") if spec.get(n)]
    name = (spec.get("externalName") or "").rstrip(".")
    if not name:
        return [*errors, required("spec.externalName")]
    return errors + [invalid("spec.externalName", name, text) for text in is_dns1123_subdomain(name)]


def _port_errors(spec: Spec) -> list[FieldError]:
    ports = spec.get("ports") or []
    named: set[str] = set()
    errors: list[FieldError] = []
    for index, port in enumerate(ports):
        errors += _one_port(port, f"spec.ports[{index}]", named, name_required=len(ports) > 1)
    return errors


def _one_port(port: Spec, path: str, named: set[str], *, name_required: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    name = port.get("name") or ""
    if not name and name_required:
        errors.append(required(f"{path}.name"))
    elif name:
        errors += [invalid(f"{path}.name", name, text) for text in is_dns1123_label(name)]
        if name in named:
            errors.append(duplicate(f"{path}.name", name))
        named.add(name)
    errors += validate_port_number(port.get("port") or 0, f"{path}.port")
    errors += validate_enum(port.get("protocol"), f"{path}.protocol", _PROTOCOLS)
    target = port.get("targetPort")
    if isinstance(target, int):
        errors += validate_port_number(target, f"{path}.targetPort")
    elif isinstance(target, str):
        errors += [invalid(f"{path}.targetPort", target, text) for text in is_port_name(target)]
    return errors


def _affinity_errors(spec: Spec) -> list[FieldError]:
    affinity = spec.get("sessionAffinity")
    errors = validate_enum(affinity, "spec.sessionAffinity", ("ClientIP", "None"))
    config = spec.get("sessionAffinityConfig")
    path = "spec.sessionAffinityConfig"
    if affinity == "ClientIP":
        seconds = ((config or {}).get("clientIP") or {}).get("timeoutSeconds")
        if seconds is None:
            return [*errors, required(path, "when session affinity type is ClientIP")]
        if not 0 < seconds <= _MAX_CLIENT_IP_SECONDS:
            why = f"must be greater than 0 and less than {_MAX_CLIENT_IP_SECONDS}"
            errors.append(invalid(f"{path}.clientIP.timeoutSeconds", seconds, why))
    elif affinity == "None" and config is not None:
        errors.append(forbidden(path, "must not be set when session affinity is None"))
    return errors


def _ip_errors(spec: Spec) -> list[FieldError]:
    errors = _cluster_ip_errors(spec)
    for index, text in enumerate(spec.get("externalIPs") or ()):
        path = f"spec.externalIPs[{index}]"
        found = validate_legacy_ip(text, path)
        errors += found or _non_special_ip(text, path)
    return errors


def _non_special_ip(text: str, path: str) -> list[FieldError]:
    address = parse_ip(text)
    if address is None:
        return []
    for special, why in (
        (address.is_unspecified, "may not be unspecified (0.0.0.0 or ::)"),
        (address.is_loopback, "may not be in the loopback range (127.0.0.0/8, ::1/128)"),
        (address.is_link_local, "may not be in the link-local range (169.254.0.0/16, fe80::/10)"),
    ):
        if special:
            return [invalid(path, text, why)]
    return []


def _cluster_ip_errors(spec: Spec) -> list[FieldError]:
    if spec.get("type") == "ExternalName":
        return []
    first, addresses = spec.get("clusterIP") or "", spec.get("clusterIPs") or []
    errors: list[FieldError] = []
    if first and addresses and addresses[0] != first:
        errors.append(invalid("spec.clusterIPs[0]", addresses[0], "must match `clusterIP`"))
    if not first and addresses:
        errors.append(invalid("spec.clusterIPs", addresses, "must be empty when `clusterIP` is not specified"))
    for index, text in enumerate(addresses or ([first] if first else [])):
        path = f"spec.clusterIPs[{index}]"
        if text == "None":
            if len(addresses) > 1:
                errors.append(invalid(path, text, "'None' must be the first and only value"))
        elif text:
            errors += validate_legacy_ip(text, path)
    families = spec.get("ipFamilies") or []
    for index, family in enumerate(families):
        if family not in ("IPv4", "IPv6"):
            errors.append(not_supported(f"spec.ipFamilies[{index}]", family, ("IPv4", "IPv6")))
        elif family in families[:index]:
            errors.append(duplicate(f"spec.ipFamilies[{index}]", family))
    policy = spec.get("ipFamilyPolicy")
    supported = ("SingleStack", "PreferDualStack", "RequireDualStack")
    if policy is not None and policy not in supported:
        errors.append(invalid("spec.ipFamilyPolicy", policy, f"must be one of {', '.join(supported)}"))
    return errors


def _name_port_errors(spec: Spec) -> list[FieldError]:
    ports = spec.get("ports") or []
    errors: list[FieldError] = []
    kind = spec.get("type")
    if kind not in _EXTERNAL:
        why = f"may not be used when `type` is '{kind}'"
        errors += [forbidden(f"spec.ports[{i}].nodePort", why) for i, p in enumerate(ports) if p.get("nodePort")]
    seen_node: set[tuple[Any, Any]] = set()
    seen: set[tuple[Any, Any]] = set()
    for index, port in enumerate(ports):
        key = (port.get("protocol"), port.get("nodePort"))
        if port.get("nodePort"):
            if key in seen_node:
                errors.append(duplicate(f"spec.ports[{index}].nodePort", port["nodePort"]))
            seen_node.add(key)
    for index, port in enumerate(ports):
        key = (port.get("protocol"), port.get("port"))
        if key in seen:
            shown = {"port": port.get("port"), "protocol": port.get("protocol"), "targetPort": 0}
            errors.append(duplicate(f"spec.ports[{index}]", shown))
        seen.add(key)
    return errors


def _traffic_errors(spec: Spec) -> list[FieldError]:
    errors: list[FieldError] = []
    kind, external = spec.get("type"), spec.get("externalTrafficPolicy")
    facing = kind in _EXTERNAL or bool(spec.get("externalIPs"))
    path = "spec.externalTrafficPolicy"
    if external and not facing:
        errors.append(invalid(path, external, "may only be set for externally-accessible services"))
    elif external and external not in ("Cluster", "Local"):
        errors.append(not_supported(path, external, ("Cluster", "Local")))
    health = spec.get("healthCheckNodePort") or 0
    if health < 0:
        errors.append(invalid("spec.healthCheckNodePort", health, "must be greater than 0"))
    elif health and not (kind == "LoadBalancer" and external == "Local"):
        why = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
        errors.append(invalid("spec.healthCheckNodePort", health, why))
    internal = spec.get("internalTrafficPolicy")
    if internal is None and kind in (*_EXTERNAL, "ClusterIP"):
        errors.append(required("spec.internalTrafficPolicy"))
    elif internal is not None and internal not in ("Cluster", "Local"):
        errors.append(not_supported("spec.internalTrafficPolicy", internal, ("Cluster", "Local")))
    return errors


def _load_balancer_errors(spec: Spec) -> list[FieldError]:
    errors: list[FieldError] = []
    balancer = spec.get("type") == "LoadBalancer"
    ranges = spec.get("loadBalancerSourceRanges")
    path = "spec.LoadBalancerSourceRanges"
    if ranges:
        if not balancer:
            errors.append(forbidden(path, "may only be used when `type` is 'LoadBalancer'"))
        for index, text in enumerate(ranges):
            errors += validate_legacy_cidr(text.strip(), f"{path}[{index}]")
    given = spec.get("allocateLoadBalancerNodePorts")
    if given is not None and not balancer:
        why = "may only be used when `type` is 'LoadBalancer'"
        errors.append(forbidden("spec.allocateLoadBalancerNodePorts", why))
    if given is None and balancer:
        errors.append(required("spec.allocateLoadBalancerNodePorts"))
    name = spec.get("loadBalancerClass")
    if name is not None and not balancer:
        errors.append(forbidden("spec.loadBalancerClass", "may only be used when `type` is 'LoadBalancer'"))
    return errors


def validate_update(new: Object, old: Object) -> list[FieldError]:
    """What is wrong with a changed Service: its first address stays for as long as its type has one."""
    errors: list[FieldError] = []
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    external = "ExternalName"
    if spec.get("type") != external and before.get("type") != external:
        was, now = before.get("clusterIPs") or [], spec.get("clusterIPs") or []
        if was and now and was[0] != now[0]:
            errors.append(invalid("spec.clusterIPs[0]", now[0], "may not change once set"))
        families, known = spec.get("ipFamilies") or [], before.get("ipFamilies") or []
        if known and families and families[0] != known[0]:
            errors.append(invalid("spec.ipFamilies[0]", families[0], "may not change once set"))
    if spec.get("type") == before.get("type") == "LoadBalancer":
        errors += validate_immutable(
            spec.get("loadBalancerClass"), before.get("loadBalancerClass"), "spec.loadBalancerClass"
        )
    return errors + validate(new)


def validate_status_update(new: Object, _old: Object) -> list[FieldError]:
    """What is wrong with a new status."""
    status, spec = new.get("status") or {}, new.get("spec") or {}
    ingress = (status.get("loadBalancer") or {}).get("ingress") or ()
    path = "status.loadBalancer.ingress"
    if ingress and spec.get("type") != "LoadBalancer":
        return [forbidden(path, "may only be used when `spec.type` is 'LoadBalancer'")]
    errors: list[FieldError] = []
    for index, entry in enumerate(ingress):
        at = f"{path}[{index}]"
        if entry.get("ip"):
            errors += validate_legacy_ip(entry["ip"], f"{at}.ip")
            mode = entry.get("ipMode")
            if mode is not None and mode not in ("VIP", "Proxy"):
                errors.append(not_supported(f"{at}.ipMode", mode, ("Proxy", "VIP")))
        elif entry.get("ipMode") is not None:
            errors.append(forbidden(f"{at}.ipMode", "may not be specified when `ip` is not set"))
        host = entry.get("hostname")
        if host:
            errors += [invalid(f"{at}.hostname", host, text) for text in is_dns1123_subdomain(host)]
            if parse_ip(host) is not None:
                errors.append(invalid(f"{at}.hostname", host, "must be a DNS name, not an IP address"))
    return errors
