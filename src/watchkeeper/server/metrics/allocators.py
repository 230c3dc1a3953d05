"""What Services have been allocated, under kube-apiserver's names."""

from __future__ import annotations

from collections.abc import Iterator

from watchkeeper.endpoints.metrics import Collector, Family, Sample, histogram_samples
from watchkeeper.registry.allocators import ServiceAllocator

_ADDRESSES = "kube_apiserver_clusterip_allocator_"
_PORTS = "kube_apiserver_nodeport_allocator_"


def allocator_collector(allocator: ServiceAllocator) -> Collector:
    """A collector for cluster addresses and node ports."""

    def collect() -> Iterator[Family]:
        yield from _addresses(allocator)
        yield from _ports(allocator)

    return collect


def _addresses(allocator: ServiceAllocator) -> Iterator[Family]:
    counts = allocator.address_counts
    used, free = [], []
    for network, (taken, size) in allocator.usage().items():
        labels = (("cidr", network),)
        used.append(Sample(taken, labels))
        free.append(Sample(max(size - taken, 0), labels))
    yield Family(f"{_ADDRESSES}allocated_ips", "gauge", "Addresses of a network that are taken.", used)
    yield Family(f"{_ADDRESSES}available_ips", "gauge", "Addresses of a network that are free.", free)
    for name, text, found in (
        ("allocation_total", "Addresses that Services were given.", counts.taken),
        ("allocation_errors_total", "Addresses that Services could not be given.", counts.failed),
    ):
        samples = [Sample(count, (("cidr", cidr), ("scope", scope))) for (cidr, scope), count in found.items()]
        yield Family(f"{_ADDRESSES}{name}", "counter", text, samples)
    durations = [
        sample for cidr, each in counts.latencies.items() for sample in histogram_samples(each, (("cidr", cidr),))
    ]
    yield Family(
        f"{_ADDRESSES}allocation_duration_seconds", "histogram", "How long an address took, in seconds.", durations
    )


def _ports(allocator: ServiceAllocator) -> Iterator[Family]:
    ports = allocator.ports
    yield Family(f"{_PORTS}allocated_ports", "gauge", "Node ports that are taken.", [Sample(ports.taken)])
    yield Family(f"{_PORTS}available_ports", "gauge", "Node ports that are free.", [Sample(ports.size - ports.taken)])
    for name, text, found in (
        ("allocation_total", "Node ports that Services were given.", ports.counts.taken),
        ("allocation_errors_total", "Node ports that Services could not be given.", ports.counts.failed),
    ):
        samples = [Sample(count, (("scope", scope),)) for (_, scope), count in found.items()]
        yield Family(f"{_PORTS}{name}", "counter", text, samples)
