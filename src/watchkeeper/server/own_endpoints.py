"""Which servers the Service `kubernetes` leads to, when several share a store: kube-apiserver's lease reconciler.

Each server that lives keeps a key of its own under `masterleases/`, named after its address, that the store removes
when it is not renewed. The Endpoints and the EndpointSlice are what these keys say. A server that stops removes its
key; the last one leaves the endpoints as they are, so that clients have somewhere to come back to.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from watchkeeper.aio.clock import SYSTEM_CLOCK, Clock
from watchkeeper.aio.tasks import TaskOwner
from watchkeeper.apis.protobuf import object_of
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.gvk import GroupResource, GroupVersionKind
from watchkeeper.storage.codec import JsonCodec
from watchkeeper.storage.errors import KeyNotFound, StorageError
from watchkeeper.storage.factory import StorageFactory
from watchkeeper.storage.interface import ListOptions, StoredObject, UpdateOptions

log = logging.getLogger(__name__)

Object = dict[str, Any]

LEASES = GroupResource("", "masterleases")
_KIND = GroupVersionKind("", "v1", "Endpoints")

LEASE_SECONDS = 15
"""How long a server counts as living that is not heard of any more."""

INTERVAL = 10.0
_REMOVAL_SECONDS = 2.0
"""How long a server that stops tries to tell so."""


class AddressLeases:
    """The addresses of the servers that live."""

    def __init__(self, storage: StorageFactory) -> None:
        self._prefix = storage.prefix(LEASES)
        self._storage = storage.make(LEASES, JsonCodec(_KIND, protobuf=object_of), cached=False)

    async def renew(self, address: str, *, seconds: int = LEASE_SECONDS) -> None:
        """The server at that address lives. Raises StorageError."""

        def renewed(current: StoredObject | None) -> Object:
            metadata = current.data()["metadata"] if current is not None else {}
            # What is written has to differ, or the lease would not be renewed.
            generation = metadata.get("generation", 0) + 1
            subsets = [{"addresses": [{"ip": address}]}]
            return {
                "kind": _KIND.kind,
                "apiVersion": _KIND.api_version,
                "metadata": {"generation": generation},
                "subsets": subsets,
            }

        options = UpdateOptions(ignore_not_found=True, ttl=seconds)
        await self._storage.guaranteed_update(f"{self._prefix}/{address}", renewed, options)

    async def remove(self, address: str) -> None:
        """The server at that address is going to stop. Raises StorageError."""
        try:
            await self._storage.delete(f"{self._prefix}/{address}")
        except KeyNotFound:
            log.debug("the lease of %s has run out already", address)

    async def addresses(self) -> list[str]:
        """The addresses of all servers that live, in order. Raises StorageError."""
        found = await self._storage.get_list(f"{self._prefix}/", ListOptions())
        subsets = (item.data().get("subsets") or [{}] for item in found.items)
        return sorted({each["ip"] for first, *_ in subsets for each in first.get("addresses") or []})

    async def close(self) -> None:
        """Nothing is asked any more."""
        await self._storage.close()


class OwnEndpoints:
    """Keeps one server among the endpoints for as long as it lives, and those out that do not."""

    def __init__(
        self,
        leases: AddressLeases,
        write: Callable[[Sequence[str]], Awaitable[None]],
        address: str,
        *,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        """`write` has the endpoints be those addresses and no others; `address` is this server's own."""
        self._leases = leases
        self._write = write
        self._address = address
        self._clock = clock
        self._tasks = TaskOwner("own-endpoints")

    def __repr__(self) -> str:
        return f"<OwnEndpoints {self._address}>"

    def start(self) -> None:
        """Be there from now on."""
        self._tasks.start("renew", self._renew_always())

    async def _renew_always(self) -> None:
        while True:
            try:
                await self.reconcile()
            except (ApiError, StorageError) as error:
                log.warning("the endpoints of this server are not kept up to date: %s", error)
            await self._clock.sleep(INTERVAL)

    async def reconcile(self) -> None:
        """Say that this server lives, and have the endpoints be all that do. Raises StorageError, ApiError."""
        await self._leases.renew(self._address)
        await self._write(await self._leases.addresses())

    async def close(self) -> None:
        """Take this server out, if that can be done soon; else the lease runs out. Idempotent."""
        await self._tasks.close()
        try:
            async with asyncio.timeout(_REMOVAL_SECONDS):
                await self._leases.remove(self._address)
                if others := await self._leases.addresses():
                    await self._write(others)
        except (ApiError, StorageError, TimeoutError) as error:
            log.warning("this server stays among the endpoints until its lease runs out: %s", error or "no answer")
        await self._leases.close()
