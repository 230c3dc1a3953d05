"""Admission webhooks in a server: the plugins, what feeds them, and what is counted of them.

What calls webhooks is loaded when there is one to call.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from watchkeeper.admission.interface import Attributes, BasePlugin, Plugin
from watchkeeper.admission.matching import Equivalents, NamespaceReader
from watchkeeper.admission.webhook.metrics import BUCKETS, WebhookMetrics
from watchkeeper.authz.interface import Authorizer
from watchkeeper.endpoints.metrics import Family, Sample
from watchkeeper.meta.gvk import GroupResource

if TYPE_CHECKING:
    from watchkeeper.admission.webhook.source import HookSource
    from watchkeeper.webhook import Clients, ServiceResolver
    from watchkeeper.webhook.credentials import WebhookCredentials

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
NO_CREDENTIALS: Mapping[str, None] = {}


class DeferredPlugin(BasePlugin):
    """Lets everything pass until there is a plugin to ask."""

    deep = False  # as both plugins that there can be

    def __init__(self, name: str) -> None:
        self.name = name
        self.plugin: Plugin | None = None

    def admit(self, attributes: Attributes) -> Awaitable[None] | None:
        """Ask the plugin."""
        return None if self.plugin is None else self.plugin.admit(attributes)

    def validate(self, attributes: Attributes) -> Awaitable[None] | None:
        """Ask the plugin."""
        return None if self.plugin is None else self.plugin.validate(attributes)


class AdmissionWebhooks:
    """The webhooks of a server. A `policy_feed.Followed`."""

    def __init__(
        self,
        *,
        equivalents: Equivalents,
        authorizer: Authorizer,
        read_namespace: NamespaceReader,
        resolver: Callable[[], ServiceResolver],
        credentials: Mapping[str, WebhookCredentials | None] = NO_CREDENTIALS,
    ) -> None:
        """`resolver` finds out where Services are; `credentials`: what the webhooks of a kind are shown."""
        self.metrics = WebhookMetrics()
        self.mutating = DeferredPlugin("MutatingAdmissionWebhook")
        self.validating = DeferredPlugin("ValidatingAdmissionWebhook")
        self._equivalents = equivalents
        self._authorizer = authorizer
        self._read_namespace = read_namespace
        self._resolver = resolver
        self._sources: dict[str, HookSource] = {}
        self._credentials = credentials
        self._clients: Clients | None = None
        self._own: list[Clients] = []
        """Clients with credentials."""

    def clients(self) -> Clients:
        """Those that call webhooks, not only of admission."""
        if self._clients is None:
            from watchkeeper.webhook import Clients

            self._clients = Clients(self._resolver())
        return self._clients

    def close(self) -> None:
        """Close connections that are idle."""
        for clients in (self._clients, *self._own):
            if clients is not None:
                clients.close()

    def _clients_for(self, kind: str) -> Clients:
        credentials = self._credentials.get(kind)
        if credentials is None:
            return self.clients()
        from watchkeeper.webhook import Clients

        clients = Clients(self._resolver(), credentials)
        self._own.append(clients)
        return clients

    def _source(self, kind: str) -> HookSource:
        """What knows the configurations of a kind; made, with the plugin that asks it, for the first of them."""
        found = self._sources.get(kind)
        if found is None:
            from watchkeeper.admission.webhook.caller import Caller
            from watchkeeper.admission.webhook.mutating import MutatingWebhooks
            from watchkeeper.admission.webhook.selection import Selector
            from watchkeeper.admission.webhook.source import HookSource
            from watchkeeper.admission.webhook.validating import ValidatingWebhooks

            found = self._sources[kind] = HookSource()
            selector = Selector(self._equivalents, self._read_namespace, self._authorizer, self.metrics)
            caller = Caller(self._clients_for(kind), self.metrics)
            if kind == MUTATING:
                self.mutating.plugin = MutatingWebhooks(found, selector, caller)
            else:
                self.validating.plugin = ValidatingWebhooks(found, selector, caller)
        return found

    # -- Followed -------------------------------------------------------------------------------------------------

    def put(self, obj: Object) -> None:
        """Take in a configuration."""
        self._source(obj["kind"]).put(obj)

    def remove(self, obj: Object) -> None:
        """Forget a configuration."""
        self._source(obj["kind"]).remove(obj)

    def replace(self, kind: str, objects: list[Any]) -> None:
        """Take in all configurations of a kind, forgetting others."""
        if objects or kind in self._sources:
            self._source(kind).replace(objects)

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
