"""One write's reservations at the arbiter: what another server has is replaced, unless it was asked for by name."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, Any

from watchkeeper.meta import errors
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.field import invalid
from watchkeeper.meta.gvk import GroupKind
from watchkeeper.registry.pools import ALLOCATED_IP, ALLOCATED_PORT, Full

if TYPE_CHECKING:
    from watchkeeper.registry.allocators import Arbiter, ServiceTransaction

Object = dict[str, Any]

_KIND = GroupKind("", "Service")
_ATTEMPTS = 50
"""So often another number is tried. Each attempt is lost to a Service that this server does not know of yet."""


@dataclass(slots=True)
class Reserved:
    """What a write has reserved so far."""

    addresses: list[str] = field(default_factory=list)
    ports: list[int] = field(default_factory=list)


async def secure(transaction: ServiceTransaction, arbiter: Arbiter) -> None:
    """Reserve the addresses and node ports of a write. Raises ApiError; what is reserved then is for rollback."""
    for address in list(transaction.taken):
        await _secure_address(transaction, arbiter, address)
    await _secure_ports(transaction, arbiter)


async def _secure_address(transaction: ServiceTransaction, arbiter: Arbiter, address: str) -> None:
    meta, spec = transaction.service["metadata"], transaction.service["spec"]
    namespace, name = meta.get("namespace", ""), meta.get("name", "")
    started = perf_counter()
    for _ in range(_ATTEMPTS):
        if await arbiter.reserve_address(address, namespace, name):
            transaction.allocator.reserved(address, perf_counter() - started)
            transaction.reserved.addresses.append(address)
            return
        if address not in transaction.chosen:
            transaction.allocator.refuse(address)
            why = f"failed to allocate IP {address}: {ALLOCATED_IP}"
            raise errors.invalid(_KIND, name, [invalid("spec.clusterIPs", spec["clusterIPs"], why)])
        try:
            other = transaction.allocator.take_another(address, transaction)
        except Full as error:
            raise errors.internal_error(f'failed to allocate a serviceIP for Service "{name}": {error}') from None
        spec["clusterIPs"] = [other if each == address else each for each in spec["clusterIPs"]]
        spec["clusterIP"] = spec["clusterIPs"][0]
        address = other
    raise errors.internal_error(f'failed to allocate a serviceIP for Service "{name}": other servers are faster')


async def _secure_ports(transaction: ServiceTransaction, arbiter: Arbiter) -> None:
    operation, spec = transaction.ports, transaction.service["spec"]
    for _ in range(_ATTEMPTS):
        wanted = operation.taken
        if not wanted:
            return
        refused = await arbiter.reserve_ports(wanted)
        if not refused:
            transaction.reserved.ports = wanted
            return
        for port in refused:
            if not operation.was_chosen(port):
                operation.refuse(port)
                raise _port_is_taken(transaction.service, port)
            try:
                _put_port(spec, port, operation.replace(port))
            except Full as error:
                raise errors.internal_error(f"failed to allocate a nodePort: {error}") from None
    raise errors.internal_error("failed to allocate a nodePort: other servers are faster")


def _put_port(spec: Object, old: int, new: int) -> None:
    for port in spec.get("ports") or ():
        if port.get("nodePort") == old:
            port["nodePort"] = new
    if spec.get("healthCheckNodePort") == old:
        spec["healthCheckNodePort"] = new


def _port_is_taken(service: Object, port: int) -> ApiError:
    spec, name = service["spec"], service["metadata"].get("name", "")
    for i, each in enumerate(spec.get("ports") or ()):
        if each.get("nodePort") == port:
            return errors.invalid(_KIND, name, [invalid(f"spec.ports[{i}].nodePort", port, ALLOCATED_PORT)])
    return errors.internal_error(f"failed to allocate requested HealthCheck NodePort {port}: {ALLOCATED_PORT}")
