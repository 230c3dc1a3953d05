"""Pools of numbers, such as the ports of a range. Each number is held by at most one holder."""

from __future__ import annotations

import itertools
import random
from collections.abc import Collection

from watchkeeper.registry.allocation_counts import DYNAMIC, STATIC, AllocationCounts

ALLOCATED_IP = "provided IP is already allocated"
ALLOCATED_PORT = "provided port is already allocated"

ELSEWHERE = "another server"
"""Holds ports that another server has given to a Service that is not known here yet."""


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

    def __init__(
        self, first: int, last: int, band: int, holders: dict[int, str] | None = None, others: Collection[int] = ()
    ) -> None:
        """`holders`: by number, shared with pools that overlap. `others`: what may not be taken either."""
        self.first, self.last = first, last
        self._middle = first + band
        self._holders: dict[int, str] = {} if holders is None else holders
        self._others = others
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
        held, others = self._holders, self._others
        return next((number for number in turn if number not in held and number not in others), None)

    def give_back(self, number: int, holder: str) -> None:
        """Let go of a number, if this holder has it."""
        if self._holders.get(number) == holder:
            del self._holders[number]


class PortPool(Pool):
    """The node ports, of all protocols together."""

    def __init__(self, first: int, last: int) -> None:
        super().__init__(first, last, band(last - first + 1, step=32, most=128))
        self.counts = AllocationCounts()

    @property
    def size(self) -> int:
        """How many ports there are."""
        return self.last - self.first + 1

    @property
    def taken(self) -> int:
        """How many are held."""
        return sum(port in self for port in self._holders)

    def take_any(self, holder: str) -> int:
        """Take one that is free, as other pools do, and count it. Raises Full."""
        try:
            found = super().take_any(holder)
        except Full:
            self.counts.failed["", DYNAMIC] += 1
            raise
        self.counts.taken["", DYNAMIC] += 1
        return found

    def claim(self, port: int, holder: str) -> None:
        """Take a port. Raises Refused."""
        if port not in self:
            self.counts.failed["", STATIC] += 1
            why = "provided port is not in the valid range. The range of valid ports is"
            raise Refused(f"{why} {self.first}-{self.last}")
        if not self.take(port, holder):
            self.counts.failed["", STATIC] += 1
            raise Refused(ALLOCATED_PORT)
        self.counts.taken["", STATIC] += 1


def band(size: int, *, step: int, most: int) -> int:
    """How many numbers are kept for those who name theirs: a share, but 16 at least, and none in the smallest pools."""
    return 0 if size <= 16 else min(max(16, size // step), most)
