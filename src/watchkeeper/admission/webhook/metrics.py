"""What is counted of calls to webhooks; the server tells it under kube-apiserver's names."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter

from watchkeeper.admission.interface import Attributes

BUCKETS = (0.005, 0.025, 0.1, 0.5, 1.0, 2.5, 10.0, 25.0)
"""Upper bounds of the classes of durations, in seconds."""
_MAX_CODE = 600
"""Greater codes are counted as this one, which bounds the number of series."""


class Durations:
    """How many calls took how long."""

    __slots__ = ("counts", "total")

    def __init__(self) -> None:
        self.counts = [0] * (len(BUCKETS) + 1)
        self.total = 0.0

    def add(self, seconds: float) -> None:
        """Count one."""
        self.counts[bisect_left(BUCKETS, seconds)] += 1
        self.total += seconds


class WebhookMetrics:
    """Plain counters. `step` is "admit" or "validating", as the reference calls the types of webhooks."""

    def __init__(self) -> None:
        self.durations: dict[tuple[str, str, str, bool], Durations] = {}
        """By name, step, operation, and whether the request was refused."""
        self.requests: Counter[tuple[str, str, str, int, bool]] = Counter()
        """By name, step, operation, code, and whether the request was refused."""
        self.rejections: Counter[tuple[str, str, str, str, int]] = Counter()
        """By name, step, operation, type of the error, and code."""
        self.open_failures: Counter[tuple[str, str]] = Counter()
        """By name and step."""
        self.exclusions: Counter[tuple[str, str, str]] = Counter()
        """Requests that match conditions kept from a webhook, by name, type and operation."""

    def called(self, name: str, step: str, attributes: Attributes, seconds: float, code: int, *, refused: bool) -> None:
        """A webhook was asked, successfully or not."""
        operation = str(attributes.operation)
        self.requests[name, step, operation, min(code, _MAX_CODE), refused] += 1
        key = (name, step, operation, refused)
        found = self.durations.get(key)
        if found is None:
            found = self.durations[key] = Durations()
        found.add(seconds)

    def rejected(self, name: str, step: str, attributes: Attributes, error_type: str, code: int) -> None:
        """A webhook, or its failure, refused a request."""
        self.rejections[name, step, str(attributes.operation), error_type, min(code, _MAX_CODE)] += 1

    def failed_open(self, name: str, step: str) -> None:
        """A failure of a webhook was ignored."""
        self.open_failures[name, step] += 1

    def excluded(self, name: str, step: str, attributes: Attributes) -> None:
        """Match conditions kept a request from a webhook."""
        self.exclusions[name, step, str(attributes.operation)] += 1
