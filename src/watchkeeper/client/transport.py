"""HTTP/1.1 to one server: connections that are kept, answers as a whole or piece by piece."""

from __future__ import annotations

import ssl
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from watchkeeper.aio.http_stream import BrokenBody, BrokenHead, Head, HttpStream, NoAnswer, request_head
from watchkeeper.aio.kept_streams import KeptStreams
from watchkeeper.aio.tls_dial import DialError, connect, connect_unix
from watchkeeper.client.errors import ClientError

_MAX_IDLE = 16
_PORTS = {"https": 443, "http": 80}


@dataclass(slots=True)
class Response:
    """A complete answer."""

    status: int
    headers: dict[str, str] = field(default_factory=dict)
    """By name in lower case; of several the first."""
    body: bytes = b""


class Transport:
    """The connections to one server. `url` is http, https, or unix:PATH."""

    def __init__(self, url: str, *, tls: ssl.SSLContext | None = None, server_name: str = "") -> None:
        """Raises ValueError for another kind of URL."""
        self.url = url
        self._socket = url.removeprefix("unix:") if url.startswith("unix:") else ""
        parts = urlsplit("http://localhost" if self._socket else url)
        if parts.scheme not in _PORTS or not parts.hostname:
            raise ValueError(f"{url!r} is no URL of a server")
        self._host, self._port = parts.hostname, parts.port or _PORTS[parts.scheme]
        self._authority, self._prefix = parts.netloc.encode("latin-1", "replace"), parts.path.rstrip("/")
        self._tls = (tls or ssl.create_default_context()) if parts.scheme == "https" else None
        self._server_name = (server_name or self._host) if self._tls is not None else None
        self._kept = KeptStreams(_MAX_IDLE)

    def __repr__(self) -> str:
        return f"<Transport to {self.url}, {len(self._kept)} idle>"

    async def request(self, method: str, target: str, headers: Mapping[str, str], body: bytes = b"") -> Response:
        """The whole answer to a request. Raises ClientError when none comes."""
        stream, head = await self._send(method, target, headers, body)
        try:
            whole = await stream.body(method).whole(sys.maxsize)
        except BrokenBody as problem:
            stream.close()
            raise self.error(problem) from problem
        except BaseException:
            stream.close()
            raise
        self.give_back(stream)
        return Response(head.status, head.by_name(), whole or b"")

    async def open(self, method: str, target: str, headers: Mapping[str, str]) -> Body:
        """The head of an answer, and its body as it comes. Raises ClientError. Close it."""
        stream, head = await self._send(method, target, headers, b"")
        return Body(self, stream, head, method)

    def close(self) -> None:
        """Close what is idle; what is in use is closed when it is done. Idempotent."""
        self._kept.close()

    # -- one exchange ---------------------------------------------------------------------------------------------

    async def _send(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> tuple[HttpStream, Head]:
        """Send a request and read the head of the answer."""
        message = self._head(method, target, headers, body) + body
        while True:
            stream = self._kept.take() or await self._connect()
            try:
                stream.ask(message)
                return stream, await stream.read_head()
            except NoAnswer as problem:
                stream.close()
                # A kept connection may have been closed just now. Only what changes nothing is sent twice.
                if not (stream.used and method == "GET"):
                    raise self.error(problem) from problem
            except BrokenHead as problem:
                stream.close()
                raise self.error(problem) from problem
            except BaseException:
                stream.close()
                raise

    def _head(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> bytes:
        lines = [(b"Host", self._authority)]
        lines += [
            (name.encode("latin-1", "replace"), value.encode("latin-1", "replace")) for name, value in headers.items()
        ]
        if body or method in ("POST", "PUT", "PATCH"):
            lines.append((b"Content-Length", b"%d" % len(body)))
        try:
            return request_head(method, self._prefix + target, lines)
        except ValueError as problem:
            raise ClientError(f"{self.url}: {problem}") from problem

    async def _connect(self) -> HttpStream:
        try:
            if self._socket:
                return HttpStream(await connect_unix(self._socket))
            return HttpStream(await connect(self._host, self._port, self._tls, self._server_name))
        except DialError as problem:
            raise ClientError(f"{self.url}: {problem}") from problem

    def give_back(self, stream: HttpStream) -> None:
        """Keep a connection whose answer is complete, or close it."""
        self._kept.keep(stream)

    def error(self, problem: NoAnswer | BrokenHead | BrokenBody) -> ClientError:
        """What users are told of an answer that is none."""
        if isinstance(problem.__cause__, EOFError):
            return ClientError(f"{self.url}: the connection was closed before the answer was complete")
        if isinstance(problem.__cause__, OSError):
            return ClientError(f"{self.url}: {problem}")
        return ClientError(f"{self.url}: the answer is not HTTP: {problem}")


class Body:
    """An answer that is read piece by piece: `async for piece in body`. Raises ClientError."""

    def __init__(self, transport: Transport, stream: HttpStream, head: Head, method: str) -> None:
        self.status = head.status
        self.headers = head.by_name()
        self._transport = transport
        self._stream = stream
        self._body = stream.body(method)
        self._closed = False

    def __aiter__(self) -> Body:
        return self

    async def __anext__(self) -> bytes:
        try:
            piece = await self._body.piece()
        except BrokenBody as problem:
            raise self._transport.error(problem) from problem
        if not piece:
            self.close()
            raise StopAsyncIteration
        return piece

    def close(self) -> None:
        """Stop. What is left of the answer is not waited for. Synchronous and idempotent."""
        if not self._closed:
            self._closed = True
            self._transport.give_back(self._stream)
