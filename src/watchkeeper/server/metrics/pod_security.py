"""What PodSecurity has counted, under kube-apiserver's names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from watchkeeper.admission.podsecurity.metrics import Labels, PodSecurityMetrics
from watchkeeper.endpoints.metrics import Collector, Family, counter


def pod_security_collector(metrics: PodSecurityMetrics) -> Collector:
    """A collector for what is counted there."""

    def family(name: str, text: str, counts: Iterable[tuple[Labels, int]]) -> Family:
        return counter(f"pod_security_{name}_total", text, dict(counts))

    def collect() -> Iterator[Family]:
        yield family("evaluations", "Judgments about Pods and what they are made of.", metrics.evaluations())
        yield family("errors", "Labels of namespaces that could not be read.", metrics.errors())
        yield family("exemptions", "Requests that were not judged.", metrics.exemptions())

    return collect
