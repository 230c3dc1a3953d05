"""The rules of EndpointSlices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from watchkeeper.apis.core.container_validation import PROTOCOLS
from watchkeeper.apis.core.endpoint_ip import validate_endpoint_ip
from watchkeeper.apis.core.service_address_validation import is_ipv6
from watchkeeper.apis.core.service_validation import app_protocol_errors
from watchkeeper.apis.validation.domains import validate_domain_name
from watchkeeper.apis.validation.enums import validate_enum, validate_given_enum
from watchkeeper.apis.validation.metadata import validate_immutable, validate_labels
from watchkeeper.apis.validation.names import (
    NameRule,
    is_dns1123_label,
    is_label_value,
    name_is_dns_subdomain,
)
from watchkeeper.apis.validation.net import validate_ip, validate_legacy_ip
from watchkeeper.meta.field import FieldError, duplicate, invalid, required, too_many

Object = dict[str, Any]

_ADDRESS_TYPES = ("FQDN", "IPv4", "IPv6")
_MAX_ENDPOINTS = 1000
_MAX_ADDRESSES = 100
_MAX_PORTS = 20000
_MAX_HINTS = 8
_MAX_TOPOLOGY = 16


def validate_slice(endpoint_slice: Object) -> list[FieldError]:
    """What is wrong with a new slice."""
    errors = validate_enum(endpoint_slice.get("addressType"), "addressType", _ADDRESS_TYPES)
    errors += _port_errors(endpoint_slice.get("ports") or ())
    return errors + _endpoint_errors(endpoint_slice.get("endpoints") or (), endpoint_slice.get("addressType", ""))


def validate_slice_update(new: Object, old: Object) -> list[FieldError]:
    """What is wrong with a changed slice. Endpoints that are as they were are not judged by newer rules."""
    kind = new.get("addressType")
    errors = validate_enum(kind, "addressType", _ADDRESS_TYPES) + _port_errors(new.get("ports") or ())
    if (new.get("endpoints") or []) != (old.get("endpoints") or []):
        errors += _endpoint_errors(new.get("endpoints") or (), kind or "")
    return errors + validate_immutable(kind, old.get("addressType"), "addressType")


def _endpoint_errors(endpoints: Sequence[Mapping[str, Any]], kind: str) -> list[FieldError]:
    if len(endpoints) > _MAX_ENDPOINTS:
        return [too_many("endpoints", len(endpoints), _MAX_ENDPOINTS)]
    errors: list[FieldError] = []
    for i, endpoint in enumerate(endpoints):
        errors += _one_endpoint(endpoint, f"endpoints[{i}]", kind)
    return errors


def _one_endpoint(endpoint: Mapping[str, Any], path: str, kind: str) -> list[FieldError]:
    errors: list[FieldError] = []
    addresses, at = endpoint.get("addresses") or (), f"{path}.addresses"
    if not addresses:
        errors.append(required(at, "must contain at least 1 address"))
    elif len(addresses) > _MAX_ADDRESSES:
        errors.append(too_many(at, len(addresses), _MAX_ADDRESSES))
    for i, address in enumerate(addresses):
        errors += _address_errors(address, at, i, kind)
    node, hostname = endpoint.get("nodeName"), endpoint.get("hostname")
    if node is not None:
        errors += [invalid(f"{path}.nodeName", node, text) for text in name_is_dns_subdomain(node)]
    topology = endpoint.get("deprecatedTopology") or {}
    if len(topology) > _MAX_TOPOLOGY:
        errors.append(too_many(f"{path}.deprecatedTopology", len(topology), _MAX_TOPOLOGY))
    errors += validate_labels(topology, f"{path}.deprecatedTopology")
    if hostname is not None:
        errors += [invalid(f"{path}.hostname", hostname, text) for text in is_dns1123_label(hostname)]
    hints = endpoint.get("hints") or {}
    errors += _hint_errors(hints.get("forZones") or (), f"{path}.hints.forZones", _zone_rule)
    return errors + _hint_errors(hints.get("forNodes") or (), f"{path}.hints.forNodes", name_is_dns_subdomain)


def _address_errors(address: str, addresses: str, i: int, kind: str) -> list[FieldError]:
    """IPv4 addresses may have other forms than the canonical one. An address of the other family is blamed on all."""
    path = f"{addresses}[{i}]"
    if kind == "FQDN":
        return validate_domain_name(address, path)
    if kind not in ("IPv4", "IPv6"):
        return []
    wrong = validate_legacy_ip(address, path) if kind == "IPv4" else validate_ip(address, path)
    if wrong:
        return wrong
    errors: list[FieldError] = []
    if is_ipv6(address) != (kind == "IPv6"):
        errors.append(invalid(addresses, address, f"must be an {kind} address"))
    return errors + validate_endpoint_ip(address, path)


def _zone_rule(name: str, _prefix: bool) -> list[str]:
    return list(is_label_value(name))


def _hint_errors(hints: Sequence[Mapping[str, Any]], path: str, rule: NameRule) -> list[FieldError]:
    if len(hints) > _MAX_HINTS:
        return [too_many(path, len(hints), _MAX_HINTS)]
    errors: list[FieldError] = []
    seen: set[str] = set()
    for i, hint in enumerate(hints):
        name, at = hint.get("name", ""), f"{path}[{i}].name"
        if name in seen:
            errors.append(duplicate(at, name))
        seen.add(name)
        errors += [invalid(at, name, text) for text in rule(name, False)]
    return errors


def _port_errors(ports: Iterable[Mapping[str, Any]]) -> list[FieldError]:
    ports = list(ports)
    if len(ports) > _MAX_PORTS:
        return [too_many("ports", len(ports), _MAX_PORTS)]
    errors: list[FieldError] = []
    seen: set[str] = set()
    for i, port in enumerate(ports):
        name, path = port.get("name") or "", f"ports[{i}]"
        if name:
            errors += [invalid(f"{path}.name", name, text) for text in is_dns1123_label(name)]
        if name in seen:
            errors.append(duplicate(f"{path}.name", name))
        seen.add(name)
        errors += validate_given_enum(port.get("protocol"), f"{path}.protocol", PROTOCOLS)
        errors += app_protocol_errors(port, path)
    return errors
