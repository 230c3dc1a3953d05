"""Endpoints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from watchkeeper.apis import printing
from watchkeeper.apis.behavior import Column, KindBehavior, TableSpec
from watchkeeper.apis.core.container_validation import PROTOCOLS
from watchkeeper.apis.core.endpoint_ip import validate_endpoint_ip
from watchkeeper.apis.core.service_validation import app_protocol_errors
from watchkeeper.apis.validation.enums import validate_enum
from watchkeeper.apis.validation.names import is_dns1123_label, is_dns1123_subdomain
from watchkeeper.apis.validation.net import ip_warnings, validate_legacy_ip
from watchkeeper.apis.validation.numbers import validate_port_number
from watchkeeper.meta.field import FieldError, invalid, required
from watchkeeper.meta.gvk import GroupKind, GroupVersionKind

Object = dict[str, Any]

_SHOWN = 3
_LISTS = ("addresses", "notReadyAddresses")


def default_endpoints(endpoints: Object) -> None:
    """Ports are TCP unless they say otherwise."""
    for subset in endpoints.get("subsets") or ():
        for port in subset.get("ports") or ():
            if not port.get("protocol"):
                port["protocol"] = "TCP"


def _subset_errors(subsets: Sequence[Mapping[str, Any]]) -> list[FieldError]:
    errors: list[FieldError] = []
    for i, subset in enumerate(subsets):
        path = f"subsets[{i}]"
        if not any(subset.get(name) for name in _LISTS):
            errors.append(required(path, "must specify `addresses` or `notReadyAddresses`"))
        for name in _LISTS:
            for j, address in enumerate(subset.get(name) or ()):
                errors += _address_errors(address, f"{path}.{name}[{j}]")
        ports = subset.get("ports") or ()
        for j, port in enumerate(ports):
            errors += _port_errors(port, f"{path}.ports[{j}]", named=len(ports) > 1)
    return errors


def _address_errors(address: Mapping[str, Any], path: str) -> list[FieldError]:
    text, hostname, node = address.get("ip", ""), address.get("hostname"), address.get("nodeName")
    errors = validate_legacy_ip(text, f"{path}.ip")
    if hostname:
        errors += [invalid(f"{path}.hostname", hostname, wrong) for wrong in is_dns1123_label(hostname)]
    if node is not None:
        errors += [invalid(f"{path}.nodeName", node, wrong) for wrong in is_dns1123_subdomain(node)]
    return errors + validate_endpoint_ip(text, f"{path}.ip")


def _port_errors(port: Mapping[str, Any], path: str, *, named: bool) -> list[FieldError]:
    name = port.get("name")
    errors: list[FieldError] = []
    if name:
        errors += [invalid(f"{path}.name", name, wrong) for wrong in is_dns1123_label(name)]
    elif named:
        errors.append(required(f"{path}.name"))
    errors += validate_port_number(port.get("port", 0), f"{path}.port")
    errors += validate_enum(port.get("protocol"), f"{path}.protocol", PROTOCOLS)
    return errors + app_protocol_errors(port, path)


def _validate_update(new: Object, old: Object) -> list[FieldError]:
    """Subsets that are as they were are not judged by newer rules."""
    subsets = new.get("subsets") or []
    return [] if subsets == (old.get("subsets") or []) else _subset_errors(subsets)


def _warnings(endpoints: Object) -> list[str]:
    found: list[str] = []
    for i, subset in enumerate(endpoints.get("subsets") or ()):
        for name in _LISTS:
            for j, address in enumerate(subset.get(name) or ()):
                found += ip_warnings(address.get("ip", ""), f"subsets[{i}].{name}[{j}].ip")
    return found


def _shown(endpoints: Object) -> str:
    """The first few addresses, each with each port, and how many more there are."""
    subsets = endpoints.get("subsets") or ()
    if not subsets:
        return printing.NONE
    shown: list[str] = []
    total = 0
    for subset in subsets:
        addresses = subset.get("addresses") or ()
        for port in subset.get("ports") or (None,):
            total += len(addresses)
            room = _SHOWN - len(shown)
            shown += [_with_port(address.get("ip", ""), port) for address in addresses[:room]]
    return printing.list_with_more(shown, shown=_SHOWN, total=max(total, len(shown)))


def _with_port(ip: str, port: Mapping[str, Any] | None) -> str:
    if port is None:
        return ip
    host = f"[{ip}]" if ":" in ip else ip
    return f"{host}:{port.get('port', 0)}"


def _cells(endpoints: Object, now: float) -> list[Any]:
    return [printing.name_of(endpoints), _shown(endpoints), printing.age(endpoints, now)]


BEHAVIORS = [
    KindBehavior(
        kind=GroupKind("", "Endpoints"),
        validate=lambda obj: _subset_errors(obj.get("subsets") or []),
        validate_update=_validate_update,
        warnings_on_create=_warnings,
        warnings_on_update=lambda new, _old: _warnings(new),
        allow_create_on_update=True,
        has_status=False,
        table=TableSpec(
            columns=(
                printing.NAME,
                Column("Endpoints", "string", "The addresses that are ready, with their ports."),
                printing.AGE,
            ),
            cells=_cells,
        ),
    )
]
DEFAULTS = {GroupVersionKind("", "v1", "Endpoints"): default_endpoints}
WARNINGS = {
    GroupVersionKind("", "v1", "Endpoints"): (
        "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"
    )
}
