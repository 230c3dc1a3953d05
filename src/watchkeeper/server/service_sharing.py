"""Lets the servers on one store allocate addresses and node ports for Services without getting in each other's way."""

from __future__ import annotations

from collections.abc import Callable

from watchkeeper.aio.clock import SYSTEM_CLOCK
from watchkeeper.aio.tasks import TaskOwner
from watchkeeper.apis.protobuf import object_of
from watchkeeper.meta.gvk import GroupResource
from watchkeeper.registry.address_repair import SERVICES, AddressRepair, Tell
from watchkeeper.registry.allocators import ServiceAllocator
from watchkeeper.registry.reservations import RANGE_KIND, RANGES, SharedReservations
from watchkeeper.registry.service_repair import ServiceRepair
from watchkeeper.registry.store import Store
from watchkeeper.server.ownership import Ownership
from watchkeeper.storage.codec import JsonCodec
from watchkeeper.storage.factory import StorageFactory


def is_shared(storage: StorageFactory) -> bool:
    """Whether other servers may write where Services are."""
    return storage.backend(SERVICES).kv.current_revision_nowait() is None


class ServiceSharing:
    """The arbiter of an allocator, and the repair of what servers leave behind that end in between."""

    def __init__(
        self,
        storage: StorageFactory,
        find: Callable[[GroupResource], Store],
        ownership: Ownership,
        allocator: ServiceAllocator,
        addresses: AddressRepair,
        ports: tuple[int, int],
        tell: Tell | None = None,
    ) -> None:
        """`find` gives the store of a resource; `ports`: the first and the last node port; `tell` makes Events."""
        ranges = storage.make(RANGES, JsonCodec(RANGE_KIND, protobuf=object_of))
        self._reservations = SharedReservations(find, ownership.created, ranges, storage.prefix(RANGES), ports)
        self._repair = ServiceRepair(find, self._reservations, addresses, SYSTEM_CLOCK, tell)
        self._tasks = TaskOwner("service-repair")
        allocator.arbiter = self._reservations

    def __repr__(self) -> str:
        return f"<ServiceSharing {self._reservations!r} {self._repair!r}>"

    async def start(self) -> None:
        """Reserve what stored Services have, and look after it from now on. Raises StorageError."""
        try:
            await self._repair.round()
        finally:
            self._tasks.start("repair", self._repair.run())

    async def close(self) -> None:
        """Reserve and release nothing more."""
        await self._tasks.close()
        await self._reservations.close()
