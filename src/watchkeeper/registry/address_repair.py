"""Puts IPAddresses right that do not fit the Services: what kube-apiserver's repair loop does for each address.

An address that a Service has gets an IPAddress that says so. An IPAddress of ours that is for no Service goes, once it
has been so for longer than a write may take: it is made before the Service that it is for.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from watchkeeper.aio.clock import Clock, set_or_reached
from watchkeeper.apis.core.service_traits import EXTERNAL_NAME
from watchkeeper.apis.networking.ipaddress import (
    address_object,
    ip_family,
    is_managed,
    parent_of,
    service_of,
    tells_of_service,
)
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.gvk import GroupResource
from watchkeeper.registry.allocators import ServiceAllocator, cluster_addresses
from watchkeeper.registry.errors import to_api_error
from watchkeeper.registry.rest import Context, CreateOptions, DeleteOptions
from watchkeeper.registry.store import Store
from watchkeeper.request.user import LOOPBACK
from watchkeeper.storage.errors import KeyNotFound, StorageError
from watchkeeper.storage.interface import ListOptions

log = logging.getLogger(__name__)

Object = dict[str, Any]
Tell = Callable[[Object, str, str, str], None]
"""Makes an Event: about what, its reason, its action, and a note."""
Owner = tuple[str, str]
"""The namespace and the name of a Service."""

ADDRESSES = GroupResource("networking.k8s.io", "ipaddresses")
SERVICES = GroupResource("", "services")
UNUSED_SECONDS = 60.0
"""So long an IPAddress may wait for its Service."""
WRONG_SECONDS = 5.0
"""So long an IPAddress may tell of a Service that has another address, where Services are written first."""
RESTORED_SECONDS = 60.0
"""After so long an IPAddress that somebody has deleted or changed is as it has to be again."""
MISSING_SECONDS = 1.0
"""So much later than a Service its IPAddress may come to be known here, when others write them."""
AGAIN_SECONDS = 30.0


@dataclass(slots=True)
class _Doubt:
    """An address to be looked at."""

    due: float
    owner: Owner
    """Who may have it."""
    unused: str = ""
    """The uid of an IPAddress that nobody may have any use for."""
    since: float = 0.0
    """When it was found to be so."""


class AddressRepair:
    """Looks at addresses a while after something was noticed about them."""

    def __init__(
        self,
        find: Callable[[GroupResource], Store],
        owned: Callable[[Object], Object],
        allocator: ServiceAllocator,
        clock: Clock,
        *,
        reserves: bool,
        tell: Tell | None = None,
    ) -> None:
        """`find` gives the store of a resource; `owned` says in a new object whose it is.

        `reserves`: whether an IPAddress is written before its Service, as it is where other servers write them too.
        `tell` makes Events of what is wrong; without it nobody is told.
        """
        self._find = find
        self._owned = owned
        self._allocator = allocator
        self._clock = clock
        self._reserves = reserves
        self._make_event = tell
        self._doubts: dict[str, _Doubt] = {}
        self._next = math.inf
        self._sooner = asyncio.Event()

    def __repr__(self) -> str:
        return f"<AddressRepair: {len(self._doubts)} addresses in doubt>"

    # -- what is noticed ------------------------------------------------------------------------------------------

    def service_changed(self, service: Object) -> None:
        """A Service is stored like this now: its addresses must have IPAddresses."""
        meta = service["metadata"]
        for address in cluster_addresses(service.get("spec") or {}):
            if not self._allocator.is_recorded(address):
                self._doubt(address, MISSING_SECONDS, (meta.get("namespace", ""), meta["name"]))
            elif (doubt := self._doubts.get(address)) is not None and doubt.unused:
                del self._doubts[address]

    def record_changed(self, record: Object) -> None:
        """An IPAddress is stored like this now."""
        address = record["metadata"]["name"]
        if self._allocator.holder(address) is not None:
            if service_of(record) is None:
                self._doubt(address, RESTORED_SECONDS, parent_of(record))
        elif is_managed(record):
            seconds = WRONG_SECONDS if tells_of_service(record) else 0.0
            self._doubt(address, seconds, parent_of(record), unused=record["metadata"].get("uid", ""))

    def record_gone(self, record: Object) -> None:
        """There is no such IPAddress any more."""
        address = record["metadata"]["name"]
        if self._allocator.holder(address) is not None:
            self._doubt(address, RESTORED_SECONDS, parent_of(record))

    def _doubt(self, address: str, seconds: float, owner: Owner, *, unused: str = "") -> None:
        known = self._doubts.get(address)
        now = self._clock.monotonic()
        since = now
        if known is not None and known.unused == unused:
            if known.due <= now + seconds:
                return
            since = known.since
        self._wait(address, _Doubt(now + seconds, owner, unused, since))

    def _wait(self, address: str, doubt: _Doubt) -> None:
        self._doubts[address] = doubt
        if doubt.due < self._next:
            self._next = doubt.due
            self._sooner.set()

    # -- looking --------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Look for ever at what is due."""
        while True:
            self._next = min((doubt.due for doubt in self._doubts.values()), default=math.inf)
            await set_or_reached(self._sooner, self._clock, self._next, name="address-repair")
            self._sooner.clear()
            await self.look()

    async def look(self) -> None:
        """Look at all that is due now."""
        now = self._clock.monotonic()
        for address, doubt in [item for item in self._doubts.items() if item[1].due <= now]:
            if self._doubts.get(address) is doubt:
                del self._doubts[address]
            await self._try(address, doubt)

    async def compare(self, records: Sequence[Object], services: Iterable[Object]) -> None:
        """Give all addresses of these Services, read after the records, their IPAddresses, and note unused ones.

        What fails is tried again later, and keeps nothing else from being done.
        """
        by_name = {record["metadata"]["name"]: record for record in records}
        owners: dict[str, Owner] = {}
        for service in services:
            owner = (service["metadata"].get("namespace", ""), service["metadata"]["name"])
            for address in cluster_addresses(service.get("spec") or {}):
                if (other := owners.setdefault(address, owner)) != owner:
                    log.warning("the address %s belongs to two Services: %s/%s and %s/%s", address, *other, *owner)
                    if (record := by_name.get(address)) is not None and parent_of(record) == owner:
                        owners[address], owner = owner, other
                    note = f"Cluster IP {_family(address)}:{address} was assigned to multiple services"
                    note = f"{note}; please recreate service"
                    await self._tell_of_service(owner, "ClusterIPAlreadyAllocated", note)
        for address, owner in owners.items():
            record = by_name.get(address)
            if record is None or service_of(record) != owner:
                await self._try(address, _Doubt(0.0, owner))
        for address, record in by_name.items():
            if address not in owners:
                self.record_changed(record)

    async def _try(self, address: str, doubt: _Doubt) -> None:
        try:
            await self._settle(address, doubt)
        except ApiError as error:
            log.warning("the IPAddress %s could not be looked after: %s", address, error.message)
            self._wait(address, replace(doubt, due=self._clock.monotonic() + AGAIN_SECONDS))

    async def _settle(self, address: str, doubt: _Doubt) -> None:
        record = await self._get(ADDRESSES, address)
        owner = await self._owner(address, record, doubt.owner)
        if owner is not None:
            await self._give(address, record, owner)
        elif record is not None and is_managed(record):
            uid = record["metadata"].get("uid", "")
            if uid != doubt.unused:
                self._doubt(address, UNUSED_SECONDS, parent_of(record), unused=uid)
                return
            until = doubt.since + UNUSED_SECONDS
            if self._clock.monotonic() < until and tells_of_service(record) and not await self._is_wrong(record):
                self._wait(address, replace(doubt, due=until))
                return
            log.warning("the IPAddress %s is of no Service: it is deleted", address)
            await self._tell_of_record(record)
            await self._delete(address, uid)

    async def _owner(self, address: str, record: Object | None, hint: Owner) -> Owner | None:
        """The Service that has an address; the one that its IPAddress tells of, if there are two."""
        told = parent_of(record) if record is not None and tells_of_service(record) else hint
        for owner in dict.fromkeys((told, hint)):
            service = await self._get(SERVICES, "/".join(filter(None, owner))) if all(owner) else None
            if service is not None and address in cluster_addresses(service.get("spec") or {}):
                return owner
        if self._allocator.holder(address) is None:
            return None
        store = self._find(SERVICES)
        try:
            found = await store.storage.get_list(f"{store.prefix}/", ListOptions())
        except StorageError as error:
            raise to_api_error(error, SERVICES, "", "list") from error
        for item in found.items:
            service = item.data()
            if address in cluster_addresses(service.get("spec") or {}):
                return service["metadata"].get("namespace", ""), service["metadata"]["name"]
        return None

    async def _is_wrong(self, record: Object) -> bool:
        """Whether the Service that an IPAddress tells of has other addresses, as nobody is about to change."""
        service = await self._get(SERVICES, "/".join(filter(None, parent_of(record))))
        if service is None:
            return False
        spec = service.get("spec") or {}
        # One that is to have an address gets its IPAddress first, if there are other servers.
        return spec.get("type") != EXTERNAL_NAME if self._reserves else bool(cluster_addresses(spec))

    async def _give(self, address: str, record: Object | None, owner: Owner) -> None:
        if not self._allocator.covers(address):
            log.warning("the address %s of the Service %s/%s is of no ServiceCIDR: recreate it", address, *owner)
            note = f"Cluster IP {_shown(address)} is not within any configured Service CIDR; please recreate service"
            await self._tell_of_service(owner, "ClusterIPOutOfRange", note)
            return
        if record is not None:
            if service_of(record) == owner:
                return
            log.warning("the IPAddress %s of the Service %s/%s is wrong: it is made anew", address, *owner)
            if not tells_of_service(record) or parent_of(record) != owner:
                name = "/".join(owner)
                note = f"the ClusterIP {_shown(address)} for Service {name} has a wrong reference; repairing"
                await self._tell_of_service(owner, "ClusterIPNotAllocated", note)
            await self._delete(address, record["metadata"].get("uid", ""))
        else:
            log.warning("the address %s of the Service %s/%s has no IPAddress: it is made", address, *owner)
            note = f"Cluster IP {_shown(address)} is not allocated; repairing"
            await self._tell_of_service(owner, "ClusterIPNotAllocated", note)
        obj = address_object(address, *owner)
        try:
            await self._find(ADDRESSES).create(Context(user=LOOPBACK), self._owned(obj), CreateOptions())
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise

    async def _tell_of_service(self, owner: Owner, reason: str, note: str) -> None:
        if self._make_event is None:
            return
        service = await self._get(SERVICES, "/".join(filter(None, owner)))
        if service is not None:
            self._make_event(service, reason, "ClusterIPAllocation", note)

    async def _tell_of_record(self, record: Object) -> None:
        """Tell why an IPAddress is deleted."""
        if self._make_event is None:
            return
        address, owner = record["metadata"]["name"], parent_of(record)
        reason = "IPAddressNotAllocated"
        if not tells_of_service(record):
            parent = (record.get("spec") or {}).get("parentRef") or {}
            fields = (("Group", "group"), ("Resource", "resource"), ("Namespace", "namespace"), ("Name", "name"))
            shown = "".join(f"{name}:{parent.get(field) or ''}," for name, field in fields)
            why = f"appears to have been modified, not referencing a Service &ParentReference{{{shown}}}: cleaning up"
            note = f"IPAddress {address} {why}"
        elif await self._get(SERVICES, "/".join(filter(None, owner))) is None:
            note = f"IPAddress: {address} for Service {'/'.join(owner)} appears to have leaked: cleaning up"
        else:
            reason = "IPAddressWrongReference"
            note = f"IPAddress: {address} for Service {'/'.join(owner)} has a wrong reference; cleaning up"
        self._make_event(record, reason, "IPAddressAllocation", note)

    async def _delete(self, address: str, uid: str) -> None:
        try:
            await self._find(ADDRESSES).delete(Context(user=LOOPBACK), address, DeleteOptions(uid=uid))
        except ApiError as error:
            if error.reason not in ("NotFound", "Conflict"):
                raise

    async def _get(self, resource: GroupResource, name: str) -> Object | None:
        store = self._find(resource)
        try:
            return (await store.storage.get(f"{store.prefix}/{name}")).data()
        except KeyNotFound:
            return None
        except StorageError as error:
            raise to_api_error(error, resource, name, "get") from error


def _family(address: str) -> str:
    return f"[{ip_family(address)}]"


def _shown(address: str) -> str:
    return f"{_family(address)}: {address}"
