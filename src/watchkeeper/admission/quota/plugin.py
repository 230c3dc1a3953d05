"""The ResourceQuota plugin."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from watchkeeper.admission.interface import Attributes, BasePlugin, Operation
from watchkeeper.meta.gvk import GroupResource

if TYPE_CHECKING:
    from watchkeeper.admission.quota.evaluators import EvaluatorTable
    from watchkeeper.admission.quota.ledger import QuotaLedger
    from watchkeeper.admission.quota.limited import LimitedResource

Object = dict[str, Any]

_GROWING = frozenset(
    {
        *(GroupResource("", name) for name in ("pods", "services", "persistentvolumeclaims")),
        GroupResource("resource.k8s.io", "resourceclaims"),
    }
)
"""Resources whose updates may use more than before."""


class QuotaStore(Protocol):
    """The ResourceQuotas that are stored."""

    def read(self, namespace: str) -> Sequence[Object] | Awaitable[Sequence[Object]]:
        """Those of a namespace, as fresh as can be had at no great cost; an awaitable when memory cannot tell."""
        ...

    async def update_status(self, quota: Object) -> None:
        """Write the status of a quota. Raises a 409 when it has changed since it was read."""
        ...


class ResourceQuotas(BasePlugin):
    """Refuses what does not fit into the quotas of its namespace, and charges what does.

    Quotas are charged as their status tells; who fills that in and takes off what is deleted is a controller. What
    counts is loaded with the first quota that is met.
    """

    name = "ResourceQuota"
    operations = frozenset({Operation.CREATE, Operation.UPDATE})

    def __init__(self, store: QuotaStore, limited: Sequence[LimitedResource] = ()) -> None:
        """`limited`: of what nothing may be used where no quota says how much."""
        self._store = store
        self._limited = tuple(limited)
        self._evaluators: EvaluatorTable | None = None
        self._ledger: QuotaLedger | None = None

    def validate(self, attributes: Attributes) -> Awaitable[None] | None:
        """Charge the request."""
        resource = attributes.resource
        if not attributes.namespace or resource.resource == "namespaces":
            return None
        if attributes.operation is Operation.UPDATE and resource.group_resource not in _GROWING:
            return None
        found = self._store.read(attributes.namespace)
        return self._charge(attributes, found) if found or self._limited else None

    async def _charge(self, attributes: Attributes, found: Sequence[Object] | Awaitable[Sequence[Object]]) -> None:
        quotas = await found if isinstance(found, Awaitable) else found
        if not quotas and not self._limited:
            return
        evaluators, ledger = self._counting()
        evaluator = evaluators.find(attributes.resource.group_resource)
        if evaluator is not None and evaluator.handles(attributes):
            await ledger.charge(attributes, evaluator)

    def _counting(self) -> tuple[EvaluatorTable, QuotaLedger]:
        if self._evaluators is None or self._ledger is None:
            from watchkeeper.admission.quota.evaluators import EvaluatorTable
            from watchkeeper.admission.quota.ledger import QuotaLedger

            self._evaluators, self._ledger = EvaluatorTable(), QuotaLedger(self._store, self._limited)
        return self._evaluators, self._ledger

    async def close(self) -> None:
        """Charge no more."""
        if self._ledger is not None:
            await self._ledger.close()
