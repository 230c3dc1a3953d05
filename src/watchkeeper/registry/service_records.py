"""Writes down what Services have been allocated: an IPAddress for each address, and no Endpoints without a Service.

What happens is noted at once and written in batches, one after the other, each address and name once in a batch. So
writes of one address keep their order, and a store that groups commits can.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from watchkeeper.aio.tasks import TaskOwner
from watchkeeper.aio.together import together
from watchkeeper.apis.networking.ipaddress import (
    address_object,
    is_managed,
    service_of,
)
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.gvk import GroupResource
from watchkeeper.registry.address_space import record_name
from watchkeeper.registry.allocators import cluster_addresses
from watchkeeper.registry.rest import Context, CreateOptions, DeleteOptions
from watchkeeper.registry.store import Store
from watchkeeper.request.user import LOOPBACK

log = logging.getLogger(__name__)

Object = dict[str, Any]

ADDRESSES = GroupResource("networking.k8s.io", "ipaddresses")
ENDPOINTS = GroupResource("", "endpoints")


@dataclass(slots=True)
class _Batch:
    """What is to be written together. An address belongs to a Service (namespace, name) or to nobody."""

    addresses: dict[str, tuple[str, str] | None] = field(default_factory=dict)
    endpoints: set[tuple[str, str]] = field(default_factory=set)
    written: asyncio.Event = field(default_factory=asyncio.Event)

    def __bool__(self) -> bool:
        return bool(self.addresses or self.endpoints)


class ServiceRecords:
    """Implements `registry.allocators.Recorder` over the stores of IPAddresses and Endpoints."""

    def __init__(self, find: Callable[[GroupResource], Store], owned: Callable[[Object], Object]) -> None:
        """`find` gives the store of a resource, from the first write on; `owned` says in a new object whose it is."""
        self._find = find
        self._owned = owned
        self._next = _Batch()
        self._working = False
        self._closed = False
        self._tasks = TaskOwner("service-records")

    def __repr__(self) -> str:
        return f"<ServiceRecords: {len(self._next.addresses)} addresses to write>"

    def taken(self, service: Object, addresses: Iterable[str]) -> None:
        """A stored Service has got these."""
        meta = service["metadata"]
        for address in addresses:
            self._next.addresses[record_name(address)] = (meta.get("namespace", ""), meta["name"])

    def released(self, addresses: Iterable[str]) -> None:
        """Nobody has these any more."""
        for address in addresses:
            self._next.addresses[record_name(address)] = None

    def deleted(self, service: Object) -> None:
        """A Service is gone: whoever takes its name must not find its Endpoints."""
        meta = service["metadata"]
        self._next.endpoints.add((meta.get("namespace", ""), meta["name"]))

    async def settle(self) -> None:
        """Wait until all that was noted so far is written. What cannot be written is logged."""
        batch = self._next
        if batch and not self._closed:
            self._work()
            await batch.written.wait()

    def reconcile(self, services: Iterable[Object], there: Iterable[Object], covers: Callable[[str], bool]) -> None:
        """Begin to write what a server that ended early has left out, and to delete what it has left over.

        `there` are all IPAddresses; `covers` tells whether an address is of a network. Others get no IPAddress.
        """
        # Of each only what counts: whose it is, if it says so as it should, and whether it is ours.
        records = {record["metadata"]["name"]: (service_of(record), is_managed(record)) for record in there}
        for service in services:
            meta = service["metadata"]
            owner = (meta.get("namespace", ""), meta["name"])
            for address in cluster_addresses(service.get("spec") or {}):
                told, _ = records.pop(address, (None, False))
                if told != owner and covers(address):
                    self.taken(service, [address])
        self.released(address for address, (_, ours) in records.items() if ours)
        if self._next:
            self._work()

    async def close(self) -> None:
        """Stop writing. The next start writes what is left."""
        self._closed = True
        await self._tasks.close()
        self._next.written.set()

    # -- writing ------------------------------------------------------------------------------------------------

    def _work(self) -> None:
        if not self._working and not self._closed:
            self._working = True
            self._tasks.start("write", self._write_all())

    async def _write_all(self) -> None:
        try:
            while self._next:
                batch, self._next = self._next, _Batch()
                try:
                    await together(
                        [
                            *(self._write(address, owner) for address, owner in batch.addresses.items()),
                            *(self._delete(ENDPOINTS, namespace, name) for namespace, name in batch.endpoints),
                        ]
                    )
                finally:
                    batch.written.set()
        finally:
            self._working = False

    async def _write(self, address: str, owner: tuple[str, str] | None) -> None:
        if owner is None:
            await self._delete(ADDRESSES, "", address)
            return
        if await self._create(address, owner):
            return
        # Somebody else's, from a moment ago or from before a restart: it is no longer.
        await self._delete(ADDRESSES, "", address)
        await self._create(address, owner)

    async def _create(self, address: str, owner: tuple[str, str]) -> bool:
        """Whether the address is written down as the owner's, or never will be."""
        store, context = self._find(ADDRESSES), Context(user=LOOPBACK)
        obj = address_object(address, *owner)
        try:
            await store.create(context, self._owned(obj), CreateOptions())
        except ApiError as error:
            if error.reason != "AlreadyExists":
                log.error("cannot write down that %s/%s has %s: %s", *owner, address, error.message)
                return True
            try:
                return service_of((await store.get(context, address, "")).data()) == owner
            except ApiError:
                return False
        return True

    async def _delete(self, resource: GroupResource, namespace: str, name: str) -> None:
        try:
            await self._find(resource).delete(Context(user=LOOPBACK, namespace=namespace), name, DeleteOptions())
        except ApiError as error:
            if error.reason != "NotFound":
                log.error("cannot delete %s %s: %s", resource, name, error.message)
