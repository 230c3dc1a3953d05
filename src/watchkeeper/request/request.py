"""An HTTP request and its context, one object from the socket to the registry."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Protocol
from urllib.parse import parse_qsl

from watchkeeper.meta import errors
from watchkeeper.request.info import RequestInfo, parse_request_info
from watchkeeper.request.user import ANONYMOUS, User

Scope = Mapping[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]


_bad_escape = re.compile("%(?![0-9A-Fa-f]{2})").search


def well_formed(query: str) -> str:
    """A query without the pairs that Go's net/url passes over."""
    if ";" not in query and "%" not in query:
        return query
    return "&".join([pair for pair in query.split("&") if ";" not in pair and not _bad_escape(pair)])


class Request:
    """What came in, what was found out about it, and what to tell with the answer.

    Filters and handlers share this one object; nothing else travels beside it.
    """

    __slots__ = (
        "_done",
        "_headers",
        "_params",
        "audit",
        "audit_details",
        "audit_id",
        "impersonation",
        "info",
        "method",
        "observer",
        "passed_on",
        "path",
        "query",
        "receive",
        "scope",
        "send",
        "started",
        "told",
        "user",
        "warnings",
    )

    def __init__(self, scope: Scope, receive: Receive, send: Send, started: float = 0.0) -> None:
        self.scope = scope
        self.receive = receive
        self.send = send
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self.query: str = scope["query_string"].decode("latin-1")
        self.info: RequestInfo = parse_request_info(self.method, self.path, self.query)
        """What is asked."""
        self.started = started
        """Loop time at which it arrived."""
        self.user: User = ANONYMOUS
        self.warnings: list[str] = []
        """Texts of `Warning: 299` headers to send."""
        self.audit: dict[str, str] = {}
        """Annotations for the audit log."""
        self.audit_details: dict[str, str] = {}
        """Annotations that are logged only where request bodies are too."""
        self.audit_id: str = ""
        """What the audit log calls the request, "" where nobody asked yet."""
        self.impersonation: str = ""
        """The constrained right by which the user acts as another, "" for the unconstrained one or none."""
        self.told: tuple[tuple[bytes, bytes], ...] = ()
        """Headers of the answer, whatever it is."""
        self.observer: Observer | None = None
        """Who is told how the request is answered."""
        self.passed_on = False
        """Whether another server answers it."""
        self._headers: dict[bytes, bytes] | None = None
        self._params: dict[str, list[str]] | None = None
        self._done: list[Callable[[int], None]] = []

    def __repr__(self) -> str:
        return f"<Request {self.method} {self.path}>"

    def header(self, name: bytes) -> str:
        """A header by its lower-case name, "" when absent.

        Of a repeated header it is the first, as with Go's net/http, or where the values make a list, all of them.
        """
        headers = self._headers
        if headers is None:
            pairs = self.scope["headers"]
            headers = dict(pairs)
            if len(headers) != len(pairs):
                headers = _first_of(pairs)
            self._headers = headers
        return headers.get(name, b"").decode("latin-1")

    @property
    def uri(self) -> str:
        """The path, as encoded as the client has it, and the query."""
        path = self.scope.get("raw_path", b"").decode("latin-1") or self.path
        return f"{path}?{self.query}" if self.query else path

    @property
    def params(self) -> dict[str, list[str]]:
        """The query parameters, blank values kept. What is malformed does not count, nor what has a semicolon."""
        found = self._params
        if found is None:
            found = {}
            if self.query:
                for key, value in parse_qsl(well_formed(self.query), keep_blank_values=True):
                    found.setdefault(key, []).append(value)
            self._params = found
        return found

    def param(self, name: str) -> str:
        """The first value of a query parameter, "" when absent."""
        if not self.query:
            return ""
        values = self.params.get(name)
        return values[0] if values else ""

    def forget_head(self) -> None:
        """Free what was needed to understand a request that is going to be answered for long: its headers are gone.

        Not while somebody follows the request, who may tell of them at its end.
        """
        if self.observer is None:
            self._headers, self._params = {}, None
            self.scope["headers"].clear()

    def drop_headers(self, which: Callable[[bytes], bool]) -> None:
        """Take out headers whose lower-case names are among these, as if they had not come."""
        headers = self.scope["headers"]
        if any(which(name) for name, _ in headers):
            headers[:] = [pair for pair in headers if not which(pair[0])]
            self._headers = None

    def warn(self, text: str) -> None:
        """Send a warning with the answer, once; an empty one not at all."""
        if text and text not in self.warnings:
            self.warnings.append(text)

    def annotate(self, key: str, value: str, level: str = "Metadata") -> None:
        """Note an annotation for the audit log; the first value of a key stays."""
        if level == "Metadata":
            self.audit.setdefault(key, value)
        else:
            self.audit_details.setdefault(key, value)

    async def body(self, limit: int) -> bytes:
        """Read the whole body. Raises a 413 over `limit` bytes."""
        chunks: list[bytes] = []
        size = 0
        while True:
            message = await self.receive()
            if message["type"] == "http.disconnect":
                raise ClientGone
            chunk = message.get("body", b"")
            size += len(chunk)
            if size > limit:
                raise errors.request_entity_too_large(f"limit is {limit}")
            chunks.append(chunk)
            if not message.get("more_body", False):
                return chunks[0] if len(chunks) == 1 else b"".join(chunks)

    def on_done(self, callback: Callable[[int], None]) -> None:
        """Call back with the status code when the answer has been sent, or failed to be."""
        self._done.append(callback)

    def finish(self, status: int) -> None:
        """Run what `on_done` collected. Called once, by the server."""
        for callback in self._done:
            callback(status)
        self._done.clear()


class Observer(Protocol):
    """Follows one request and the answer to it. What it does must not raise."""

    holds: bool
    """Whether the answer has to wait for `settled`."""
    reads: bool
    """Whether it looks into the answer, which is then made as a whole."""

    def decoded(self, obj: dict[str, Any]) -> None:
        """The body of a POST or PUT is this object, with its defaults. It is about to be changed."""
        ...

    def responding(self, status: int, body: bytes, *, lasting: bool) -> None:
        """The answer is about to go out. Of streams `body` is empty; `lasting` ones have no end of their own."""
        ...

    def panicked(self) -> None:
        """The server has failed; the answer that tells so comes next."""
        ...

    def settled(self) -> Awaitable[object]:
        """Wait, before the answer goes out, for what has to come first."""
        ...


_LISTS = frozenset({b"connection", b"upgrade", b"sec-websocket-protocol"})
"""Headers that may come in several parts."""


def _first_of(pairs: Iterable[tuple[bytes, bytes]]) -> dict[bytes, bytes]:
    headers: dict[bytes, bytes] = {}
    for key, value in pairs:
        if key not in headers:
            headers[key] = value
        elif key in _LISTS:
            headers[key] += b", " + value
    return headers


class ClientGone(Exception):
    """The client closed the connection before the request was complete."""
