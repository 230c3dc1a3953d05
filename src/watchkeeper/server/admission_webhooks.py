"""Admission webhooks in a server: the plugins, what feeds them, and what is counted of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from itertools import accumulate
from typing import Any

from watchkeeper.admission.matching import Equivalents, NamespaceReader
from watchkeeper.admission.webhook import (
    Caller,
    HookSource,
    MutatingWebhooks,
    Selector,
    ValidatingWebhooks,
    WebhookMetrics,
)
from watchkeeper.admission.webhook.metrics import BUCKETS
from watchkeeper.authz.interface import Authorizer
from watchkeeper.endpoints.metrics import Family, Sample
from watchkeeper.meta.gvk import GroupResource
from watchkeeper.webhook import Clients, ServiceResolver

Object = dict[str, Any]

GROUP = "admissionregistration.k8s.io"
MUTATING = "MutatingWebhookConfiguration"
VALIDATING = "ValidatingWebhookConfiguration"
RESOURCES = {
    MUTATING: GroupResource(GROUP, "mutatingwebhookconfigurations"),
    VALIDATING: GroupResource(GROUP, "validatingwebhookconfigurations"),
}
"""What has to be followed, by kind."""

_PREFIX = "apiserver_admission_"


class AdmissionWebhooks:
    """The webhooks of a server. A `policy_feed.Followed`."""

    def __init__(
        self,
        *,
        equivalents: Equivalents,
        authorizer: Authorizer,
        read_namespace: NamespaceReader,
        find_service: Callable[[str, str], Awaitable[Object | None]],
    ) -> None:
        self.metrics = WebhookMetrics()
        self.clients = Clients(ServiceResolver(find_service))
        """Those that call webhooks, not only of admission."""
        self._sources = {MUTATING: HookSource(), VALIDATING: HookSource()}
        selector = Selector(equivalents, read_namespace, authorizer, self.metrics)
        caller = Caller(self.clients, self.metrics)
        self.mutating = MutatingWebhooks(self._sources[MUTATING], selector, caller)
        self.validating = ValidatingWebhooks(self._sources[VALIDATING], selector, caller)

    def close(self) -> None:
        """Close connections that are idle."""
        self.clients.close()

    # -- Followed -------------------------------------------------------------------------------------------------

    def put(self, obj: Object) -> None:
        """Take in a configuration."""
        self._sources[obj["kind"]].put(obj)

    def remove(self, obj: Object) -> None:
        """Forget a configuration."""
        self._sources[obj["kind"]].remove(obj)

    def replace(self, kind: str, objects: list[Any]) -> None:
        """Take in all configurations of a kind, forgetting others."""
        self._sources[kind].replace(objects)

    # -- metrics --------------------------------------------------------------------------------------------------

    def collect(self) -> Iterator[Family]:
        """What was counted so far, under the reference's names."""
        metrics = self.metrics
        durations = list[Sample]()
        for (name, step, operation, refused), found in metrics.durations.items():
            labels = (("name", name), ("type", step), ("operation", operation), ("rejected", _flag(refused)))
            bounds = [*(f"{bound:g}" for bound in BUCKETS), "+Inf"]
            counts = zip(bounds, accumulate(found.counts), strict=True)
            durations += [Sample(count, (*labels, ("le", bound)), "_bucket") for bound, count in counts]
            durations += [Sample(found.total, labels, "_sum"), Sample(sum(found.counts), labels, "_count")]
        yield Family(
            f"{_PREFIX}webhook_admission_duration_seconds",
            "histogram",
            "How long webhooks took, in seconds.",
            durations,
        )
        yield _counter(
            "webhook_request_total",
            "Calls to webhooks, by the code that came of them.",
            ("name", "type", "operation", "code", "rejected"),
            {(n, s, o, str(c), _flag(r)): count for (n, s, o, c, r), count in metrics.requests.items()},
        )
        yield _counter(
            "webhook_rejection_count",
            "Requests that webhooks, or their failures, refused.",
            ("name", "type", "operation", "error_type", "rejection_code"),
            {(n, s, o, e, str(c)): count for (n, s, o, e, c), count in metrics.rejections.items()},
        )
        yield _counter(
            "webhook_fail_open_count",
            "Failures of webhooks that were ignored.",
            ("name", "type"),
            dict(metrics.open_failures),
        )
        yield _counter(
            "match_condition_exclusions_total",
            "Requests that match conditions kept from a webhook.",
            ("name", "kind", "type", "operation"),
            {(n, "webhook", s, o): count for (n, s, o), count in metrics.exclusions.items()},
        )


def _counter(name: str, text: str, names: tuple[str, ...], values: dict[Any, int]) -> Family:
    samples = [Sample(count, tuple(zip(names, key, strict=True))) for key, count in values.items()]
    return Family(_PREFIX + name, "counter", text, samples)


def _flag(value: bool) -> str:
    return "true" if value else "false"
