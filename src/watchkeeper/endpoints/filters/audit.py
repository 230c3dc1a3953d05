"""The filters that tell the audit log of requests."""

from __future__ import annotations

import base64
import binascii
import uuid
from collections.abc import Awaitable, Iterator
from typing import Any

from watchkeeper.audit.event import Entry
from watchkeeper.audit.policy import Level, Policy, Stage
from watchkeeper.audit.sinks import Sink
from watchkeeper.endpoints.filters.attributes import attributes_of
from watchkeeper.endpoints.metrics import Family, Sample
from watchkeeper.endpoints.response import Response, internal_error
from watchkeeper.request.request import Receive, Request
from watchkeeper.request.user import User

_WRITES = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_UNAUTHORIZED = 401
_NOBODY = User("")


class Auditing:
    """Follows the requests that a policy wants told of, from when it is known who asks."""

    def __init__(self, policy: Policy, sink: Sink) -> None:
        self._policy = policy
        self.sink = sink
        self.events = 0
        self.levels = dict.fromkeys(Level, 0)
        """How many requests were told of how fully."""

    def watch_failures(self, request: Request) -> None:
        """Goes before authentication: who fails it is told of too, but only how."""
        request.observer = _Attempt(self, request, self.sink)

    def __call__(self, request: Request) -> Awaitable[Response | None] | None:
        """Goes after authentication and before impersonation."""
        decision = self._policy.decide(attributes_of(request))
        self.levels[decision.level] += 1
        request.audit_id = request.header(b"audit-id") or str(uuid.uuid4())
        if decision.level is Level.NONE:
            request.observer = _IGNORED
            return None
        entry = Entry(request, decision, request.audit_id)
        observer = _Observer(entry, self)
        observer.tell(Stage.REQUEST_RECEIVED)
        request.observer = observer
        if request.method in _WRITES:
            request.receive = _listening(request.receive, entry)
        if self.sink.strict and Stage.REQUEST_RECEIVED not in decision.omit_stages:
            return self._kept(request, observer, self.sink.written())
        request.on_done(observer.finished)
        return None

    async def _kept(self, request: Request, observer: _Observer, written: Awaitable[bool]) -> Response | None:
        if await written:
            request.on_done(observer.finished)
            return None
        request.observer = _IGNORED
        return internal_error(request, "failed to store audit event")

    def refused(self, request: Request, status: int) -> None:
        """Tell of a request of which nobody knows whose it is."""
        request.user = _NOBODY
        decision = self._policy.decide(attributes_of(request))
        self.levels[decision.level] += 1
        if decision.level is Level.NONE:
            return
        entry = Entry(request, decision, request.audit_id or str(uuid.uuid4()))
        entry.attempted(_attempts(request))
        entry.responded(status)
        _Observer(entry, self).tell(Stage.RESPONSE_STARTED)

    def collect(self) -> Iterator[Family]:
        """What was told of, for the metrics."""
        yield Family("apiserver_audit_event_total", "counter", "Audit events.", (Sample(self.events),))
        yield Family(
            "apiserver_audit_error_total",
            "counter",
            "Audit events that could not be written.",
            [Sample(count, (("plugin", plugin),)) for plugin, count in self.sink.errors().items()],
        )
        yield Family(
            "apiserver_audit_level_total",
            "counter",
            "Requests by the level at which they are told of.",
            [Sample(count, (("level", level.text),)) for level, count in self.levels.items()],
        )


class _Attempt:
    """Follows a request until it is known whose it is."""

    reads = False

    def __init__(self, auditing: Auditing, request: Request, sink: Sink) -> None:
        self._auditing = auditing
        self._request = request
        self._sink = sink
        self.holds = sink.blocking

    def decoded(self, obj: dict[str, Any]) -> None:
        """Nothing is told."""

    def responding(self, status: int, body: bytes, *, lasting: bool) -> None:
        """Nobody will ever know if the request is refused for that."""
        if status == _UNAUTHORIZED:
            self._auditing.refused(self._request, status)

    def panicked(self) -> None:
        """Nothing is told."""

    def settled(self) -> Awaitable[object]:
        """Until what was told is written."""
        return self._sink.written()


class _Ignored:
    """Sees a request go by."""

    holds = False
    reads = False

    def decoded(self, obj: dict[str, Any]) -> None:
        """Nothing is told."""

    def responding(self, status: int, body: bytes, *, lasting: bool) -> None:
        """Nothing is told."""

    def panicked(self) -> None:
        """Nothing is told."""

    async def settled(self) -> None:
        """Nothing is told."""


_IGNORED = _Ignored()


class _Observer:
    """Tells of one request, stage by stage."""

    def __init__(self, entry: Entry, auditing: Auditing) -> None:
        self._entry = entry
        self._auditing = auditing
        self._panicked = False
        self._complete = False
        self.holds = auditing.sink.blocking
        self.reads = entry.decision.level >= Level.REQUEST_RESPONSE

    def tell(self, stage: Stage) -> None:
        """Write the event of a stage, unless the policy leaves it out."""
        if stage not in self._entry.decision.omit_stages:
            self._auditing.events += 1
            self._auditing.sink.write(self._entry.line(stage))

    def decoded(self, obj: dict[str, Any]) -> None:
        """Note the object as the request means it, which need not be all that was sent."""
        if self._entry.decision.level >= Level.REQUEST:
            self._entry.decoded(obj)

    def responding(self, status: int, body: bytes, *, lasting: bool) -> None:
        """The answer is about to go out; `lasting`: it is a stream without an end of its own."""
        if not self._panicked:
            self._entry.responded(status, body)
        if lasting:
            self.tell(Stage.RESPONSE_STARTED)
        elif self.holds and body:
            self._close()

    def panicked(self) -> None:
        """The server has failed; another answer than the one that was wanted goes out."""
        self._panicked = True
        self._entry.panicked()

    def finished(self, status: int) -> None:
        """The answer has been sent, or failed to be."""
        if self._complete:
            return
        if not self._panicked:
            self._entry.responded(status)
        self._close()

    def settled(self) -> Awaitable[object]:
        """Until what was told is written."""
        return self._auditing.sink.written()

    def _close(self) -> None:
        self._complete = True
        self.tell(Stage.PANIC if self._panicked else Stage.RESPONSE_COMPLETE)


def _listening(receive: Receive, entry: Entry) -> Receive:
    """The same, noting the body as it is read."""
    chunks: list[bytes] = []

    async def heard() -> object:
        message = await receive()
        if message["type"] == "http.request":
            chunks.append(message.get("body", b""))
            if not message.get("more_body", False):
                entry.requested(b"".join(chunks))
                chunks.clear()
        return message

    return heard


def _attempts(request: Request) -> str:
    """In which ways somebody tried to say who they are."""
    authorization = request.header(b"authorization").strip()
    scheme, _, credentials = authorization.partition(" ")
    found = []
    if scheme.lower() == "basic" and _is_basic(credentials):
        found.append("basic")
    if scheme.lower() == "bearer" and authorization != scheme:
        found.append("bearer")
    if request.param("access_token").strip():
        found.append("access_token")
    exchange = request.scope.get("exchange")
    if exchange is not None and exchange.peer_certificate() is not None:
        found.append("x509")
    if found:
        return f"Authentication failed, attempted: {', '.join(found)}"
    return "Authentication failed, no credentials provided"


def _is_basic(credentials: str) -> bool:
    try:
        return b":" in base64.b64decode(credentials, validate=True)
    except binascii.Error:
        return False
