"""The rules of Services, on create, on update and for their status."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from watchkeeper.apis.core import service_traits as traits
from watchkeeper.apis.core.container_validation import PROTOCOLS
from watchkeeper.apis.core.service_address_validation import validate_address_change, validate_addresses
from watchkeeper.apis.core.service_exposure_validation import (
    ONLY_LOAD_BALANCER,
    external_ip_errors,
    external_traffic_errors,
    internal_traffic_errors,
    load_balancer_class_errors,
    source_range_errors,
)
from watchkeeper.apis.core.service_traits import is_headless
from watchkeeper.apis.validation.enums import validate_enum, validate_optional_enum
from watchkeeper.apis.validation.metadata import IMMUTABLE, validate_labels
from watchkeeper.apis.validation.names import is_dns1123_label, is_dns1123_subdomain, is_qualified_name
from watchkeeper.apis.validation.numbers import validate_port_number, validate_port_number_or_name
from watchkeeper.meta.field import FieldError, duplicate, forbidden, invalid, required

Object = dict[str, Any]
Spec = Mapping[str, Any]

TOPOLOGY_HINTS = "service.kubernetes.io/topology-aware-hints"
TOPOLOGY_MODE = "service.kubernetes.io/topology-mode"
_AFFINITIES = (traits.CLIENT_IP, "None")
_TYPES = (traits.CLUSTER_IP, traits.EXTERNAL_NAME, traits.LOAD_BALANCER, traits.NODE_PORT)
_DISTRIBUTIONS = ("PreferClose", "PreferSameZone", "PreferSameNode")
_MAX_AFFINITY_SECONDS = 86400


def validate_service(service: Object) -> list[FieldError]:
    """What is wrong with a new Service."""
    return _errors(service, None)


def validate_service_update(new: Object, old: Object) -> list[FieldError]:
    """What is wrong with a changed Service."""
    spec, was = new.get("spec") or {}, old.get("spec") or {}
    errors = validate_address_change(spec, was)
    errors += load_balancer_class_errors(spec, was)
    checked = traits.needs_health_check_port(was) and traits.needs_health_check_port(spec)
    if checked and spec.get("healthCheckNodePort") != was.get("healthCheckNodePort"):
        errors.append(forbidden("spec.healthCheckNodePort", IMMUTABLE))
    return errors + _errors(new, old)


def _errors(service: Object, old: Object | None) -> list[FieldError]:
    spec: Spec = service.get("spec") or {}
    was: Spec | None = None if old is None else old.get("spec") or {}
    annotations: Mapping[str, str] = service["metadata"].get("annotations") or {}
    errors = _topology(annotations)
    errors += _type_errors(spec)
    errors += _port_errors(spec)
    selector = spec.get("selector")
    if selector:
        errors += validate_labels(selector, "spec.selector")
    errors += _affinity(spec)
    errors += validate_addresses(spec, was)
    errors += external_ip_errors(spec, was)
    errors += validate_enum(spec.get("type"), "spec.type", _TYPES)
    errors += _port_clashes(spec)
    errors += source_range_errors(spec, annotations, old)
    allocates = spec.get("allocateLoadBalancerNodePorts")
    if spec.get("type") == traits.LOAD_BALANCER:
        if allocates is None:
            errors.append(required("allocateLoadBalancerNodePorts"))
    elif allocates is not None:
        errors.append(forbidden("spec.allocateLoadBalancerNodePorts", ONLY_LOAD_BALANCER))
    errors += load_balancer_class_errors(spec, None)
    errors += external_traffic_errors(spec)
    errors += internal_traffic_errors(spec)
    return errors + validate_optional_enum(spec.get("trafficDistribution"), "spec.trafficDistribution", _DISTRIBUTIONS)


def _topology(annotations: Mapping[str, str]) -> list[FieldError]:
    hints, mode = annotations.get(TOPOLOGY_HINTS), annotations.get(TOPOLOGY_MODE)
    if hints is None or mode is None or hints == mode:
        return []
    why = f"must match annotations[{TOPOLOGY_HINTS}] when both are specified"
    return [invalid(f"metadata.annotations[{TOPOLOGY_MODE}]", mode, why)]


def _type_errors(spec: Spec) -> list[FieldError]:
    kind, headless = spec.get("type"), is_headless(spec)
    errors: list[FieldError] = []
    if not spec.get("ports") and not headless and kind != traits.EXTERNAL_NAME:
        errors.append(required("spec.ports"))
    if kind in (traits.LOAD_BALANCER, traits.NODE_PORT) and headless:
        errors.append(invalid("spec.clusterIPs[0]", traits.NONE, f"may not be set to 'None' for {kind} services"))
    if kind == traits.EXTERNAL_NAME:
        only = "may not be set for ExternalName services"
        errors += [forbidden(f"spec.{name}", only) for name in ("clusterIPs", "ipFamilies") if spec.get(name)]
        if spec.get("ipFamilyPolicy") is not None:
            errors.append(forbidden("spec.ipFamilyPolicy", only))
        target = (spec.get("externalName") or "").removesuffix(".")
        if not target:
            errors.append(required("spec.externalName"))
        else:
            errors += [invalid("spec.externalName", target, text) for text in is_dns1123_subdomain(target)]
    return errors


def _port_errors(spec: Spec) -> list[FieldError]:
    ports = spec.get("ports") or ()
    names: set[str] = set()
    errors: list[FieldError] = []
    for i, port in enumerate(ports):
        path, name = f"spec.ports[{i}]", port.get("name")
        if name:
            errors += [invalid(f"{path}.name", name, text) for text in is_dns1123_label(name)]
            if name in names:
                errors.append(duplicate(f"{path}.name", name))
            names.add(name)
        elif len(ports) > 1:
            errors.append(required(f"{path}.name"))
        errors += validate_port_number(port.get("port", 0), f"{path}.port")
        errors += validate_enum(port.get("protocol"), f"{path}.protocol", PROTOCOLS)
        errors += validate_port_number_or_name(port.get("targetPort", 0), f"{path}.targetPort")
        errors += app_protocol_errors(port, path)
    return errors


def app_protocol_errors(port: Mapping[str, Any], path: str) -> list[FieldError]:
    """A port's application protocol, if it names one, is a qualified name."""
    protocol = port.get("appProtocol")
    if protocol is None:
        return []
    return [invalid(f"{path}.appProtocol", protocol, text) for text in is_qualified_name(protocol)]


def _affinity(spec: Spec) -> list[FieldError]:
    affinity, config, path = (
        spec.get("sessionAffinity"),
        spec.get("sessionAffinityConfig"),
        "spec.sessionAffinityConfig",
    )
    errors = validate_enum(affinity, "spec.sessionAffinity", _AFFINITIES)
    if affinity == "None" and config is not None:
        errors.append(forbidden(path, "must not be set when session affinity is None"))
    if affinity == traits.CLIENT_IP:
        errors += _client_ip(config, path)
    return errors


def _client_ip(config: Mapping[str, Any] | None, path: str) -> list[FieldError]:
    needed = "when session affinity type is ClientIP"
    if config is None:
        return [required(path, needed)]
    client = config.get("clientIP")
    if client is None:
        return [required(f"{path}.clientIP", needed)]
    seconds, at = client.get("timeoutSeconds"), f"{path}.clientIP.timeoutSeconds"
    if seconds is None:
        return [required(at, needed)]
    if 0 < seconds <= _MAX_AFFINITY_SECONDS:
        return []
    return [invalid(at, seconds, f"must be greater than 0 and less than {_MAX_AFFINITY_SECONDS}")]


def _port_clashes(spec: Spec) -> list[FieldError]:
    ports = list(enumerate(spec.get("ports") or ()))
    errors: list[FieldError] = []
    if spec.get("type") == traits.CLUSTER_IP:
        why = "may not be used when `type` is 'ClusterIP'"
        errors += [forbidden(f"spec.ports[{i}].nodePort", why) for i, port in ports if port.get("nodePort")]
    seen: set[tuple[str, int]] = set()
    for i, port in ports:
        number = port.get("nodePort")
        if number:
            key = (port.get("protocol", ""), number)
            if key in seen:
                errors.append(duplicate(f"spec.ports[{i}].nodePort", number))
            seen.add(key)
    seen = set()
    for i, port in ports:
        key = (port.get("protocol", ""), port.get("port", 0))
        if key in seen:
            errors.append(duplicate(f"spec.ports[{i}]", _port_key(*key)))
        seen.add(key)
    return errors


def _port_key(protocol: str, port: int) -> dict[str, Any]:
    """A duplicate port as the reference shows it: all fields of its type, by their Go names."""
    return {"Name": "", "Protocol": protocol, "AppProtocol": None, "Port": port, "TargetPort": 0, "NodePort": 0}
