"""What another API server is sent of a request, and a client is told of its answer, as kube-aggregator has it."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from urllib.parse import parse_qsl, quote, quote_plus, urlsplit, urlunsplit

from watchkeeper.aio.dial import authority
from watchkeeper.aio.http_stream import Body, Head
from watchkeeper.endpoints.response import TEXT, Response, Stream, text_response
from watchkeeper.request.request import Request, well_formed
from watchkeeper.request.user import User
from watchkeeper.server.passing.headers import (
    Header,
    Headers,
    escaped_path,
    for_one_hop,
    for_upgrade,
    forwarded_for,
    of_answer,
    target_of,
)
from watchkeeper.server.passing.terms import Refused
from watchkeeper.server.passing.transport import Place

_TOKEN = "!#$&'*+-.^_`|~"
"""What may stand in the name of a header besides letters and digits, but for the sign that escapes the rest."""
_AUDIT_ID = b"audit-id"
_REDIRECTED = b"the backend attempted to redirect this request, which is not permitted"


class ServerTerms:
    """Implements `passing.terms.Terms` for another API server, which is told who asks."""

    with_body = True

    def __init__(self, request: Request, place: Place, *, reject_redirects: bool) -> None:
        self.place = place
        self.method = request.method
        self._request = request
        self._host = authority(*place)
        self._reject_redirects = reject_redirects

    def target(self) -> str:
        """See `Terms`."""
        return target(self._request)

    def headers(self) -> Headers:
        """See `Terms`."""
        return outgoing(self._request, self._host)

    async def answer(self, head: Head, body: Body) -> tuple[int, Headers]:
        """See `Terms`."""
        if self._reject_redirects and 300 <= head.status <= 399 and head.first(b"location"):
            raise Refused(Response(502, _REDIRECTED, (TEXT,)))
        has_length = head.status not in (204, 304) and not head.chunked
        try:
            return head.status, incoming(head.headers, self._host, has_length=has_length)
        except ValueError as problem:
            why = f"Internal error occurred: error trying to parse Location header: {problem}"
            raise Refused(self.refused(why)) from problem

    def body(self, head: Head, stream: Stream) -> Stream:
        """See `Terms`."""
        return stream

    def unreachable(self, why: str) -> Response:
        """See `Terms`."""
        return text_response(503, f"error trying to reach service: {why}\n")

    def refused(self, why: str) -> Response:
        """See `Terms`."""
        return text_response(503, f"{why}\n")


class ServerUpgradeTerms:
    """Implements `passing.terms.UpgradeTerms` likewise."""

    def __init__(self, request: Request, place: Place) -> None:
        self.place = place
        self.method = request.method
        self._request = request

    def target(self) -> str:
        """See `UpgradeTerms`."""
        return target(self._request)

    def headers(self) -> Headers:
        """See `UpgradeTerms`."""
        host = (b"host", authority(*self.place).encode())
        return [host, *_without_audit_id(for_upgrade(self._request)), *_added(self._request)]

    def failed(self, why: str) -> Response:
        """See `UpgradeTerms`."""
        return text_response(503, f"{why}\n")


def target(request: Request) -> str:
    """What is asked for, the query sorted by its keys; what of it is malformed is left out."""
    pairs = sorted(parse_qsl(well_formed(request.query), keep_blank_values=True), key=lambda pair: pair[0])
    query = "&".join(f"{quote_plus(key)}={quote_plus(value)}" for key, value in pairs)
    return target_of(request.path, query)


def user_headers(user: User) -> Headers:
    """The headers that tell another API server who asks."""
    found = [(b"x-remote-user", user.name.encode())]
    if user.uid:
        found.append((b"x-remote-uid", user.uid.encode()))
    found += [(b"x-remote-group", group.encode()) for group in user.groups]
    for key, values in user.extra.items():
        name = b"x-remote-extra-" + escaped_key(key)
        found += [(name, value.encode()) for value in values]
    return found


def escaped_key(key: str) -> bytes:
    """A key as it may stand in the name of a header."""
    return quote(key, safe=_TOKEN).encode()


def outgoing(request: Request, host: str) -> Headers:
    """The headers of a request that is passed on to `host`."""
    path = posixpath.join("/", posixpath.normpath(escaped_path(request.path)))
    mine = (
        (b"x-forwarded-uri", (f"{path}/" if request.path.endswith("/") else path).encode()),
        (b"x-forwarded-host", host.encode()),
        (b"x-forwarded-proto", b"https"),
    )
    names = {name for name, _ in mine}
    kept = [pair for pair in _without_audit_id(for_one_hop(request)) if pair[0] not in names]
    return [(b"host", host.encode()), *kept, *mine, *_added(request)]


def _added(request: Request) -> Headers:
    audit_id = request.audit_id.encode("latin-1", "replace")
    return [*user_headers(request.user), *forwarded_for(request), (_AUDIT_ID, audit_id)]


def _without_audit_id(headers: Headers) -> Headers:
    return [pair for pair in headers if pair[0] != _AUDIT_ID]


def incoming(headers: Iterable[Header], host: str, *, has_length: bool) -> Headers:
    """The headers of an answer of `host` for the client. Raises ValueError for a place that is none."""
    kept = of_answer(headers, has_length=has_length)
    return [(name, _moved(value, host)) if name == b"location" else (name, value) for name, value in kept]


def _moved(location: bytes, host: str) -> bytes:
    """Where an answer points to: a path of that server, with its address before it."""
    try:
        parts = urlsplit(location.decode("latin-1"))
    except ValueError as problem:
        raise ValueError(f'parse "{location.decode("latin-1")}": {problem}') from problem
    if parts.netloc not in ("", host) or not parts.path.startswith("/"):
        return location
    return urlunsplit(("https", host, *parts[2:])).encode("latin-1", "replace")
