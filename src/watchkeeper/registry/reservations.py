"""Reservations in the store, as kube-apiserver keeps them: between servers, the store decides who gets a number.

An address is reserved by its IPAddress, which can be created once. Node ports are bits of one object, the
RangeAllocation `ranges/servicenodeports`, written only from the state that was read. Both are written before the
Service is, so that a server that ends in between leaves a reservation without a Service behind, never the opposite;
`registry.service_repair` finds such.
"""

from __future__ import annotations

import asyncio
import base64
import logging
from collections.abc import Callable, Collection, Iterable
from typing import Any

from watchkeeper.aio.tasks import TaskOwner
from watchkeeper.apis.networking.ipaddress import address_object
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.gvk import GroupResource, GroupVersionKind
from watchkeeper.registry.address_space import record_name
from watchkeeper.registry.errors import to_api_error
from watchkeeper.registry.rest import Context, CreateOptions, DeleteOptions
from watchkeeper.registry.store import Store
from watchkeeper.request.user import LOOPBACK
from watchkeeper.storage.errors import StorageError
from watchkeeper.storage.interface import Interface, StoredObject, UpdateOptions

log = logging.getLogger(__name__)

Object = dict[str, Any]

ADDRESSES = GroupResource("networking.k8s.io", "ipaddresses")
RANGES = GroupResource("", "ranges")
RANGE_KIND = GroupVersionKind("", "v1", "RangeAllocation")
_PORTS = "servicenodeports"


class SharedReservations:
    """Implements `registry.allocators.Arbiter` over the stores of IPAddresses and of range allocations."""

    def __init__(
        self,
        find: Callable[[GroupResource], Store],
        owned: Callable[[Object], Object],
        ranges: Interface,
        prefix: str,
        ports: tuple[int, int],
    ) -> None:
        """`owned` says in a new object whose it is; `ranges` keeps RangeAllocations under `prefix`.

        `ports`: the first and the last node port.
        """
        self._find = find
        self._owned = owned
        self._ranges = ranges
        self._key = f"{prefix}/{_PORTS}"
        self._first, self._last = ports
        self._releasing: set[asyncio.Task[None]] = set()
        self._tasks = TaskOwner("reservations")

    def __repr__(self) -> str:
        return f"<SharedReservations: {len(self._releasing)} being released>"

    @property
    def port_range(self) -> tuple[int, int]:
        """The first and the last node port."""
        return self._first, self._last

    # -- addresses ------------------------------------------------------------------------------------------------

    async def reserve_address(self, address: str, namespace: str, service: str) -> bool:
        """Create its IPAddress; False when there is one. Raises ApiError."""
        obj = address_object(record_name(address), namespace, service)
        try:
            await self._find(ADDRESSES).create(Context(user=LOOPBACK), self._owned(obj), CreateOptions())
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise
            return False
        return True

    def release_addresses(self, addresses: Iterable[str]) -> None:
        """Delete their IPAddresses, soon."""
        for address in addresses:
            self._soon(f"address {address}", self._release_address(record_name(address)))

    async def _release_address(self, address: str) -> None:
        try:
            await self._find(ADDRESSES).delete(Context(user=LOOPBACK), address, DeleteOptions())
        except ApiError as error:
            if error.reason != "NotFound":
                log.warning("the address %s stays reserved until it is found unused: %s", address, error.message)

    # -- node ports -----------------------------------------------------------------------------------------------

    async def reserve_ports(self, ports: Collection[int]) -> Collection[int]:
        """Set their bits, all or none. Returns those that are set already. Raises ApiError."""
        wanted = self._bits(ports)
        try:
            await self._change(lambda bits: bits | wanted, refuse=wanted)
        except _Taken as taken:
            return [port for port in ports if taken.bits >> (port - self._first) & 1]
        except StorageError as error:
            raise to_api_error(error, RANGES, _PORTS, "update") from error
        return ()

    def release_ports(self, ports: Iterable[int]) -> None:
        """Take their bits away, soon."""
        gone = self._bits(ports)
        if gone:
            self._soon("ports", self._release_bits(gone))

    async def _release_bits(self, gone: int) -> None:
        try:
            await self._change(lambda bits: bits & ~gone)
        except StorageError as error:
            # Not to be tried again: when it did take place, somebody else may have reserved them since.
            log.warning("node ports stay reserved until they are found unused: %s", error)

    async def ports(self) -> set[int]:
        """All that are reserved. Raises StorageError."""
        bits = 0

        def look(found: int) -> int:
            nonlocal bits
            bits = found
            return found

        await self._change(look)
        return {self._first + i for i in range(bits.bit_length()) if bits >> i & 1}

    async def correct_ports(self, *, missing: Iterable[int], unused: Iterable[int]) -> None:
        """Set and take away what was found wrong. Raises StorageError."""
        more, gone = self._bits(missing), self._bits(unused)
        if more or gone:
            await self._change(lambda bits: (bits & ~gone) | more)

    def _bits(self, ports: Iterable[int]) -> int:
        bits = 0
        for port in ports:
            if self._first <= port <= self._last:
                bits |= 1 << (port - self._first)
        return bits

    async def _change(self, change: Callable[[int], int], *, refuse: int = 0) -> None:
        def update(stored: StoredObject | None) -> Object:
            obj = stored.data() if stored is not None else self._empty()
            bits = int.from_bytes(base64.b64decode(obj.get("data") or ""), "big")
            if bits & refuse:
                raise _Taken(bits & refuse)
            bits = change(bits)
            obj["range"] = f"{self._first}-{self._last}"
            obj["data"] = base64.b64encode(bits.to_bytes((bits.bit_length() + 7) // 8, "big")).decode()
            return obj

        await self._ranges.guaranteed_update(self._key, update, UpdateOptions(ignore_not_found=True))

    def _empty(self) -> Object:
        return {"kind": RANGE_KIND.kind, "apiVersion": RANGE_KIND.api_version, "metadata": {}}

    # -- releasing ------------------------------------------------------------------------------------------------

    def _soon(self, name: str, work: Any) -> None:
        try:
            task = self._tasks.start(name, work)
        except RuntimeError:
            return  # the server ends; what stays reserved is found by the others
        self._releasing.add(task)
        task.add_done_callback(self._releasing.discard)

    async def settle(self) -> None:
        """Return when what was released so far is free, or when that failed."""
        if self._releasing:
            await asyncio.wait(set(self._releasing))

    async def close(self) -> None:
        """Let go of nothing more."""
        await self._tasks.close()
        await self._ranges.close()


class _Taken(Exception):
    """Bits that were to be set are set already."""

    def __init__(self, bits: int) -> None:
        super().__init__(bits)
        self.bits = bits
