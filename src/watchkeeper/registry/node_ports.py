"""Which node ports a Service takes and lets go when it is written."""

from __future__ import annotations

from typing import Any

from watchkeeper.apis.core import service_traits as traits
from watchkeeper.meta import errors
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.field import invalid
from watchkeeper.meta.gvk import GroupKind
from watchkeeper.registry.pools import Full, Refused
from watchkeeper.registry.port_operation import PortOperation

Object = dict[str, Any]

_KIND = GroupKind("", "Service")


def allocate_ports(service: Object, operation: PortOperation) -> None:
    """Fill in the node ports and the health check port of a new Service.

    Ports with the same number, of different protocols, share one node port. Raises ApiError.
    """
    spec = service["spec"]
    if traits.needs_node_port(spec):
        ports = spec.get("ports") or []
        chosen: dict[int, int] = {}
        for i, port in enumerate(ports):
            if not port.get("nodePort") and not traits.allocates_node_ports(spec):
                continue
            _allocate(service, i, chosen, operation)
    if traits.needs_health_check_port(spec):
        _allocate_check(spec, operation)


def _allocate(service: Object, index: int, chosen: dict[int, int], operation: PortOperation) -> None:
    port = service["spec"]["ports"][index]
    number = port.get("port", 0)
    if number not in chosen:
        named = _named_for(number, service["spec"]["ports"])
        port["nodePort"] = chosen[number] = _take(service, index, named, operation) if named else _take_any(operation)
    elif not port.get("nodePort"):
        port["nodePort"] = chosen[number]
    elif port["nodePort"] != chosen[number]:
        _take(service, index, port["nodePort"], operation)


def _named_for(number: int, ports: list[Object]) -> int:
    """The node port that a client named for any port of this number; 0 for none."""
    return next((port["nodePort"] for port in ports if port.get("port") == number and port.get("nodePort")), 0)


def _take(service: Object, index: int, port: int, operation: PortOperation) -> int:
    try:
        operation.take(port)
    except Refused as error:
        wrong = invalid(f"spec.ports[{index}].nodePort", port, str(error))
        raise errors.invalid(_KIND, service["metadata"].get("name", ""), [wrong]) from None
    return port


def _take_any(operation: PortOperation) -> int:
    try:
        return operation.take_any()
    except Full as error:
        raise errors.internal_error(f"failed to allocate a nodePort: {error}") from None


def _allocate_check(spec: Object, operation: PortOperation) -> None:
    port = spec.get("healthCheckNodePort")
    try:
        if port:
            operation.take(port)
        else:
            spec["healthCheckNodePort"] = operation.take_any()
    except Refused as error:
        why = f"failed to allocate requested HealthCheck NodePort {port}: {error}"
        raise errors.internal_error(why) from None
    except Full as error:
        raise errors.internal_error(f"failed to allocate a HealthCheck NodePort 0: {error}") from None


def update_ports(service: Object, was: Object, operation: PortOperation) -> None:
    """Take and let go of what differs between the new and the old spec. Raises ApiError."""
    spec = service["spec"]
    before = traits.node_ports(was)
    if traits.needs_node_port(spec):
        _update_each(service, before, operation)
        kept = set(traits.node_ports(spec))
        gone = [port for port in before if port not in kept]
    else:
        gone = before if traits.needs_node_port(was) else []
    for port in gone:
        operation.release_later(port)
    needed, needs = traits.needs_health_check_port(was), traits.needs_health_check_port(spec)
    if needs and not needed:
        _allocate_check(spec, operation)
    elif needed and not needs and was.get("healthCheckNodePort"):
        operation.release_later(was["healthCheckNodePort"])


def _update_each(service: Object, before: list[int], operation: PortOperation) -> None:
    spec = service["spec"]
    seen: set[tuple[str, int]] = set()
    taken: set[int] = set()
    for i, port in enumerate(spec.get("ports") or ()):
        number = port.get("nodePort")
        if not number:
            if not traits.allocates_node_ports(spec):
                continue
            number = port["nodePort"] = _take_any(operation)
        elif number not in before and number not in taken:
            _take(service, i, number, operation)
            taken.add(number)
        key = (port.get("protocol", ""), number)
        if key in seen:
            raise ApiError(500, "", f"duplicate nodePort: {{{key[0]} {key[1]}}}")
        seen.add(key)
