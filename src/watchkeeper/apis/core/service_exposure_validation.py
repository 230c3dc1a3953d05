"""The rules of how a Service is reached: external addresses, load balancers, traffic policies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from watchkeeper.apis.core import service_traits as traits
from watchkeeper.apis.core.endpoint_ip import validate_endpoint_ip
from watchkeeper.apis.validation.enums import validate_enum, validate_optional_enum
from watchkeeper.apis.validation.names import is_dns1123_subdomain, is_port_number, is_qualified_name
from watchkeeper.apis.validation.net import parse_ip, validate_legacy_cidr, validate_legacy_ip
from watchkeeper.meta.field import FieldError, forbidden, invalid, required

Object = dict[str, Any]
Spec = Mapping[str, Any]

_SOURCE_RANGES = "service.beta.kubernetes.io/load-balancer-source-ranges"
_TRAFFIC_POLICIES = ("Cluster", traits.LOCAL)
_IP_MODES = ("Proxy", "VIP")
ONLY_LOAD_BALANCER = "may only be used when `type` is 'LoadBalancer'"


def external_ip_errors(spec: Spec, was: Spec | None) -> list[FieldError]:
    """External addresses are such that traffic can be sent to; old ones stay."""
    kept = tuple((was or {}).get("externalIPs") or ())
    errors: list[FieldError] = []
    for i, address in enumerate(spec.get("externalIPs") or ()):
        path = f"spec.externalIPs[{i}]"
        errors += validate_legacy_ip(address, path, allowed=kept) or validate_endpoint_ip(address, path)
    return errors


def source_range_errors(spec: Spec, annotations: Mapping[str, str], old: Object | None) -> list[FieldError]:
    """Where a load balancer takes traffic from, in the spec or else in the annotation of old."""
    ranges = spec.get("loadBalancerSourceRanges")
    if ranges:
        path = "spec.LoadBalancerSourceRanges"
        was = ((old or {}).get("spec") or {}).get("loadBalancerSourceRanges") or ()
        kept = tuple(text.strip() for text in was)
        errors = _only_load_balancer(spec, path)
        for i, text in enumerate(ranges):
            errors += validate_legacy_cidr(text.strip(), f"{path}[{i}]", allowed=kept)
        return errors
    value = annotations.get(_SOURCE_RANGES)
    if value is None:
        return []
    path = f"metadata.annotations[{_SOURCE_RANGES}]"
    errors = _only_load_balancer(spec, path)
    before = None if old is None else (old["metadata"].get("annotations") or {}).get(_SOURCE_RANGES)
    if value != before and value.strip():
        for text in value.strip().split(","):
            errors += validate_legacy_cidr(text.strip(), path)
    return errors


def _only_load_balancer(spec: Spec, path: str) -> list[FieldError]:
    return [] if spec.get("type") == traits.LOAD_BALANCER else [forbidden(path, ONLY_LOAD_BALANCER)]


def load_balancer_class_errors(spec: Spec, was: Spec | None) -> list[FieldError]:
    """A load balancer's class is a qualified name that stays; other types have none."""
    name, path = spec.get("loadBalancerClass"), "spec.loadBalancerClass"
    if spec.get("type") != traits.LOAD_BALANCER:
        return [forbidden(path, ONLY_LOAD_BALANCER)] if name is not None else []
    errors: list[FieldError] = []
    if was is not None and was.get("type") == traits.LOAD_BALANCER and was.get("loadBalancerClass") != name:
        errors.append(invalid(path, name, "may not change once set"))
    if name is not None:
        errors += [invalid(path, name, text) for text in is_qualified_name(name)]
    return errors


def external_traffic_errors(spec: Spec) -> list[FieldError]:
    """Traffic policy and health check port fit the type."""
    policy, port = spec.get("externalTrafficPolicy"), spec.get("healthCheckNodePort") or 0
    errors: list[FieldError] = []
    if traits.is_externally_accessible(spec):
        errors += validate_enum(policy, "spec.externalTrafficPolicy", _TRAFFIC_POLICIES)
    elif policy:
        why = "may only be set for externally-accessible services"
        errors.append(invalid("spec.externalTrafficPolicy", policy, why))
    path = "spec.healthCheckNodePort"
    if not traits.needs_health_check_port(spec):
        if port:
            why = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
            errors.append(invalid(path, port, why))
    elif not port:
        errors.append(required(path))
    else:
        errors += [invalid(path, port, text) for text in is_port_number(port)]
    return errors


def internal_traffic_errors(spec: Spec) -> list[FieldError]:
    """All types with cluster IPs say where their own traffic goes."""
    policy, path = spec.get("internalTrafficPolicy"), "spec.internalTrafficPolicy"
    if policy is None:
        needed = spec.get("type") in (traits.CLUSTER_IP, traits.NODE_PORT, traits.LOAD_BALANCER)
        return [required(path)] if needed else []
    return validate_optional_enum(policy, path, _TRAFFIC_POLICIES)


def validate_service_status(new: Object, old: Object) -> list[FieldError]:
    """What is wrong with the load balancer's addresses in a new status."""
    ingresses = _ingresses(new)
    if ingresses and (new.get("spec") or {}).get("type") != traits.LOAD_BALANCER:
        why = "may only be used when `spec.type` is 'LoadBalancer'"
        return [forbidden("status.loadBalancer.ingress", why)]
    kept = tuple(ingress["ip"] for ingress in _ingresses(old) if ingress.get("ip"))
    errors: list[FieldError] = []
    for i, ingress in enumerate(ingresses):
        path, address, mode = f"status.loadBalancer.ingress[{i}]", ingress.get("ip"), ingress.get("ipMode")
        if address:
            errors += validate_legacy_ip(address, f"{path}.ip", allowed=kept)
        if mode is None:
            if address:
                errors.append(required(f"{path}.ipMode", "must be specified when `ip` is set"))
        elif not address:
            errors.append(forbidden(f"{path}.ipMode", "may not be specified when `ip` is not set"))
        else:
            errors += validate_optional_enum(mode, f"{path}.ipMode", _IP_MODES)
        errors += hostname_errors(ingress.get("hostname"), f"{path}.hostname")
    return errors


def _ingresses(service: Object) -> list[Mapping[str, Any]]:
    found: list[Mapping[str, Any]] = ((service.get("status") or {}).get("loadBalancer") or {}).get("ingress") or []
    return found


def hostname_errors(name: str | None, path: str) -> list[FieldError]:
    """The name of a load balancer, if it has one, is a DNS name."""
    if not name:
        return []
    errors = [invalid(path, name, text) for text in is_dns1123_subdomain(name)]
    if parse_ip(name) is not None:
        errors.append(invalid(path, name, "must be a DNS name, not an IP address"))
    return errors
