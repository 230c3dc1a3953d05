"""Counts what was allocated for Services, and what could not be."""

from __future__ import annotations

from collections import Counter

from watchkeeper.aio.histogram import Histogram

DYNAMIC, STATIC = "dynamic", "static"
"""Whether any number would do, or somebody has named one."""
_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class AllocationCounts:
    """Plain counters, by what is allocated from and the scope."""

    def __init__(self) -> None:
        self.taken: Counter[tuple[str, str]] = Counter()
        self.failed: Counter[tuple[str, str]] = Counter()
        self.latencies: dict[str, Histogram] = {}
        """How long it took to find and record what was taken, in seconds."""

    def __repr__(self) -> str:
        return f"<AllocationCounts: {self.taken.total()} taken, {self.failed.total()} failed>"

    def took(self, source: str, scope: str, seconds: float) -> None:
        """One more was taken, for good."""
        self.taken[source, scope] += 1
        self.lasted(source, seconds)

    def lasted(self, source: str, seconds: float) -> None:
        """It took so long until one was taken for good."""
        latency = self.latencies.get(source)
        if latency is None:
            latency = self.latencies[source] = Histogram(_BUCKETS)
        latency.observe(seconds)

    def lost(self, source: str, scope: str) -> None:
        """What was taken turned out to be somebody else's."""
        self.taken[source, scope] -= 1
        self.failed[source, scope] += 1
