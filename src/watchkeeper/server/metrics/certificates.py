"""Which durations of certificates were asked for and kept to, under kube-apiserver's names."""

from __future__ import annotations

from collections.abc import Iterator

from watchkeeper.endpoints.metrics import Collector, Family, Sample
from watchkeeper.registry.issued_certificates import IssuedCertificates


def certificates_collector(issued: IssuedCertificates) -> Collector:
    """A collector for what was issued."""

    def collect() -> Iterator[Family]:
        for name, text, counts in (
            ("requested", "Issued certificates whose requesters asked for a duration.", issued.requested),
            ("honored", "Those of them that last about so long.", issued.honored),
        ):
            samples = [Sample(count, (("signerName", signer),)) for signer, count in counts.items()]
            yield Family(f"apiserver_certificates_registry_csr_{name}_duration_total", "counter", text, samples)

    return collect
