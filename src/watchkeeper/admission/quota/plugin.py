"""The ResourceQuota plugin."""

from __future__ import annotations

from collections.abc import Awaitable

from watchkeeper.admission.interface import Attributes, BasePlugin, Operation
from watchkeeper.admission.quota.evaluators import EvaluatorTable
from watchkeeper.admission.quota.ledger import QuotaLedger, QuotaStore


class ResourceQuotas(BasePlugin):
    """Refuses what does not fit into the quotas of its namespace, and charges what does.

    Quotas are charged as their status tells; who fills that in and takes off what is deleted is a controller.
    """

    name = "ResourceQuota"
    operations = frozenset({Operation.CREATE, Operation.UPDATE})

    def __init__(self, store: QuotaStore) -> None:
        self.evaluators = EvaluatorTable()
        self._ledger = QuotaLedger(store)

    def validate(self, attributes: Attributes) -> Awaitable[None] | None:
        """Charge the request."""
        if not attributes.namespace or attributes.resource.resource == "namespaces":
            return None
        evaluator = self.evaluators.find(attributes.resource.group_resource)
        if evaluator is None or not evaluator.handles(attributes):
            return None
        return self._ledger.charge(attributes, evaluator)

    async def close(self) -> None:
        """Charge no more."""
        await self._ledger.close()
