"""What Services are allocated: cluster addresses and node ports, without collisions.

An allocation is held while its write is under way and given back when the write does not take place. What is taken is
known from the Services and IPAddresses that exist; a server reads those once at its start. Where other servers allocate
too, it also follows them, and an arbiter decides: whoever wants a number reserves it in the store before the Service is
written.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from watchkeeper.apis.core import service_traits as traits
from watchkeeper.meta import errors
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.field import FieldError, invalid
from watchkeeper.meta.gvk import GroupKind
from watchkeeper.registry.address_space import (
    NO_NETWORK,
    AddressSpace,
    configured_network,
    family_of,
    locate,
    record_name,
)
from watchkeeper.registry.allocation_counts import DYNAMIC, STATIC, AllocationCounts
from watchkeeper.registry.node_ports import allocate_ports, update_ports
from watchkeeper.registry.pools import Full, PortPool, Refused
from watchkeeper.registry.port_operation import PortOperation
from watchkeeper.registry.securing import Reserved, secure
from watchkeeper.registry.service_families import complete_families, keeps_preferred
from watchkeeper.registry.service_values import keep_allocated, normalize_addresses

Object = dict[str, Any]

KIND = GroupKind("", "Service")
_UNNAMED = 'IPAddress.networking.k8s.io "{}" is invalid: spec.parentRef.name: Required value'
"""No address is recorded for a Service without a name."""
DEFAULT_NETWORK = "10.0.0.0/24"
DEFAULT_NODE_PORTS = (30000, 32767)


class Recorder(Protocol):
    """Is told what happened to cluster addresses, after the fact; must not block."""

    def taken(self, service: Object, addresses: Iterable[str]) -> None:
        """A stored Service has got these."""
        ...

    def released(self, addresses: Iterable[str]) -> None:
        """Nobody has these any more."""
        ...

    def deleted(self, service: Object) -> None:
        """A Service is gone."""
        ...

    async def settle(self) -> None:
        """Return when all that was told so far has been dealt with."""
        ...


class Arbiter(Protocol):
    """Decides between servers on one store: what one of them has reserved, no other gets.

    Reservations are let go soon after they are released; `settle` waits for that.
    """

    async def reserve_address(self, address: str, namespace: str, service: str) -> bool:
        """Reserve an address for a Service; False when somebody has it. Raises ApiError."""
        ...

    async def reserve_ports(self, ports: Collection[int]) -> Collection[int]:
        """Reserve node ports. Returns those that somebody has; then none is reserved. Raises ApiError."""
        ...

    def release_addresses(self, addresses: Iterable[str]) -> None:
        """Let go of addresses that were reserved here, or that a deleted Service had."""
        ...

    def release_ports(self, ports: Iterable[int]) -> None:
        """Let go of node ports likewise."""
        ...

    async def settle(self) -> None:
        """Return when what was released so far is free, or when that failed."""
        ...


class _NoRecorder:
    def taken(self, service: Object, addresses: Iterable[str]) -> None:
        """Nobody asks."""

    def released(self, addresses: Iterable[str]) -> None:
        """Nobody asks."""

    def deleted(self, service: Object) -> None:
        """Nobody asks."""

    async def settle(self) -> None:
        """There is nothing to wait for."""


@dataclass(slots=True, kw_only=True)
class ServiceTransaction:
    """What one write took and what it lets go once it took place."""

    allocator: ServiceAllocator
    service: Object
    holder: str
    ports: PortOperation
    dry_run: bool
    taken: list[str] = field(default_factory=list)
    to_release: list[str] = field(default_factory=list)
    chosen: set[str] = field(default_factory=set)
    """Those of the taken addresses that nobody asked for by name."""
    contested: dict[str, str] = field(default_factory=dict)
    """Addresses asked for by name that were others', as far as this server knew, and whose."""
    reserved: Reserved = field(default_factory=Reserved)

    async def secure(self) -> None:
        """Reserve what was taken, if there are other servers. What another has is replaced where it may be.

        The Service was judged by now: a policy for traffic within the cluster is of no use to an external name, and
        kube-apiserver does not show it.
        """
        if self.service["spec"].get("type") == traits.EXTERNAL_NAME:
            self.service["spec"].pop("internalTrafficPolicy", None)
        arbiter = self.allocator.arbiter
        if arbiter is not None and not self.dry_run:
            await secure(self, arbiter)

    def commit(self) -> None:
        """The write took place: let go what it no longer needs."""
        if not self.dry_run:
            self.allocator.committed(self)
        self.ports.commit()
        self._settled()

    def rollback(self, *, uncertain: bool = False) -> None:
        """It did not: give back what it took. If it may have, what is reserved stays so until it is found unused."""
        self.ports.rollback()
        if uncertain:
            self.reserved = Reserved()
        if not self.dry_run:
            self.allocator.rolled_back(self)
        self._settled()

    def _settled(self) -> None:
        self.taken, self.to_release, self.reserved, self.contested = [], [], Reserved(), {}


class ServiceAllocator:
    """Allocates for Services as they are created, changed and deleted. Implements `registry.store.Hooks`."""

    def __init__(
        self,
        networks: Iterable[str] = (DEFAULT_NETWORK,),
        node_ports: tuple[int, int] = DEFAULT_NODE_PORTS,
        recorder: Recorder | None = None,
    ) -> None:
        """`networks`: one CIDR per IP family, the preferred family first. Raises ValueError for one that is none.

        Addresses are given from them until others are offered.
        """
        found = [configured_network(network) for network in networks]
        self.address_counts = AllocationCounts()
        """What was given, by network."""
        self._spaces = {family: AddressSpace(family, self.address_counts) for family in map(family_of, found)}
        self.offer({str(network): True for network in found})
        self.ports = PortPool(*node_ports)
        self._recorder: Recorder = recorder or _NoRecorder()
        self.arbiter: Arbiter | None = None
        """To be set when other servers allocate too."""
        self._known: dict[str, Object] = {}
        """By holder, the Services that are followed."""

    def __repr__(self) -> str:
        return f"<ServiceAllocator {', '.join(map(repr, self._spaces.values()))}>"

    @property
    def families(self) -> tuple[str, ...]:
        """The IP families of this cluster, the preferred one first."""
        return tuple(self._spaces)

    def offer(self, networks: Mapping[str, bool]) -> None:
        """Give addresses from these networks, the first of them first, unless they are not ready."""
        for space in self._spaces.values():
            space.offer(networks)

    def covers(self, address: str) -> bool:
        """Whether an address belongs to one of the networks, ready or not."""
        return any(space.covers(number) for space, number in self._located([address]))

    def holder(self, address: str) -> str | None:
        """Who holds an address."""
        return next((space.holder(number) for space, number in self._located([address])), None)

    def load(self, services: Iterable[Object]) -> None:
        """Note what existing Services have."""
        for service in services:
            self.note(service)

    def note(self, service: Object) -> None:
        """Note what a stored Service has. What another holds stays the other's."""
        spec, holder = service.get("spec") or {}, _holder(service)
        for space, number in self._located(cluster_addresses(spec)):
            space.note(number, holder)
        for port in all_ports(spec):
            self.ports.take(port, holder)

    # -- IPAddresses --------------------------------------------------------------------------------------------

    def record(self, address: str) -> bool:
        """There is an IPAddress of this name, so nobody else is given the address. Returns whether that is new."""
        return any(space.record(number) for space, number in self._located([address]))

    def unrecord(self, address: str) -> None:
        """There is none any more."""
        for space, number in self._located([address]):
            space.unrecord(number)

    def is_recorded(self, address: str) -> bool:
        """Whether there is one, as far as is known here."""
        return any(space.is_recorded(number) for space, number in self._located([address]))

    def replace_records(self, addresses: Iterable[str]) -> None:
        """These are the names of all IPAddresses that there are."""
        numbers: dict[str, list[int]] = {family: [] for family in self._spaces}
        for space, number in self._located(addresses):
            numbers[space.family].append(number)
        for family, space in self._spaces.items():
            space.replace_records(numbers[family])

    def _located(self, addresses: Iterable[str]) -> Iterator[tuple[AddressSpace, int]]:
        """The numbers of addresses, and where they are counted; without those of families that this cluster has not."""
        for text in addresses:
            found = locate(text)
            space = self._spaces.get(found[0]) if found is not None else None
            if found is not None and space is not None:
                yield space, found[1]

    # -- Hooks ------------------------------------------------------------------------------------------------

    def begin_create(self, obj: Object, *, dry_run: bool) -> ServiceTransaction:
        """Fill in families, addresses and ports of a new Service. Raises what makes that impossible."""
        spec = obj.setdefault("spec", {})
        normalize_addresses(spec, None)
        transaction = self._begin(obj, None, dry_run)
        try:
            self._take_all(obj, transaction)
            allocate_ports(obj, transaction.ports)
        except ApiError:
            transaction.rollback()
            raise
        return transaction

    def begin_update(self, obj: Object, old: Object, *, dry_run: bool) -> ServiceTransaction:
        """Fill in what a changed Service needs more, and remember what it needs no longer."""
        spec, was = obj.setdefault("spec", {}), old.get("spec") or {}
        normalize_addresses(was, None)
        keep_allocated(spec, was)
        normalize_addresses(spec, was)
        transaction = self._begin(obj, old, dry_run)
        try:
            self._change_addresses(obj, was, transaction)
            update_ports(obj, was, transaction.ports)
        except ApiError:
            transaction.rollback()
            raise
        return transaction

    def after_delete(self, obj: Object) -> None:
        """Give back all that a Service had."""
        spec, holder = obj.get("spec") or {}, _holder(obj)
        addresses = cluster_addresses(spec)
        self.give_back(addresses, holder)
        ports = all_ports(spec)
        for port in ports:
            self.ports.give_back(port, holder)
        if self.arbiter is not None:
            self.arbiter.release_ports(ports)
        self._recorder.released(addresses)
        self._recorder.deleted(obj)

    async def settle(self) -> None:
        """Return when the recorder, and the arbiter, have dealt with all that was committed so far."""
        await self._recorder.settle()
        if self.arbiter is not None:
            await self.arbiter.settle()

    # -- following what other servers do ------------------------------------------------------------------------

    def put(self, service: Object) -> None:
        """A Service is stored like this now, whoever did it: note what it has, and what it has no longer."""
        spec, holder = service.get("spec") or {}, _holder(service)
        was = self._known.get(holder, {})
        self._known[holder] = spec
        addresses, ports = cluster_addresses(spec), all_ports(spec)
        self.give_back((each for each in cluster_addresses(was) if each not in addresses), holder)
        for port in all_ports(was):
            if port not in ports:
                self.ports.give_back(port, holder)
        for space, number in self._located(addresses):
            space.put(number, holder)
        for port in ports:
            self.ports.put(port, holder)

    def remove(self, service: Object) -> None:
        """A Service is gone, whoever deleted it."""
        holder = _holder(service)
        was = self._known.pop(holder, None) or service.get("spec") or {}
        self.give_back(cluster_addresses(was), holder)
        for port in all_ports(was):
            self.ports.give_back(port, holder)

    def replace(self, kind: str, services: list[Object]) -> None:
        """These are all Services there are."""
        self._known.clear()
        self.ports.clear()
        for space in self._spaces.values():
            space.clear()
        for service in services:
            self.put(service)

    # -- what transactions ask for ------------------------------------------------------------------------------

    def give_back(self, addresses: Iterable[str], holder: str) -> None:
        """Let go of addresses of this holder."""
        for space, number in self._located(addresses):
            space.give_back(number, holder)

    def committed(self, transaction: ServiceTransaction) -> None:
        """A write took place."""
        self.give_back(transaction.to_release, transaction.holder)
        if self.arbiter is not None:
            self.arbiter.release_ports(transaction.ports.to_release)
        elif transaction.taken:
            self._recorder.taken(transaction.service, transaction.taken)
        if transaction.to_release:
            self._recorder.released(transaction.to_release)

    def rolled_back(self, transaction: ServiceTransaction) -> None:
        """A write did not take place."""
        self.give_back(transaction.taken, transaction.holder)
        for text, previous in transaction.contested.items():
            for space, number in self._located([text]):
                space.note(number, previous)
        if self.arbiter is not None:
            self.arbiter.release_addresses(transaction.reserved.addresses)
            self.arbiter.release_ports(transaction.reserved.ports)

    def take_another(self, text: str, transaction: ServiceTransaction) -> str:
        """Take another address of the family for one that turned out to be somebody else's. Raises Full."""
        space, number = next(self._located([text]))
        self.address_counts.lost(space.network_of(number), DYNAMIC)
        space.give_back(number, transaction.holder)
        space.record(number)
        transaction.taken.remove(text)
        transaction.chosen.discard(text)
        other = space.take_any(transaction.holder, final=False)
        transaction.taken.append(other)
        transaction.chosen.add(other)
        return other

    def reserved(self, text: str, seconds: float) -> None:
        """An address was reserved, which took so long."""
        for space, number in self._located([text]):
            self.address_counts.lasted(space.network_of(number), seconds)

    def refuse(self, text: str) -> None:
        """An address that was asked for by name turned out to be somebody else's."""
        for space, number in self._located([text]):
            self.address_counts.lost(space.network_of(number), STATIC)

    def usage(self) -> dict[str, tuple[int, int]]:
        """Of each network that is ready, how many addresses are taken, and how many there are."""
        return {network: each for space in self._spaces.values() for network, each in space.usage().items()}

    # -- addresses ----------------------------------------------------------------------------------------------

    def _begin(self, obj: Object, old: Object | None, dry_run: bool) -> ServiceTransaction:
        wrong = complete_families(obj["spec"], None if old is None else old.get("spec") or {}, self.families)
        if wrong:
            raise _invalid(obj, wrong)
        holder = _holder(obj if old is None else old)
        ports = PortOperation(self.ports, holder, dry_run=dry_run, shared=self.arbiter is not None)
        return ServiceTransaction(allocator=self, service=obj, holder=holder, ports=ports, dry_run=dry_run)

    def _take_all(self, obj: Object, transaction: ServiceTransaction) -> None:
        """Take an address of each family: the one that is named, or any."""
        spec = obj["spec"]
        if not traits.needs_cluster_ip(spec) or spec.get("clusterIP") == traits.NONE:
            return
        families, named = spec["ipFamilies"], list(spec.get("clusterIPs") or ())
        # Whoever is refused is shown what was asked for, with gaps.
        spec["clusterIPs"] = named + [""] * (len(families) - len(named))
        taken = [self._take(obj, each, spec["clusterIPs"][i], transaction) for i, each in enumerate(families)]
        spec["clusterIPs"] = [*taken, *named[len(taken) :]]
        spec["clusterIP"] = taken[0]

    def _change_addresses(self, obj: Object, was: Object, transaction: ServiceTransaction) -> None:
        spec = obj["spec"]
        if keeps_preferred(spec, was):
            return
        if not traits.needs_cluster_ip(was):
            if traits.needs_cluster_ip(spec):
                self._take_all(obj, transaction)
            return
        if (was.get("clusterIPs") or [""])[0] == traits.NONE:
            return
        if not traits.needs_cluster_ip(spec):
            transaction.to_release = list(was.get("clusterIPs") or ())
            return
        before, after = len(was.get("ipFamilies") or ()), len(spec.get("ipFamilies") or ())
        if (before, after) == (1, 2):
            addresses = spec["clusterIPs"] = [*(spec.get("clusterIPs") or [""])[:2], ""][:2]
            addresses[1] = self._take(obj, spec["ipFamilies"][1], addresses[1], transaction)
        elif (before, after) == (2, 1):
            transaction.to_release = list((was.get("clusterIPs") or ())[1:])

    def _take(self, obj: Object, family: str, text: str, transaction: ServiceTransaction) -> str:
        space, name = self._spaces[family], obj["metadata"].get("name", "")
        nameless = not name and not transaction.dry_run
        try:
            if text:
                self._take_named(space, text, transaction, rehearsed=transaction.dry_run or nameless)
            elif transaction.dry_run:
                return space.sample()
            if nameless:
                raise Refused(_UNNAMED.format(record_name(text or _any_address(space, transaction.holder))))
            if not text:
                text = space.take_any(transaction.holder, final=self.arbiter is None)
                transaction.chosen.add(text)
        except Full as error:
            raise errors.internal_error(f'failed to allocate a serviceIP for Service "{name}": {error}') from None
        except Refused as error:
            why = f"failed to allocate IP {text}: {error}" if text else f"failed to allocate IP: {error}"
            raise _invalid(obj, [invalid("spec.clusterIPs", obj["spec"]["clusterIPs"], why)]) from None
        transaction.taken.append(text)
        return text

    def _take_named(self, space: AddressSpace, text: str, transaction: ServiceTransaction, *, rehearsed: bool) -> None:
        found = locate(text)
        if found is None or found[0] != space.family:
            raise Refused(NO_NETWORK)
        number = found[1]
        if rehearsed:
            space.check(number)
        elif self.arbiter is None or not space.gives(number):
            space.take(number, transaction.holder)
        else:
            # Its server may have freed it a moment ago: the arbiter knows.
            previous = space.holder(number)
            space.put(number, transaction.holder)
            self.address_counts.taken[space.network_of(number), STATIC] += 1
            if previous is not None and previous != transaction.holder:
                transaction.contested[text] = previous


def _any_address(space: AddressSpace, holder: str) -> str:
    """An address that might be had, which nobody takes."""
    address = space.take_any(holder)
    found = locate(address)
    assert found is not None
    space.give_back(found[1], holder)
    return address


def _invalid(obj: Object, wrong: list[FieldError]) -> ApiError:
    return errors.invalid(KIND, obj["metadata"].get("name", ""), wrong)


def _holder(service: Object) -> str:
    meta = service["metadata"]
    return meta.get("uid") or f"{meta.get('namespace', '')}/{meta.get('name', '')}"


def cluster_addresses(spec: Object) -> list[str]:
    """The addresses a Service holds, as their IPAddresses are called."""
    if not traits.needs_cluster_ip(spec):
        return []
    found = spec.get("clusterIPs") or [spec.get("clusterIP")]
    return [record_name(address) for address in found if address and address != traits.NONE]


def all_ports(spec: Object) -> list[int]:
    """The node ports a Service holds."""
    check = spec.get("healthCheckNodePort")
    return traits.node_ports(spec) + ([check] if check else [])
