"""Posts JSON to webhooks, and asks components how they are, over HTTP/1.1: a client for that and no more.

Connections are kept and used again; what counts as an answer, `http_stream` knows. Errors say what Go's client would
say, because they end up in messages that people search for.
"""

from __future__ import annotations

import asyncio
import base64
import ssl
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from urllib.parse import SplitResult, quote, unquote, urlsplit

from watchkeeper.aio.http_stream import BrokenBody, BrokenHead, HttpStream, NoAnswer, transport_text
from watchkeeper.aio.kept_streams import KeptStreams
from watchkeeper.aio.tls_dial import DialError, connect

_MAX_IDLE = 4
_IN_QUERY = "%/:@!$&'()*+,;=~?"
_DEFAULT_PORTS = {"https": 443, "http": 80}
_POSTED = (
    "Content-Type: application/json\r\nAccept: application/json\r\n"
    "User-Agent: kube-apiserver-admission\r\nContent-Length: "
)

Resolve = Callable[[], Awaitable[tuple[str, int]]]
"""Finds out where to connect to: host and port. Raises ResolveError."""


class HttpError(Exception):
    """No answer came; the message tells why."""


class BrokenAnswer(HttpError):
    """An answer began and did not come to its end; the message tells why, and does not say of whom."""


class ResolveError(Exception):
    """Nobody knows where to connect to; the message tells why."""


class _Failed(Exception):
    """Why no answer came; `_ask` says to whom."""


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """A response."""

    status: int
    headers: dict[str, str]
    """By name in lower case; of several the first."""
    body: bytes


@dataclass(slots=True)
class _Progress:
    """How far an exchange has come."""

    in_body: bool = False


def trusting(authorities: str | bytes) -> ssl.SSLContext:
    """A client's TLS context that trusts these certificates alone, as a text in PEM or bytes in DER.

    Be they of a root, of an authority between, or the server's own. Raises ssl.SSLError, ValueError for none.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.load_verify_locations(cadata=authorities)
    return context


class JsonPoster:
    """Posts to one URL, or gets it. `max_body` bounds the bytes of an answer."""

    def __init__(
        self,
        url: str,
        *,
        ssl_context: ssl.SSLContext | None = None,
        server_name: str | None = None,
        resolve: Resolve | None = None,
        headers: Callable[[], Mapping[str, str]] | None = None,
        max_body: int = 64 * 1024 * 1024,
    ) -> None:
        """`headers` are asked for with each request; what they raise is passed on.

        `server_name` is whom the certificate must name, if not the URL's host. Raises ValueError.

        `resolve` is asked before each connection where it is to go to; without one that is the URL's host and port.
        """
        parts = urlsplit(url)
        if parts.scheme not in _DEFAULT_PORTS or not parts.hostname:
            raise ValueError(f"{_without_password(url)!r} is no URL to post to")
        self.url = url
        self._shown = _without_password(url)
        self._authorization = _authorization_of(parts)
        self._host = parts.hostname
        self._port = parts.port or _DEFAULT_PORTS[parts.scheme]
        # What is escaped already stays so; what may not stand in a request line is escaped, as by Go's client.
        path = quote(parts.path or "/", safe="%/:@!$&'()*+,;=~")
        self._target = path + (f"?{quote(parts.query, safe=_IN_QUERY)}" if parts.query else "")
        self._authority = parts.netloc.rpartition("@")[2]
        self._ssl = (ssl_context or ssl.create_default_context()) if parts.scheme == "https" else None
        self._server_name = (server_name or self._host) if self._ssl is not None else None
        self._resolve = resolve
        self._headers = headers
        self._max_body = max_body
        self._kept = KeptStreams(_MAX_IDLE)

    def __repr__(self) -> str:
        return f"<JsonPoster {self._shown}, {len(self._kept)} idle>"

    async def post(self, body: bytes | None, *, timeout: float, query: str = "") -> HttpAnswer:
        """The answer to one POST; `timeout` in seconds covers all of it.

        Without a body it is asked by a GET, as a POST goes on that was sent elsewhere.

        `query` is put behind the URL's path where the URL has no query of its own. Raises HttpError.
        """
        return await self._ask("Post", body, f"?{query}" if query else "", timeout)

    def out_of_time(self, query: str) -> HttpError:
        """What a POST fails with for which no time is left."""
        return self._late("Post", f"?{query}")

    async def get(self, *, timeout: float) -> HttpAnswer:
        """The answer to one GET; `timeout` in seconds covers all of it. Raises HttpError."""
        return await self._ask("Get", None, "", timeout)

    async def _ask(self, verb: str, body: bytes | None, suffix: str, timeout: float) -> HttpAnswer:
        progress = _Progress()
        try:
            async with asyncio.timeout(timeout):
                return await self._answered(self._request(body, suffix), progress)
        except (NoAnswer, BrokenHead) as problem:
            raise HttpError(f'{verb} "{self._shown}{suffix}": {transport_text(problem)}') from problem
        except _Failed as problem:
            raise HttpError(f'{verb} "{self._shown}{suffix}": {problem}') from problem
        except BrokenBody as problem:
            raise BrokenAnswer(str(problem)) from problem
        except TimeoutError:
            if progress.in_body:
                raise BrokenAnswer("context deadline exceeded") from None
            raise self._late(verb, suffix) from None

    def _late(self, verb: str, suffix: str) -> HttpError:
        return HttpError(f'{verb} "{self._shown}{suffix}": context deadline exceeded')

    def close(self) -> None:
        """Close what is idle, and from now on each connection after its answer."""
        self._kept.close()

    async def _answered(self, request: bytes, progress: _Progress) -> HttpAnswer:
        while True:
            stream = self._kept.take() or await self._connect()
            try:
                answer = await self._exchange(stream, request, progress)
            except NoAnswer:
                stream.close()
                # A kept connection may have been closed meanwhile; a fresh one tells the truth.
                if not stream.used:
                    raise
            except BaseException:
                stream.close()
                raise
            else:
                self._kept.keep(stream)
                return answer

    async def _connect(self) -> HttpStream:
        host, port = self._host, self._port
        if self._resolve is not None:
            try:
                host, port = await self._resolve()
            except ResolveError as problem:
                raise _Failed(str(problem)) from problem
        try:
            return HttpStream(await connect(host, port, self._ssl, self._server_name))
        except DialError as problem:
            raise _Failed(str(problem)) from problem

    async def _exchange(self, stream: HttpStream, request: bytes, progress: _Progress) -> HttpAnswer:
        stream.ask(request)
        head = await stream.read_head()
        progress.in_body = True
        body = await stream.body("POST").whole(self._max_body)
        if body is None:
            raise _Failed(f"the answer has more than {self._max_body} bytes")
        return HttpAnswer(head.status, head.by_name(), body)

    def _request(self, body: bytes | None, suffix: str) -> bytes:
        """A POST of a body; a GET without one."""
        headers = self._given_headers() if self._headers is not None or self._authorization else ""
        target = f"{self._target}{suffix} HTTP/1.1\r\nHost: {self._authority}\r\n{headers}"
        if body is None:
            return f"GET {target}\r\n".encode("latin-1", "replace")
        return f"POST {target}{_POSTED}{len(body)}\r\n\r\n".encode("latin-1", "replace") + body

    def _given_headers(self) -> str:
        headers = self._headers() if self._headers is not None else {}
        if self._authorization and "Authorization" not in headers:
            headers = {**headers, "Authorization": self._authorization}
        for name, value in headers.items():
            if not value.isprintable():
                # A line's end in it would begin another header.
                raise _Failed(f'net/http: invalid header field value for "{name}"')
        return "".join(f"{name}: {value}\r\n" for name, value in headers.items())


def _without_password(url: str) -> str:
    """A URL as it may be shown."""
    user, at, _ = urlsplit(url).netloc.rpartition("@")
    name, colon, _ = user.partition(":")
    return url.replace(f"{user}@", f"{name}:***@", 1) if at and colon else url


def _authorization_of(parts: SplitResult) -> str:
    """What a URL that names a user has requests say, "" for nothing."""
    user, at, _ = parts.netloc.rpartition("@")
    if not at:
        return ""
    name, _, password = user.partition(":")
    pair = f"{unquote(name)}:{unquote(password)}".encode()
    return f"Basic {base64.b64encode(pair).decode()}"
