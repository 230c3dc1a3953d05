"""Which webhooks are asked about a request, and as what the request is shown to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from watchkeeper.admission.interface import Attributes
from watchkeeper.admission.matching import Equivalents, Match, NamespaceReader, Namespaces
from watchkeeper.admission.versioned import VersionedObjects
from watchkeeper.admission.webhook.hook import Hook
from watchkeeper.admission.webhook.metrics import WebhookMetrics
from watchkeeper.authz.interface import Authorizer
from watchkeeper.meta import errors
from watchkeeper.meta.gvk import GroupVersionKind

if TYPE_CHECKING:
    from watchkeeper.admission.expression import Questions


@dataclass(frozen=True, slots=True)
class Selector:
    """What deciding takes from the server."""

    equivalents: Equivalents
    namespaces: NamespaceReader
    authorizer: Authorizer
    metrics: WebhookMetrics

    def begin(self, attributes: Attributes) -> Selection:
        """Decide about one request."""
        return Selection(self, attributes)


class Selection:
    """Decides about one request, one webhook after another; what is found out for one is kept for the next."""

    __slots__ = ("_attributes", "_namespaces", "_questions", "_selector", "objects")

    def __init__(self, selector: Selector, attributes: Attributes) -> None:
        self._selector = selector
        self._attributes = attributes
        self._namespaces = Namespaces(selector.namespaces)
        self._questions: Questions | None = None
        self.objects = VersionedObjects(attributes)

    async def match(self, hook: Hook, step: str) -> Match | None:
        """As what the request is shown to a webhook; None when it is not asked. Raises ApiError.

        `step` is "admit" or "validating", for what is counted. Match conditions that cannot be evaluated refuse the
        request unless the webhook's failures are ignored.
        """
        found = await hook.criteria.matches(self._attributes, self._selector.equivalents, self._namespaces)
        if found is None or not hook.has_conditions:
            return found
        if await self._holds(hook, found.kind):
            return found
        # The reference counts validating webhooks as "validate" here.
        self._selector.metrics.excluded(hook.name, "admit" if step == "admit" else "validate", self._attributes)
        return None

    async def _holds(self, hook: Hook, kind: GroupVersionKind) -> bool:
        # Loaded with the first webhook that has conditions.
        from watchkeeper.admission.expression import ConditionError, Questions, request_value

        a = self._attributes
        versioned = await self.objects.at(kind)
        if self._questions is None:
            self._questions = Questions(self._selector.authorizer, a)
        values: dict[str, Any] = {
            "object": versioned.obj,
            "oldObject": versioned.old,
            "namespaceObject": None,
            "request": request_value(a, a.resource, kind),
            **self._questions.values(),
        }
        try:
            return await self._questions.evaluate(lambda: hook.conditions.match(values))
        except ConditionError as problem:
            raise errors.forbidden(a.resource.group_resource, a.name, str(problem)) from problem
