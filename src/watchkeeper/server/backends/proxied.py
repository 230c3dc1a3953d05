"""The proxies of nodes, Pods and Services: what is below them is somebody else's."""

from __future__ import annotations

import posixpath

from watchkeeper.aio.http_stream import Body, Head
from watchkeeper.aio.tasks import TaskOwner
from watchkeeper.endpoints.response import Response, Stream
from watchkeeper.meta import errors
from watchkeeper.meta.errors import ApiError
from watchkeeper.registry.backends import ProxyBackend
from watchkeeper.request.exchange import Exchange
from watchkeeper.request.request import Request
from watchkeeper.server.backends.html_links import rewritten
from watchkeeper.server.backends.links import Links
from watchkeeper.server.backends.upgrading import BackendUpgradeTerms
from watchkeeper.server.passing.headers import (
    Headers,
    escaped_path,
    for_one_hop,
    forwarded_for,
    is_upgrade,
    of_answer,
    target_of,
)
from watchkeeper.server.passing.passing import Passing
from watchkeeper.server.passing.transport import Transport
from watchkeeper.server.passing.upgrade import upgrade

_URI = b"x-forwarded-uri"
_HTML = b"text/html"


async def proxied(request: Request, backend: ProxyBackend, transport: Transport, tasks: TaskOwner) -> Response:
    """What the backend answers. Raises ApiError where it does not, ClientGone."""
    if is_upgrade(request):
        # The query does not go on, as with kube-apiserver.
        terms = BackendUpgradeTerms(request, backend, target_of(cleaned(backend.path) or "/"))
        return await upgrade(request, transport, terms, tasks)
    exchange: Exchange | None = request.scope.get("exchange")
    if exchange is not None:
        exchange.broken_at_stop = True  # nobody here knows whether what has come is of any use
    return await Passing(request, transport, ProxyTerms(request, backend), tasks).response()


class ProxyTerms:
    """Implements `passing.terms.Terms`: the backend is asked as by a browser, and learns at which path that began."""

    with_body = True

    def __init__(self, request: Request, backend: ProxyBackend) -> None:
        self.place = backend.place
        self.method = request.method
        self._request = request
        path = joined(backend.path, request)
        prefix = request.path.removesuffix(path)
        self._path = path or "/"
        self._query = backend.query
        self._links = Links(prefix, backend.authority, request.header(b"host"))
        uri = posixpath.normpath(posixpath.join(prefix, escaped_path(self._path).lstrip("/")))
        self._uri = f"{uri}/" if self._path.endswith("/") else uri

    def target(self) -> str:
        """See `Terms`."""
        return target_of(self._path, self._query)

    def headers(self) -> Headers:
        """See `Terms`."""
        request = self._request
        kept = [pair for pair in for_one_hop(request) if pair[0] != _URI]
        host = (b"host", request.header(b"host").encode("latin-1"))
        return [host, *kept, (_URI, self._uri.encode()), *forwarded_for(request)]

    async def answer(self, head: Head, body: Body) -> tuple[int, Headers]:
        """See `Terms`."""
        has_length = head.status not in (204, 304) and not head.chunked and not self._has_links(head)
        kept = of_answer(head.headers, has_length=has_length)
        location = head.first(b"location")
        if not location:
            return head.status, kept
        try:
            moved = self._links.moved(location.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
        except ValueError as problem:
            raise errors.internal_error(f"error trying to parse Location header: {problem}") from problem
        return head.status, [(name, moved if name == b"location" else value) for name, value in kept]

    def _has_links(self, head: Head) -> bool:
        """Whether the body is a page whose links have to lead through the proxy, so that it has another length."""
        if head.first(b"location"):
            return False
        return head.first(b"content-type").partition(b";")[0].strip() == _HTML

    def body(self, head: Head, stream: Stream) -> Stream:
        """See `Terms`."""
        if not (self._has_links(head) and head.has_body(self.method)):
            return stream
        return rewritten(stream, head.first(b"content-encoding"), self._links)

    def unreachable(self, why: str) -> Response:
        """See `Terms`."""
        raise errors.service_unavailable(f"error trying to reach service: {why}")

    def refused(self, why: str) -> Response:
        """See `Terms`."""
        raise ApiError(500, "", why)


def cleaned(path: str) -> str:
    """A path without empty parts and those that lead back; "" stays so."""
    if not path:
        return ""
    clean = posixpath.normpath(path)
    clean = clean[1:] if clean.startswith("//") else clean
    return f"{clean}/" if path.endswith("/") and not clean.endswith("/") else clean


def joined(path: str, request: Request) -> str:
    """The path that a backend is asked for, which ends with a slash where the request does."""
    clean = cleaned(path)
    return f"{clean}/" if request.path.endswith("/") and not clean.endswith("/") else clean
