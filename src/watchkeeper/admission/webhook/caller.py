"""Asks one webhook about one request, and counts and notes what came of it."""

from __future__ import annotations

import asyncio
import logging
import math
import time
import uuid
from collections.abc import Awaitable, Callable
from typing import TypeVar

from watchkeeper.admission.interface import Attributes
from watchkeeper.admission.matching import Match
from watchkeeper.admission.versioned import VersionedObjects
from watchkeeper.admission.webhook import notes
from watchkeeper.admission.webhook.answer import Answer, InvalidAnswer, read_answer
from watchkeeper.admission.webhook.errors import CallFailed, denied, failed_closed, no_dry_run
from watchkeeper.admission.webhook.hook import Hook
from watchkeeper.admission.webhook.metrics import WebhookMetrics
from watchkeeper.admission.webhook.request import review_request
from watchkeeper.meta import errors
from watchkeeper.meta.errors import ApiError
from watchkeeper.webhook import Clients, WebhookError

log = logging.getLogger(__name__)

T = TypeVar("T")

ADMIT = "admit"
VALIDATING = "validating"


class Denied(Exception):
    """The webhook said no; `error` tells the client."""

    def __init__(self, error: ApiError) -> None:
        super().__init__(error.message)
        self.error = error


def _seconds_left(attributes: Attributes) -> float:
    """How long the request may still take. Raises a 504 when that is no time at all."""
    if attributes.deadline is None:
        return math.inf
    left = attributes.deadline - asyncio.get_running_loop().time()
    if left <= 0:
        raise errors.timeout("request did not complete within requested timeout - context deadline exceeded")
    return left


class Caller:
    """Calls webhooks."""

    def __init__(self, clients: Clients, metrics: WebhookMetrics) -> None:
        self._clients = clients
        self._metrics = metrics

    async def ask(
        self, hook: Hook, match: Match, attributes: Attributes, objects: VersionedObjects, *, mutating: bool
    ) -> Answer:
        """What a webhook answers that allows the request.

        Warnings and annotations are passed on either way. Raises Denied, CallFailed, ApiError.
        """
        if attributes.dry_run and not hook.dry_runs:
            if hook.side_effects is None:
                raise CallFailed(hook.name, "Webhook SideEffects is nil", 400)
            raise no_dry_run(hook.name)
        if hook.review_version is None:
            why = "webhook does not accept known AdmissionReview versions (v1, v1beta1)"
            raise CallFailed(hook.name, f"could not create admission objects: {why}", 400)
        versioned = await objects.at(match.kind)
        uid = str(uuid.uuid4())
        body = review_request(attributes, match, versioned, uid, hook.review_version)
        answer = await self._post(hook, attributes, body, uid, mutating=mutating)
        for key, value in answer.annotations.items():
            notes.add(attributes, f"{hook.name}/{key}", value)
        for text in answer.warnings:
            attributes.warn(text)
        if not answer.allowed:
            raise Denied(denied(hook.name, answer.status))
        return answer

    async def _post(self, hook: Hook, attributes: Attributes, body: bytes, uid: str, *, mutating: bool) -> Answer:
        assert hook.review_version is not None
        try:
            client = self._clients.get(hook.client_config)
        except WebhookError as problem:
            raise CallFailed(hook.name, f"could not get REST client: {problem}", problem.code) from problem
        try:
            content = await client.post(body, timeout=min(hook.timeout, _seconds_left(attributes)))
            return read_answer(content, uid, hook.review_version, mutating=mutating)
        except WebhookError as problem:
            raise CallFailed(hook.name, f"failed to call webhook: {problem}", problem.code) from problem
        except InvalidAnswer as problem:
            raise CallFailed(hook.name, f"received invalid webhook response: {problem}", 503) from problem

    async def guard(
        self, hook: Hook, attributes: Attributes, step: str, ask: Awaitable[T], fail_open: Callable[[], None]
    ) -> T | None:
        """What `ask` gives; None for a failure that the webhook's policy ignores, `fail_open` having noted it.

        Counts what came of it. Raises ApiError.
        """
        metrics, begun = self._metrics, time.perf_counter()
        refused, kind, code = True, "", 200
        try:
            found = await ask
            refused = False
            return found
        except CallFailed as failure:
            kind, code, refused = "calling_webhook_error", failure.code, not hook.ignores_failures
            if refused:
                log.warning("%s; the request fails", failure)
                # Who waits for a request that has run out of time is told of that alone.
                _seconds_left(attributes)
                raise failed_closed(failure) from failure
            log.warning("%s; the request goes on", failure)
            metrics.failed_open(hook.name, step)
            fail_open()
            _seconds_left(attributes)
            return None
        except Denied as no:
            kind, code = "no_error", no.error.code
            raise no.error from None
        except ApiError:
            kind, code = "apiserver_internal_error", 0
            raise
        finally:
            if refused and kind:
                metrics.rejected(hook.name, step, attributes, kind, code)
            metrics.called(hook.name, step, attributes, time.perf_counter() - begun, code, refused=refused)
