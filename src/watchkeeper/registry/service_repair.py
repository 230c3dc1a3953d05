"""Compares what is reserved with what Services have, from time to time, as kube-apiserver's repair loops do.

A server may end between a reservation and the Service it was for, or without releasing what a deleted Service had. What
belongs to no Service is let go only when it has stayed so for a while: it may be for a Service that is being written.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable
from typing import Any

from watchkeeper.aio.clock import Clock
from watchkeeper.meta.gvk import GroupResource
from watchkeeper.registry.address_repair import ADDRESSES, SERVICES, AddressRepair, Tell
from watchkeeper.registry.allocators import all_ports
from watchkeeper.registry.reservations import SharedReservations
from watchkeeper.registry.store import Store
from watchkeeper.storage.errors import StorageError
from watchkeeper.storage.interface import ListOptions

log = logging.getLogger(__name__)

Object = dict[str, Any]

PERIOD_SECONDS = 180.0
ROUNDS = 3
"""In so many rounds, one after the other, a node port must be found unused before it is let go."""


class ServiceRepair:
    """Looks after the reservations of all servers; each of them may run one."""

    def __init__(
        self,
        find: Callable[[GroupResource], Store],
        reservations: SharedReservations,
        addresses: AddressRepair,
        clock: Clock,
        tell: Tell | None = None,
    ) -> None:
        """`tell` makes Events of node ports that are not as they have to be; without it nobody is told."""
        self._find = find
        self._reservations = reservations
        self._addresses = addresses
        self._clock = clock
        self._make_event = tell
        self._unused_ports: Counter[int] = Counter()

    def __repr__(self) -> str:
        return f"<ServiceRepair: {len(self._unused_ports)} ports unused, {self._addresses!r}>"

    async def run(self) -> None:
        """Compare for ever, every three minutes."""
        while True:
            await self._clock.sleep(PERIOD_SECONDS)
            try:
                await self.round()
            except StorageError as error:
                log.warning("what Services have reserved could not be compared: %s", error)

    async def round(self) -> None:
        """Compare once: reserve what Services have, let go of ports that have been unused for long.

        Raises StorageError.
        """
        # Services are read last: who has one has reserved before.
        ports = await self._reservations.ports()
        addresses = await self._list(ADDRESSES)
        services = await self._list(SERVICES)
        used = self._used(services, ports)
        gone = _found_again(self._unused_ports, ports - used)
        if gone:
            log.warning("node ports that no Service has are free again: %s", sorted(gone))
        await self._reservations.correct_ports(missing=used - ports, unused=gone)
        await self._addresses.compare(addresses, services)

    def _used(self, services: list[Object], reserved: set[int]) -> set[int]:
        """The node ports that Services have; what is wrong with them is told."""
        first, last = self._reservations.port_range
        used: set[int] = set()
        for service in services:
            for port in dict.fromkeys(all_ports(service.get("spec") or {})):
                if not first <= port <= last:
                    why = f"Port {port} is not within the port range {first}-{last}; please recreate service"
                    self._tell(service, "PortOutOfRange", why)
                elif port in used:
                    why = f"Port {port} was assigned to multiple services; please recreate service"
                    self._tell(service, "PortAlreadyAllocated", why)
                elif port not in reserved:
                    self._tell(service, "PortNotAllocated", f"Port {port} is not allocated; repairing")
                used.add(port)
        return used

    def _tell(self, service: Object, reason: str, note: str) -> None:
        if self._make_event is not None:
            self._make_event(service, reason, "PortAllocation", note)

    async def _list(self, resource: GroupResource) -> list[Object]:
        store = self._find(resource)
        return [item.data() for item in (await store.storage.get_list(f"{store.prefix}/", ListOptions())).items]


def _found_again(counts: Counter[Any], found: set[Any]) -> set[Any]:
    """Count what was found, forget what was not; returns what has been found often enough."""
    for each in list(counts):
        if each not in found:
            del counts[each]
    counts.update(found)
    return {each for each, count in counts.items() if count >= ROUNDS}
