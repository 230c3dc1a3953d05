"""How often a number fell between which bounds."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence


class Histogram:
    """Plain counts. Hot paths may do what `observe` does themselves."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = bounds
        """Upper bounds, inclusive, rising; a last bucket without a bound follows."""
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def observe(self, value: float) -> None:
        """Count one number."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value
