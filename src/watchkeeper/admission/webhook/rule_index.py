"""Which webhooks have rules about what kind of request, remembered, because most requests concern none of them."""

from __future__ import annotations

from collections.abc import Sequence

from watchkeeper.admission.interface import Attributes, Operation
from watchkeeper.admission.matching import Equivalent, Equivalents
from watchkeeper.admission.webhook.hook import Hook
from watchkeeper.admission.webhook.source import HookSource
from watchkeeper.meta.gvk import GroupVersionResource

Relevant = tuple[tuple[int, Hook], ...]
"""Webhooks with their places among all."""

_Key = tuple[Operation, GroupVersionResource, str, bool]


class RuleIndex:
    """Answers by operation, resource, and whether there is a namespace: rules of webhooks see nothing else.

    Selectors and conditions are not looked at.
    """

    def __init__(self, source: HookSource, equivalents: Equivalents) -> None:
        self._source = source
        self._equivalents = equivalents
        self._hooks: tuple[Hook, ...] = ()
        self._known: dict[_Key, tuple[Sequence[Equivalent], Relevant]] = {}

    def relevant(self, attributes: Attributes) -> Relevant:
        """The webhooks whose rules are about a request, in the order in which they are asked."""
        hooks = self._source.hooks
        if hooks is not self._hooks:
            self._hooks = hooks
            self._known.clear()
        resource, subresource = attributes.resource, attributes.subresource
        # What is equivalent changes with what is served; as long as it is the same, so is the answer.
        equivalent = self._equivalents.of(resource, subresource)
        key = (attributes.operation, resource, subresource, bool(attributes.namespace))
        known = self._known.get(key)
        if known is None or known[0] is not equivalent:
            found = tuple(
                (index, hook)
                for index, hook in enumerate(hooks)
                if hook.criteria.match_rules(attributes, self._equivalents) is not None
            )
            known = self._known[key] = (equivalent, found)
        return known[1]
