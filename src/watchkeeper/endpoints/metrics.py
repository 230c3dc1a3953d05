"""Metrics as plain values: what is counted is kept where it happens, and turned into these when somebody asks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from watchkeeper.aio.histogram import Histogram

Labels = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Sample:
    """One number of a family. `suffix` is appended to the family's name (`_bucket`, `_sum`, `_count`)."""

    value: float
    labels: Labels = ()
    suffix: str = ""


@dataclass(frozen=True, slots=True)
class Family:
    """Numbers under one name. `kind` is counter, gauge or histogram."""

    name: str
    kind: str
    help: str
    samples: Sequence[Sample] = field(default=())


Collector = Callable[[], "Iterable[Family] | Awaitable[Iterable[Family]]"]
"""What a part of the server tells of itself when the metrics are asked for."""


def histogram_samples(histogram: Histogram, labels: Labels = ()) -> Iterator[Sample]:
    """Cumulative buckets, the sum and the count, as Prometheus wants them."""
    bounds = [*(f"{bound:g}" for bound in histogram.bounds), "+Inf"]
    for bound, count in zip(bounds, accumulate(histogram.counts), strict=True):
        yield Sample(count, (*labels, ("le", bound)), "_bucket")
    yield Sample(histogram.total, labels, "_sum")
    yield Sample(sum(histogram.counts), labels, "_count")


def gauge(name: str, text: str, values: Mapping[Labels, float]) -> Family:
    """A family of numbers that rise and fall."""
    return Family(name, "gauge", text, [Sample(value, labels) for labels, value in values.items()])


def counter(name: str, text: str, values: Mapping[Labels, float]) -> Family:
    """A family of numbers that only rise."""
    return Family(name, "counter", text, [Sample(value, labels) for labels, value in values.items()])
