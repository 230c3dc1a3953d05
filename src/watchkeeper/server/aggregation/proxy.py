"""Passes a request on to the server behind an APIService, and its answer back."""

from __future__ import annotations

import asyncio
import logging
import uuid
from dataclasses import dataclass

from watchkeeper.aio.http_client import ResolveError
from watchkeeper.aio.tasks import TaskOwner
from watchkeeper.endpoints.filters.request_deadline import allowed_seconds
from watchkeeper.endpoints.response import Response, text_response
from watchkeeper.request.request import Request
from watchkeeper.server.aggregation.forwarding import ServerTerms, ServerUpgradeTerms
from watchkeeper.server.aggregation.remote import Remote
from watchkeeper.server.passing.headers import is_upgrade
from watchkeeper.server.passing.passing import Passing
from watchkeeper.server.passing.transport import Unusable
from watchkeeper.server.passing.upgrade import upgrade

DISCOVERY_SECONDS = 5.0
"""So long a server may take to tell what a version has."""
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Limits:
    """What answers are held to."""

    request_timeout: float
    """Seconds from a request's arrival to the end of its answer, unless it is long-running."""
    reject_redirects: bool


class Proxy:
    """Answers the requests for one remote version, in the words of kube-aggregator."""

    def __init__(self, remote: Remote, tasks: TaskOwner, limits: Limits) -> None:
        self.remote = remote
        self._tasks = tasks
        self._limits = limits

    def __repr__(self) -> str:
        return f"<Proxy to {self.remote!r}>"

    async def handle(self, request: Request) -> Response:
        """Pass the request on; the answer is what came back, or why nothing did. Raises ClientGone."""
        remote = self.remote
        if not remote.available:
            return unavailable()
        try:
            await remote.transport.prepare()
        except Unusable as problem:
            return text_response(500, f"{problem}\n")
        try:
            place = await remote.locate()
        except ResolveError as problem:
            log.error("cannot find out where %s/%s is: %s", remote.service.namespace, remote.service.name, problem)
            return unavailable()
        request.audit_id = request.audit_id or request.header(b"audit-id") or str(uuid.uuid4())
        if is_upgrade(request):
            return await upgrade(request, remote.transport, ServerUpgradeTerms(request, place), self._tasks)
        terms = ServerTerms(request, place, reject_redirects=self._limits.reject_redirects)
        seconds, deadline = self._time(request)
        passing = Passing(request, remote.transport, terms, self._tasks, seconds=seconds, deadline=deadline)
        return await passing.response()

    def _time(self, request: Request) -> tuple[float | None, float | None]:
        """How many seconds an answer may take to begin, and the loop time by which it has to be over."""
        info = request.info
        deadline: float | None = None
        if not info.long_running:
            deadline = request.started + allowed_seconds(request, self._limits.request_timeout)
        if info.is_resource or len(request.path.strip("/").split("/")) != 3:
            return None, deadline
        told = asyncio.get_running_loop().time() + DISCOVERY_SECONDS
        return DISCOVERY_SECONDS, told if deadline is None else min(told, deadline)


def unavailable() -> Response:
    """What is said in place of a server that cannot be reached."""
    return text_response(503, "service unavailable\n")
