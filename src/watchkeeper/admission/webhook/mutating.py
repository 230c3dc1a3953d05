"""The plugin that asks mutating webhooks, one after another, and changes objects as they say."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass, field
from typing import Any

import orjson

from watchkeeper.admission.interface import Attributes, BasePlugin, Reinvocation
from watchkeeper.admission.matching import Match, is_exempt
from watchkeeper.admission.versioned import VersionedObjects
from watchkeeper.admission.webhook import notes
from watchkeeper.admission.webhook.answer import JSON_PATCH, Answer
from watchkeeper.admission.webhook.caller import ADMIT, Caller
from watchkeeper.admission.webhook.errors import CallFailed
from watchkeeper.admission.webhook.hook import Hook
from watchkeeper.admission.webhook.rule_index import Relevant, RuleIndex
from watchkeeper.admission.webhook.selection import Selection, Selector
from watchkeeper.admission.webhook.source import HookSource
from watchkeeper.meta import errors
from watchkeeper.meta.field import go_quote
from watchkeeper.runtime.json_text import with_digits
from watchkeeper.runtime.patch import JsonPatch, PatchError
from watchkeeper.runtime.scheme import DecodeError

Object = dict[str, Any]


@dataclass(slots=True)
class _Memory:
    """What is remembered from the first pass of admission for the second."""

    invoked: set[str] = field(default_factory=set)
    """The webhooks asked so far that are to be asked again if the object changes after them."""
    again: set[str] = field(default_factory=set)
    """Those that are asked in the second pass."""
    output: bytes | None = None
    """The object as the webhooks left it."""

    def changed(self) -> None:
        """The object has changed after all that were asked so far."""
        self.again |= self.invoked
        self.invoked = set()


class MutatingWebhooks(BasePlugin):
    """Lets webhooks change objects before they are validated and stored."""

    name = "MutatingAdmissionWebhook"
    deep = False

    def __init__(self, source: HookSource, selector: Selector, caller: Caller) -> None:
        self._source = source
        self._index = RuleIndex(source, selector.equivalents)
        self._selector = selector
        self._caller = caller

    def admit(self, attributes: Attributes) -> Awaitable[None] | None:
        """Ask whom the request concerns."""
        if not self._source.hooks:
            return None
        relevant = self._index.relevant(attributes)
        if not relevant or is_exempt(attributes):
            return None
        return self._ask_all(attributes, self._selector.begin(attributes), relevant)

    async def _ask_all(self, attributes: Attributes, selection: Selection, relevant: Relevant) -> None:
        passes = attributes.reinvocation
        if passes is None:
            passes = attributes.reinvocation = Reinvocation()
        memory: _Memory = passes.values.setdefault(self.name, _Memory())
        if passes.running and memory.invoked and memory.output != _fingerprint(attributes.obj):
            memory.changed()
        for index, hook in relevant:
            match = await selection.match(hook, ADMIT)
            if match is None or (passes.running and hook.uid not in memory.again):
                # The second pass asks nobody who was not asked before.
                continue
            place = notes.place(index, second=passes.running)
            if await self._ask(hook, match, attributes, selection.objects, place):
                memory.changed()
                passes.requested = True
            if hook.reinvocable:
                memory.invoked.add(hook.uid)
        if memory.invoked:
            memory.output = _fingerprint(attributes.obj)

    async def _ask(
        self, hook: Hook, match: Match, attributes: Attributes, objects: VersionedObjects, place: str
    ) -> bool:
        """Whether the object is another one afterwards."""
        changed = False

        async def ask() -> bool:
            answer = await self._caller.ask(hook, match, attributes, objects, mutating=True)
            return await self._change(hook, match, attributes, objects, answer, place)

        def fail_open() -> None:
            notes.add_failed_open(attributes, hook, place, mutating=True)

        try:
            changed = bool(await self._caller.guard(hook, attributes, ADMIT, ask(), fail_open))
        finally:
            notes.add_mutation(attributes, hook, place, mutated=changed)
        return changed

    async def _change(
        self,
        hook: Hook,
        match: Match,
        attributes: Attributes,
        objects: VersionedObjects,
        answer: Answer,
        place: str,
    ) -> bool:
        """Apply the patch of an answer. Raises CallFailed, ApiError."""
        if not answer.patch:
            return False
        try:
            patch = JsonPatch.of_webhook(answer.patch)
        except PatchError as problem:
            why = f"received undecodable patch in webhook response: {problem}"
            raise CallFailed(hook.name, why, 503) from problem
        if not patch.operations:
            return False
        before = (await objects.at(match.kind)).obj
        if before is None:
            what = f"admission webhook {go_quote(hook.name)} attempted to modify the object"
            raise errors.internal_error(f"{what}, which is not supported for this operation")
        if answer.patch_type != JSON_PATCH:
            raise CallFailed(hook.name, f"unsupported patch type {go_quote(answer.patch_type)}", 400)
        try:
            patched = patch.result(orjson.loads(with_digits(orjson.dumps(before))))
            # What was not changed is still shared with the object before, and decoding changes in place.
            after = orjson.loads(orjson.dumps(patched))
            decoded = _decode(attributes, after, match)
        except (PatchError, DecodeError) as problem:
            raise errors.internal_error(str(problem)) from problem
        changed: bool = decoded != before
        notes.add_patch(attributes, hook, place, patch.operations)
        await objects.replace(decoded, match.kind)
        return changed


def _decode(attributes: Attributes, obj: Any, match: Match) -> Object:
    if attributes.versions is None:
        if not isinstance(obj, dict):
            raise DecodeError("the patched object is no object")
        return obj
    return attributes.versions.decode(obj, match.kind)


def _fingerprint(obj: Object | None) -> bytes:
    return orjson.dumps(obj, option=orjson.OPT_SORT_KEYS)
