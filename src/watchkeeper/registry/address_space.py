"""The cluster addresses of one IP family: who holds which, and the networks that they are given from.

Networks come and go, and may overlap: an address is held once, whichever network it was taken from, and stays held
while no network has it.
"""

from __future__ import annotations

import ipaddress
import logging
import socket
from collections.abc import Iterable, Mapping
from time import perf_counter

from watchkeeper.apis.validation.net import IPAddress, IPNetwork, canonical_ip, parse_ip
from watchkeeper.registry.allocation_counts import DYNAMIC, STATIC, AllocationCounts
from watchkeeper.registry.pools import ALLOCATED_IP, Full, Pool, Refused, band

log = logging.getLogger(__name__)

NOT_READY = "allocator not ready"
NO_NETWORK = "the provided network does not match the current range"


def configured_network(text: str) -> IPNetwork:
    """A network that a cluster may begin with. Raises ValueError for one of less than four addresses, or over 2**64."""
    network: IPNetwork = ipaddress.ip_network(text)
    if network.num_addresses < 4:
        raise ValueError(f"{text} has too few addresses")
    _require_prefix(network)
    return network


def _require_prefix(network: IPNetwork) -> None:
    if network.version == 6 and network.prefixlen < 64:
        raise ValueError(f"shortest allowed prefix length for a service network is 64, got {network}")


def family_of(network: IPNetwork) -> str:
    """IPv4 or IPv6."""
    return f"IPv{network.version}"


def locate(text: str) -> tuple[str, int] | None:
    """The family and the number of an address; None for what is none."""
    if (packed := _packed(text)) is not None:
        return "IPv4" if len(packed) == 4 else "IPv6", int.from_bytes(packed)
    address = parse_ip(text)
    if address is None:
        return None
    plain = ipaddress.ip_address(canonical_ip(address))
    return f"IPv{plain.version}", int(plain)


def record_name(text: str) -> str:
    """The name of the IPAddress of an address, however that is written."""
    packed = _packed(text)
    if packed is not None and (len(packed) == 4 or socket.inet_ntop(socket.AF_INET6, packed) == text):
        return text
    address = parse_ip(text)
    return text if address is None else str(ipaddress.ip_address(canonical_ip(address)))


def _packed(text: str) -> bytes | None:
    """The bytes of an address in one of the usual forms; a start reads those of all Services."""
    try:
        if ":" not in text:
            return socket.inet_pton(socket.AF_INET, text)
        return None if "." in text else socket.inet_pton(socket.AF_INET6, text)
    except (OSError, ValueError):
        return None


class _Network:
    """One network. Its own address and, with IPv4, its broadcast address are nobody's."""

    def __init__(self, network: IPNetwork, holders: dict[int, str], recorded: set[int], *, ready: bool) -> None:
        _require_prefix(network)
        self.network = network
        self.ready = ready
        base, size = int(network.network_address), network.num_addresses
        last = base + size - (2 if network.version == 4 else 1)
        self.pool = Pool(base + 1, last, band(size, step=16, most=256), holders, recorded)

    def address(self, number: int) -> IPAddress:
        return ipaddress.IPv4Address(number) if self.network.version == 4 else ipaddress.IPv6Address(number)


class AddressSpace:
    """The addresses of one IP family."""

    def __init__(self, family: str, counts: AllocationCounts | None = None) -> None:
        """`family`: IPv4 or IPv6. There are no networks at first. `counts` are of networks, and may be shared."""
        self.family = family
        self._counts = counts if counts is not None else AllocationCounts()
        self._holders: dict[int, str] = {}
        self._recorded: set[int] = set()
        """What has an IPAddress, whoever has made that."""
        self._networks: list[_Network] = []

    def __repr__(self) -> str:
        networks = ", ".join(f"{each.network}{'' if each.ready else ' (not ready)'}" for each in self._networks)
        return f"<AddressSpace {self.family}: {len(self._holders)} taken of {networks or 'nothing'}>"

    # -- networks -----------------------------------------------------------------------------------------------

    def offer(self, networks: Mapping[str, bool]) -> None:
        """Give addresses of these networks from now on, the first of them first. Not of those that are not ready.

        Networks of other families are ignored, and so are those that are too large.
        """
        found = []
        for text, ready in networks.items():
            try:
                network = ipaddress.ip_network(text, strict=False)
                if family_of(network) == self.family:
                    found.append(_Network(network, self._holders, self._recorded, ready=ready))
            except ValueError as error:
                log.warning("no addresses are given of %s: %s", text, error)
        self._networks = found

    def covers(self, number: int) -> bool:
        """Whether an address belongs to a network, ready or not."""
        return any(number in each.pool for each in self._networks)

    def network_of(self, number: int) -> str:
        """The first network that is ready and has an address, "" for none."""
        return next((str(each.network) for each in self._networks if each.ready and number in each.pool), "")

    def usage(self) -> dict[str, tuple[int, int]]:
        """Of each network that is ready, how many addresses are taken, and how many there are."""
        taken = self._holders.keys() | self._recorded
        return {
            str(each.network): (sum(number in each.pool for number in taken), each.pool.last - each.pool.first + 1)
            for each in self._networks
            if each.ready
        }

    def gives(self, number: int) -> bool:
        """Whether an address belongs to a network that is ready."""
        return any(each.ready and number in each.pool for each in self._networks)

    # -- who holds what -----------------------------------------------------------------------------------------

    def holder(self, number: int) -> str | None:
        """Who holds an address."""
        return self._holders.get(number)

    def is_recorded(self, number: int) -> bool:
        """Whether an address has an IPAddress, as far as is known here."""
        return number in self._recorded

    def put(self, number: int, holder: str) -> None:
        """Note who holds an address, whoever did so far."""
        self._holders[number] = holder

    def note(self, number: int, holder: str) -> None:
        """Note who holds an address, unless somebody else does."""
        self._holders.setdefault(number, holder)

    def give_back(self, number: int, holder: str) -> None:
        """Let go of an address, if this holder has it."""
        if self._holders.get(number) == holder:
            del self._holders[number]

    def clear(self) -> None:
        """Nobody holds anything."""
        self._holders.clear()

    def record(self, number: int) -> bool:
        """An address has an IPAddress. Returns whether that is new."""
        if number in self._recorded:
            return False
        self._recorded.add(number)
        return True

    def unrecord(self, number: int) -> None:
        """An address has no IPAddress any more."""
        self._recorded.discard(number)

    def replace_records(self, numbers: Iterable[int]) -> None:
        """These addresses have IPAddresses, and no others."""
        self._recorded.clear()
        self._recorded.update(numbers)

    # -- taking -------------------------------------------------------------------------------------------------

    def take(self, number: int, holder: str) -> None:
        """Take an address. Raises Refused."""
        started = perf_counter()
        network = self.network_of(number)
        if not network:
            raise Refused(NO_NETWORK)
        if number in self._holders or number in self._recorded:
            self._counts.failed[network, STATIC] += 1
            raise Refused(ALLOCATED_IP)
        self._holders[number] = holder
        self._counts.took(network, STATIC, perf_counter() - started)

    def take_any(self, holder: str, *, final: bool = True) -> str:
        """Take any address; it has yet to be reserved, unless that is `final`. Raises Full."""
        for each in self._networks:
            if each.ready:
                started = perf_counter()
                try:
                    found = each.address(each.pool.take_any(holder))
                except Full:
                    self._counts.failed[str(each.network), DYNAMIC] += 1
                    continue
                if final:
                    self._counts.took(str(each.network), DYNAMIC, perf_counter() - started)
                else:
                    self._counts.taken[str(each.network), DYNAMIC] += 1
                return str(found)
        raise Full("range is full")

    # -- dry runs: they ask one network only, as the reference has them -------------------------------------------

    def check(self, number: int) -> None:
        """Raise Refused for an address that cannot be had, whoever holds it."""
        if self.gives(number):
            return
        ready = self._first_ready()
        if ready is None:
            raise Refused(NOT_READY)
        where = f"The range of valid IPs is {ready.network}"
        raise Refused(f"the provided IP ({ready.address(number)}) is not in the valid range. {where}")

    def sample(self) -> str:
        """What a dry run shows for an address that might be had. Raises Refused."""
        ready = self._first_ready()
        if ready is None:
            raise Refused(NOT_READY)
        return str(ready.network.network_address)

    def _first_ready(self) -> _Network | None:
        return next((each for each in self._networks if each.ready), None)
