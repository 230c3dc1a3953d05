"""The rules of Ingresses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from watchkeeper.apis.core.service_exposure_validation import hostname_errors
from watchkeeper.apis.validation.names import (
    is_dns1123_label,
    is_dns1123_subdomain,
    is_path_segment_name,
    is_port_name,
    is_port_number,
    is_wildcard_dns1123_subdomain,
)
from watchkeeper.apis.validation.net import parse_ip, validate_legacy_ip
from watchkeeper.meta.field import FieldError, invalid, not_supported, required

Object = dict[str, Any]
Part = Mapping[str, Any]

CLASS_ANNOTATION = "kubernetes.io/ingress.class"
_PATH_TYPES = ("Exact", "ImplementationSpecific", "Prefix")
_NOT_IN_PATHS = ("//", "/./", "/../", "%2f", "%2F")
_NOT_AT_END = ("/..", "/.")


def validate_ingress(ingress: Object) -> list[FieldError]:
    """What is wrong with a new Ingress."""
    spec: Part = ingress.get("spec") or {}
    errors = _spec_errors(spec, any_secret=False, any_wildcard=False)
    annotated, name = (ingress["metadata"].get("annotations") or {}).get(CLASS_ANNOTATION), spec.get("ingressClassName")
    if annotated is not None and name is not None and annotated != name:
        why = "must match `ingressClassName` when both are specified"
        errors.append(invalid(f"annotations.{CLASS_ANNOTATION}", annotated, why))
    return errors


def validate_ingress_update(new: Object, old: Object) -> list[FieldError]:
    """What is wrong with a changed Ingress; some old faults may stay."""
    was: Part = old.get("spec") or {}
    any_secret = any(_secret_errors(tls) for tls in was.get("tls") or ())
    any_wildcard = any("*" in (rule.get("host") or "") and _value_errors(rule, "") for rule in was.get("rules") or ())
    return _spec_errors(new.get("spec") or {}, any_secret=any_secret, any_wildcard=any_wildcard)


def validate_ingress_status(new: Object, old: Object) -> list[FieldError]:
    """What is wrong with the load balancer's addresses in a new status."""
    kept = tuple(point["ip"] for point in _points(old) if point.get("ip"))
    errors: list[FieldError] = []
    for i, point in enumerate(_points(new)):
        path = f"status.loadBalancer.ingress[{i}]"
        if point.get("ip"):
            errors += validate_legacy_ip(point["ip"], f"{path}.ip", allowed=kept)
        errors += hostname_errors(point.get("hostname"), f"{path}.hostname")
    return errors


def _points(ingress: Object) -> list[Part]:
    found: list[Part] = ((ingress.get("status") or {}).get("loadBalancer") or {}).get("ingress") or []
    return found


def _spec_errors(spec: Part, *, any_secret: bool, any_wildcard: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    backend = spec.get("defaultBackend")
    if not spec.get("rules") and backend is None:
        why = "either `defaultBackend` or `rules` must be specified"
        errors.append(invalid("spec", spec.get("rules"), why))
    if backend is not None:
        errors += _backend_errors(backend, "spec.defaultBackend")
    for i, rule in enumerate(spec.get("rules") or ()):
        errors += _rule_errors(rule, f"spec.rules[{i}]", any_wildcard=any_wildcard)
    for i, tls in enumerate(spec.get("tls") or ()):
        errors += _tls_errors(tls, f"spec.tls[{i}]", any_secret=any_secret)
    name = spec.get("ingressClassName")
    if name is not None:
        errors += [invalid("spec.ingressClassName", name, text) for text in is_dns1123_subdomain(name)]
    return errors


def _tls_errors(tls: Part, path: str, *, any_secret: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    for i, host in enumerate(tls.get("hosts") or ()):
        errors += [invalid(f"{path}.hosts[{i}]", host, text) for text in _host_texts(host)]
    if not any_secret:
        errors += [invalid(f"{path}.secretName", tls.get("secretName"), text) for text in _secret_errors(tls)]
    return errors


def _host_texts(host: str) -> tuple[str, ...]:
    return is_wildcard_dns1123_subdomain(host) if "*" in host else is_dns1123_subdomain(host)


def _secret_errors(tls: Part) -> tuple[str, ...]:
    name = tls.get("secretName")
    return is_dns1123_subdomain(name) if name else ()


def _rule_errors(rule: Part, path: str, *, any_wildcard: bool) -> list[FieldError]:
    host = rule.get("host") or ""
    errors: list[FieldError] = []
    if host:
        if parse_ip(host) is not None:
            errors.append(invalid(f"{path}.host", host, "must be a DNS name, not an IP address"))
        errors += [invalid(f"{path}.host", host, text) for text in _host_texts(host)]
    if "*" not in host or not any_wildcard:
        errors += _value_errors(rule, path)
    return errors


def _value_errors(rule: Part, path: str) -> list[FieldError]:
    http = rule.get("http")
    if http is None:
        return []
    paths = http.get("paths") or ()
    errors = [] if paths else [required(f"{path}.http.paths")]
    for i, each in enumerate(paths):
        errors += _path_errors(each, f"{path}.http.paths[{i}]")
    return errors


def _path_errors(each: Part, path: str) -> list[FieldError]:
    kind, value, at = each.get("pathType"), each.get("path") or "", f"{path}.path"
    if kind is None:
        return [required(f"{path}.pathType", "pathType must be specified")]
    errors: list[FieldError] = []
    if kind not in _PATH_TYPES:
        errors.append(not_supported(f"{path}.pathType", kind, _PATH_TYPES))
    elif kind == "ImplementationSpecific":
        if value and not value.startswith("/"):
            errors.append(invalid(at, value, "must be an absolute path"))
    else:
        if not value.startswith("/"):
            errors.append(invalid(at, value, "must be an absolute path"))
        errors += [invalid(at, value, f"must not contain '{part}'") for part in _NOT_IN_PATHS if part in value]
        errors += [invalid(at, value, f"cannot end with '{end}'") for end in _NOT_AT_END if value.endswith(end)]
    return errors + _backend_errors(each.get("backend") or {}, f"{path}.backend")


def _backend_errors(backend: Part, path: str) -> list[FieldError]:
    resource, service = backend.get("resource"), backend.get("service")
    if resource is not None and service is not None:
        return [invalid(path, "", "cannot set both resource and service backends")]
    if resource is not None:
        return _reference_errors(resource, f"{path}.resource")
    if service is None:
        return [invalid(path, "", "resource or service backend is required")]
    name = service.get("name") or ""
    if name:
        errors = [invalid(f"{path}.service.name", name, text) for text in is_dns1123_label(name)]
    else:
        errors = [required(f"{path}.service.name")]
    return errors + _port_errors(service.get("port") or {}, path)


def _port_errors(port: Part, path: str) -> list[FieldError]:
    name, number, at = port.get("name"), port.get("number"), f"{path}.service.port"
    if name and number:
        return [invalid(path, "", "cannot set both port name & port number")]
    if name:
        return [invalid(f"{at}.name", name, text) for text in is_port_name(name)]
    if number:
        return [invalid(f"{at}.number", number, text) for text in is_port_number(number)]
    return [required(path, "port name or number is required")]


def _reference_errors(reference: Part, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    group = reference.get("apiGroup")
    if group is not None:
        errors += [invalid(f"{path}.apiGroup", group, text) for text in is_dns1123_subdomain(group)]
    return errors + named_reference_errors(reference, path, ("kind", "name"))


def named_reference_errors(reference: Part, path: str, fields: tuple[str, ...]) -> list[FieldError]:
    """Each of these fields must be set, to something that can stand in a URL path."""
    errors: list[FieldError] = []
    for field in fields:
        value, at = reference.get(field) or "", f"{path}.{field}"
        if not value:
            errors.append(required(at))
        errors += [invalid(at, value, text) for text in is_path_segment_name(value)]
    return errors
