"""What resources have asked of etcd, under kube-apiserver's names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from watchkeeper.endpoints.metrics import Collector, Family, Sample, histogram_samples
from watchkeeper.kv.measured import Measurements
from watchkeeper.meta.gvk import GroupResource


def etcd_collector(measured: Callable[[], Mapping[GroupResource, Measurements]]) -> Collector:
    """A collector for what was measured; nothing where no resource lies in an etcd."""

    def collect() -> Iterator[Family]:
        durations: list[Sample] = []
        totals, errors = [], []
        for resource, operations in measured().items():
            for operation, requests in operations.items():
                labels = (("operation", operation), ("group", resource.group), ("resource", resource.resource))
                durations += histogram_samples(requests.latency, labels)
                totals.append(Sample(sum(requests.latency.counts), labels))
                if requests.errors:
                    errors.append(Sample(requests.errors, labels))
        yield Family(
            "etcd_request_duration_seconds", "histogram", "How long etcd took to answer, in seconds.", durations
        )
        yield Family("etcd_requests_total", "counter", "Requests to etcd by operation and resource.", totals)
        yield Family("etcd_request_errors_total", "counter", "Those of them that failed.", errors)

    return collect
