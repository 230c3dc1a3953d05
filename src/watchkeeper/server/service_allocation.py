"""Addresses and node ports of Services: who gives them away, who keeps their records, who puts both right."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence

from watchkeeper.aio.clock import SYSTEM_CLOCK
from watchkeeper.aio.tasks import TaskOwner
from watchkeeper.aio.together import close_all
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.gvk import GroupResource
from watchkeeper.registry.address_records import AddressRecords, FollowedServices
from watchkeeper.registry.address_repair import ADDRESSES, SERVICES, AddressRepair, Tell
from watchkeeper.registry.allocators import ServiceAllocator
from watchkeeper.registry.repair_events import ADDRESS_CONTROLLER, PORT_CONTROLLER, RepairEvents
from watchkeeper.registry.service_networks import SERVICE_CIDRS, ServiceNetworks
from watchkeeper.registry.service_records import ServiceRecords
from watchkeeper.registry.store import Store
from watchkeeper.registry.transaction import Hooks
from watchkeeper.runtime.scheme import Scheme
from watchkeeper.server.errors import StartupError
from watchkeeper.server.ownership import Ownership
from watchkeeper.server.policy_feed import Followed
from watchkeeper.server.resource_storage import ResourceStorage
from watchkeeper.server.service_sharing import ServiceSharing, is_shared
from watchkeeper.server.stored_objects import StoredObjects
from watchkeeper.storage.errors import CorruptObjects, StorageError
from watchkeeper.storage.factory import StorageFactory

log = logging.getLogger(__name__)


class ServiceAllocation:
    """All of it, for the servers on one store."""

    def __init__(
        self,
        storage: StorageFactory,
        scheme: Scheme,
        ownership: Ownership,
        find: Callable[[GroupResource], Store],
        *,
        networks: Sequence[str],
        ports: tuple[int, int],
        read_only: bool,
    ) -> None:
        """`find` gives the store of a resource, not before this is made; `ports`: the first and the last node port."""
        self._find = find
        self._scheme = scheme
        self._ownership = ownership
        self._read_only = read_only
        self._told: list[RepairEvents] = []
        self._tasks = TaskOwner("service-allocation")
        self._records = ServiceRecords(find, ownership.created)
        self.allocator = ServiceAllocator(networks, ports, self._records)
        self._networks = ServiceNetworks(self.allocator)
        self._repair = AddressRepair(
            find,
            ownership.created,
            self.allocator,
            SYSTEM_CLOCK,
            reserves=is_shared(storage),
            tell=self._repair_events(ADDRESS_CONTROLLER),
        )
        self._address_records = AddressRecords(self.allocator, self._repair)
        self._sharing: ServiceSharing | None = None
        """Set when other servers may allocate for Services too."""
        if is_shared(storage) and not read_only:
            self._sharing = ServiceSharing(
                storage, find, ownership, self.allocator, self._repair, ports, self._repair_events(PORT_CONTROLLER)
            )

    def __repr__(self) -> str:
        return f"<ServiceAllocation {self.allocator!r}>"

    def hooks(self) -> dict[GroupResource, Hooks]:
        """What has a part in writes, by resource."""
        if self._sharing is not None:
            return {SERVICES: self.allocator}
        return {SERVICES: self.allocator, ADDRESSES: self._address_records}  # they are all written here

    def followed(self) -> list[tuple[str, Followed, Mapping[str, GroupResource]]]:
        """What has to be known of stored objects: a name, who is to be kept up to date, and the resources by kind."""
        networks: tuple[str, Followed, Mapping[str, GroupResource]]
        networks = ("service-networks", self._networks, {"ServiceCIDR": SERVICE_CIDRS})
        if self._sharing is None:
            return [networks]
        services = FollowedServices(self.allocator, self._repair)
        return [
            ("service-addresses", self._address_records, {"IPAddress": ADDRESSES}),
            ("services", services, {"Service": SERVICES}),
            networks,
        ]

    async def load(self, stored: StoredObjects, storage: ResourceStorage) -> None:
        """Learn what existing Services have been allocated, and from which networks, however long that takes to read.

        Called once, before anything is served. Raises StartupError.
        """
        try:
            await self._load(stored, storage)
        except (ApiError, StorageError) as error:
            raise StartupError(f"cannot find out what Services have been allocated: {error}") from error

    async def _load(self, stored: StoredObjects, storage: ResourceStorage) -> None:
        try:
            if networks := await stored.first_of(SERVICE_CIDRS):
                self._networks.replace("ServiceCIDR", networks)
        except CorruptObjects:
            pass  # what is configured is good enough until they can be read, of which their feed tells
        try:
            services = await stored.first_of(SERVICES)
        except CorruptObjects:
            self.allocator.load(await storage.readable(SERVICES, self._find(SERVICES).storage.codec))
            return  # what records are left over cannot be told
        self.allocator.load(services)
        if self._read_only:
            return
        try:
            if self._sharing is not None:
                await self._sharing.start()
            else:
                items = await stored.first_items(ADDRESSES)
                self.allocator.replace_records(item.key.rpartition("/")[2] for item in items)
                self._records.reconcile(services, (item.data() for item in items), self.allocator.covers)
        except CorruptObjects as error:
            log.error("IPAddresses are not put right: %s", error)
        self._tasks.start("address-repair", self._repair.run())

    async def close(self) -> None:
        """Allocate and put right nothing more."""
        await close_all(
            [
                self._tasks.close,
                *(events.close for events in self._told),
                self._records.close,
                *([self._sharing.close] if self._sharing is not None else []),
            ]
        )

    def _repair_events(self, controller: str) -> Tell:
        events = RepairEvents(controller, self._find, self._ownership.created, self._scheme.to_hub, SYSTEM_CLOCK)
        self._told.append(events)
        return events.tell
