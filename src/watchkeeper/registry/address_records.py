"""Keeps an allocator and its repair informed of IPAddresses, whoever writes them: nobody is given what has one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from watchkeeper.registry.address_repair import AddressRepair
from watchkeeper.registry.allocators import ServiceAllocator
from watchkeeper.registry.transaction import NOTHING_HELD, Transaction

Object = dict[str, Any]


@dataclass(slots=True)
class _Write:
    """One write of an IPAddress."""

    records: AddressRecords
    record: Object
    is_new: bool
    """Whether the address had none that was known."""

    async def secure(self) -> None:
        """The store decides."""

    def commit(self) -> None:
        """It took place."""
        self.records.repair.record_changed(self.record)

    def rollback(self, *, uncertain: bool = False) -> None:
        """It did not. If it may have, the address is given to nobody until the next start."""
        if self.is_new and not uncertain:
            self.records.allocator.unrecord(self.record["metadata"]["name"])


class AddressRecords:
    """What is told of IPAddresses: `registry.store.Hooks` where all are written here, else what follows them."""

    def __init__(self, allocator: ServiceAllocator, repair: AddressRepair) -> None:
        self.allocator = allocator
        self.repair = repair

    def __repr__(self) -> str:
        return f"<AddressRecords for {self.allocator!r}>"

    # -- Hooks ----------------------------------------------------------------------------------------------------

    def begin_create(self, obj: Object, *, dry_run: bool) -> Transaction:
        """The address is nobody else's from now on."""
        if dry_run:
            return NOTHING_HELD
        return _Write(self, obj, self.allocator.record(obj["metadata"].get("name", "")))

    def begin_update(self, obj: Object, old: Object, *, dry_run: bool) -> Transaction:
        """Nothing is taken: a name does not change."""
        return NOTHING_HELD if dry_run else _Write(self, obj, is_new=False)

    def after_delete(self, obj: Object) -> None:
        """The address may be given again."""
        self.remove(obj)

    # -- following ------------------------------------------------------------------------------------------------

    def put(self, obj: Object) -> None:
        """An IPAddress is stored like this now."""
        self.allocator.record(obj["metadata"]["name"])
        self.repair.record_changed(obj)

    def remove(self, obj: Object) -> None:
        """An IPAddress is gone."""
        self.allocator.unrecord(obj["metadata"]["name"])
        self.repair.record_gone(obj)

    def replace(self, kind: str, objects: list[Object]) -> None:
        """These are all IPAddresses."""
        self.allocator.replace_records(obj["metadata"]["name"] for obj in objects)


class FollowedServices:
    """Tells an allocator and its repair of Services that others may write."""

    def __init__(self, allocator: ServiceAllocator, repair: AddressRepair) -> None:
        self._allocator = allocator
        self._repair = repair

    def __repr__(self) -> str:
        return f"<FollowedServices for {self._allocator!r}>"

    def put(self, obj: Object) -> None:
        """A Service is stored like this now."""
        self._allocator.put(obj)
        self._repair.service_changed(obj)

    def remove(self, obj: Object) -> None:
        """A Service is gone."""
        self._allocator.remove(obj)

    def replace(self, kind: str, objects: list[Object]) -> None:
        """These are all Services."""
        self._allocator.replace(kind, objects)
