"""Pools of numbers: the addresses of a network, the ports of a range. Each number is held by at most one holder."""

from __future__ import annotations

import ipaddress
import itertools
import random

from watchkeeper.apis.validation.net import IPAddress, IPNetwork, canonical_ip, parse_ip

ALLOCATED_IP = "provided IP is already allocated"
ALLOCATED_PORT = "provided port is already allocated"

ELSEWHERE = "another server"
"""Holds what another server has given to a Service that is not known here yet."""


class Full(Exception):
    """Nothing is left in a pool."""


class Refused(Exception):
    """A number cannot be had; the message says why, in the reference's words."""


class Pool:
    """Numbers from `first` to `last`.

    The first `band` of them are kept for those who ask for a number by name (KEP-3070): whoever takes any gets one from
    above the band as long as there are some. A holder is a text, such as a uid; who gives back what another holds
    changes nothing.
    """

    def __init__(self, first: int, last: int, band: int) -> None:
        self.first, self.last = first, last
        self._middle = first + band
        self._holders: dict[int, str] = {}
        self._random = random.Random()

    def __repr__(self) -> str:
        return f"<Pool {self.first}-{self.last}: {len(self._holders)} taken>"

    def __contains__(self, number: int) -> bool:
        return self.first <= number <= self.last

    def is_taken(self, number: int) -> bool:
        """Whether somebody holds it."""
        return number in self._holders

    def holder(self, number: int) -> str | None:
        """Who holds it."""
        return self._holders.get(number)

    def take(self, number: int, holder: str) -> bool:
        """Take this one; False when somebody has it."""
        if number in self._holders:
            return False
        self._holders[number] = holder
        return True

    def put(self, number: int, holder: str) -> None:
        """Note who holds it, whoever did so far."""
        if number in self:
            self._holders[number] = holder

    def clear(self) -> None:
        """Nobody holds anything."""
        self._holders.clear()

    def take_any(self, holder: str) -> int:
        """Take one that is free: at random, so that a number just given back is not at once another's. Raises Full."""
        for low, high in ((self._middle, self.last), (self.first, self._middle - 1)):
            found = self._free(low, high)
            if found is not None:
                self._holders[found] = holder
                return found
        raise Full("range is full")

    def _free(self, low: int, high: int) -> int | None:
        if low > high:
            return None
        start = self._random.randint(low, high)
        turn = itertools.chain(range(start, high + 1), range(low, start))
        return next((number for number in turn if number not in self._holders), None)

    def give_back(self, number: int, holder: str) -> None:
        """Let go of a number, if this holder has it."""
        if self._holders.get(number) == holder:
            del self._holders[number]


class AddressPool:
    """The addresses of one network. Its own address and, with IPv4, its broadcast address are nobody's."""

    def __init__(self, network: str) -> None:
        """Raises ValueError when `network` is no network of at least four addresses, or over 2**64."""
        self.network: IPNetwork = ipaddress.ip_network(network)
        size = self.network.num_addresses
        if size < 4:
            raise ValueError(f"{network} has too few addresses")
        if self.network.version == 6 and self.network.prefixlen < 64:
            raise ValueError(f"shortest allowed prefix length for a service network is 64, got {network}")
        base = int(self.network.network_address)
        last = base + size - (2 if self.network.version == 4 else 1)
        self._pool = Pool(base + 1, last, _band(size, step=16, most=256))

    def __repr__(self) -> str:
        return f"<AddressPool {self.network}: {self._pool!r}>"

    @property
    def family(self) -> str:
        """IPv4 or IPv6."""
        return f"IPv{self.network.version}"

    def contains(self, text: str) -> bool:
        """Whether an address is one of this network's."""
        number = self._number(text)
        return number is not None and number in self._pool

    def check(self, text: str) -> int:
        """The number of an address of this network. Raises Refused for others."""
        number = self._number(text)
        if number is None or number not in self._pool:
            why = f"the provided IP ({text}) is not in the valid range. The range of valid IPs is {self.network}"
            raise Refused(why)
        return number

    def take(self, text: str, holder: str) -> None:
        """Take an address. Raises Refused."""
        number = self._number(text)
        if number is None or number not in self._pool:
            raise Refused("the provided network does not match the current range")
        if not self._pool.take(number, holder):
            raise Refused(ALLOCATED_IP)

    def holder(self, text: str) -> str | None:
        """Who holds an address of this network."""
        number = self._number(text)
        return self._pool.holder(number) if number is not None else None

    def put(self, text: str, holder: str) -> None:
        """Note who holds an address, whoever did so far. Addresses of other networks are ignored."""
        number = self._number(text)
        if number is not None:
            self._pool.put(number, holder)

    def clear(self) -> None:
        """Nobody holds anything."""
        self._pool.clear()

    def take_any(self, holder: str) -> str:
        """Take any address. Raises Full."""
        return str(self._address(self._pool.take_any(holder)))

    def give_back(self, text: str, holder: str) -> None:
        """Let go of an address, if this holder has it."""
        number = self._number(text)
        if number is not None:
            self._pool.give_back(number, holder)

    def _number(self, text: str) -> int | None:
        address = parse_ip(text)
        if address is None:
            return None
        plain = ipaddress.ip_address(canonical_ip(address))
        return int(plain) if plain.version == self.network.version else None

    def _address(self, number: int) -> IPAddress:
        return ipaddress.IPv4Address(number) if self.network.version == 4 else ipaddress.IPv6Address(number)


class PortPool(Pool):
    """The node ports, of all protocols together."""

    def __init__(self, first: int, last: int) -> None:
        super().__init__(first, last, _band(last - first + 1, step=32, most=128))

    def claim(self, port: int, holder: str) -> None:
        """Take a port. Raises Refused."""
        if port not in self:
            why = "provided port is not in the valid range. The range of valid ports is"
            raise Refused(f"{why} {self.first}-{self.last}")
        if not self.take(port, holder):
            raise Refused(ALLOCATED_PORT)


def _band(size: int, *, step: int, most: int) -> int:
    """How many numbers are kept for those who name theirs: a share, but 16 at least, and none in the smallest pools."""
    return 0 if size <= 16 else min(max(16, size // step), most)
