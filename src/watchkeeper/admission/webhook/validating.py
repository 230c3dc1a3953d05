"""The plugin that asks validating webhooks, all at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

from watchkeeper.admission.interface import Attributes, BasePlugin
from watchkeeper.admission.matching import Match, is_exempt
from watchkeeper.admission.webhook import notes
from watchkeeper.admission.webhook.caller import VALIDATING, Caller
from watchkeeper.admission.webhook.hook import Hook
from watchkeeper.admission.webhook.rule_index import Relevant, RuleIndex
from watchkeeper.admission.webhook.selection import Selection, Selector
from watchkeeper.admission.webhook.source import HookSource
from watchkeeper.meta.errors import ApiError


class ValidatingWebhooks(BasePlugin):
    """Refuses what any of the webhooks refuses."""

    name = "ValidatingAdmissionWebhook"

    def __init__(self, source: HookSource, selector: Selector, caller: Caller) -> None:
        self._source = source
        self._index = RuleIndex(source, selector.equivalents)
        self._selector = selector
        self._caller = caller

    def validate(self, attributes: Attributes) -> Awaitable[None] | None:
        """Ask whom the request concerns."""
        if not self._source.hooks:
            return None
        relevant = self._index.relevant(attributes)
        if not relevant or is_exempt(attributes):
            return None
        return self._ask(attributes, self._selector.begin(attributes), relevant)

    async def _ask(self, attributes: Attributes, selection: Selection, relevant: Relevant) -> None:
        asked: list[tuple[Hook, Match]] = []
        for _, hook in relevant:
            match = await selection.match(hook, VALIDATING)
            if match is not None:
                await selection.objects.at(match.kind)
                asked.append((hook, match))
        refusals: list[ApiError] = []

        async def ask(index: int, hook: Hook, match: Match) -> None:
            place = notes.place(index)
            asking = self._caller.ask(hook, match, attributes, selection.objects, mutating=False)
            try:
                await self._caller.guard(
                    hook,
                    attributes,
                    VALIDATING,
                    asking,
                    lambda: notes.add_failed_open(attributes, hook, place, mutating=False),
                )
            except ApiError as error:
                refusals.append(error)

        if len(asked) == 1:
            await ask(0, *asked[0])
        else:
            async with asyncio.TaskGroup() as group:
                for index, (hook, match) in enumerate(asked):
                    group.create_task(ask(index, hook, match), name=f"ask {hook.uid}")
        if refusals:
            # All have been asked; whoever refused first is heard.
            raise refusals[0]
