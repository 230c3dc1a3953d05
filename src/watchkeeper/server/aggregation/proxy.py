"""Passes a request on to the server behind an APIService, and its answer back."""

from __future__ import annotations

import logging
import uuid

from watchkeeper.aio.http_client import ResolveError
from watchkeeper.aio.tasks import TaskOwner
from watchkeeper.endpoints.response import Response, text_response
from watchkeeper.request.request import Request
from watchkeeper.server.aggregation.forwarding import is_upgrade
from watchkeeper.server.aggregation.passing import Limits, Passing
from watchkeeper.server.aggregation.remote import Remote
from watchkeeper.server.aggregation.transport import Unusable
from watchkeeper.server.aggregation.upgrade import upgrade

log = logging.getLogger(__name__)


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
            return await upgrade(request, remote.transport, place, self._tasks)
        return await Passing(request, remote.transport, place, self._tasks, self._limits).response()


def unavailable() -> Response:
    """What is said in place of a server that cannot be reached."""
    return text_response(503, "service unavailable\n")
