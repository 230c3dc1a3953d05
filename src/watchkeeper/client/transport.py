"""HTTP/1.1 to one server: connections that are kept, answers as a whole or piece by piece."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import httptools

from watchkeeper.aio.keep_alive import keep_alive
from watchkeeper.client.errors import ClientError

_MAX_IDLE = 16
_READ_BYTES = 256 * 1024
_PORTS = {"https": 443, "http": 80}


@dataclass(slots=True)
class Response:
    """A complete answer."""

    status: int
    headers: dict[str, str] = field(default_factory=dict)
    """By name in lower case."""
    body: bytes = b""


class _Parse:
    """What httptools tells of one answer."""

    def __init__(self) -> None:
        self.parser = httptools.HttpResponseParser(self)
        self.headers: dict[str, str] = {}
        self.has_head = False
        self.complete = False
        self.pieces: list[bytes] = []

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        # 1xx answers are only announcements of the one that counts.
        self.has_head = self.parser.get_status_code() >= 200

    def on_body(self, data: bytes) -> None:
        self.pieces.append(data)

    def on_message_complete(self) -> None:
        self.complete = self.has_head

    @property
    def ends_with_connection(self) -> bool:
        """Whether nothing in its head says how long the body is."""
        return "content-length" not in self.headers and "transfer-encoding" not in self.headers

    @property
    def leaves_open(self) -> bool:
        """Whether the connection can carry another request afterwards."""
        if self.ends_with_connection or self.parser.get_http_version() != "1.1":
            return False
        return self.headers.get("connection", "").lower() != "close"


@dataclass(slots=True)
class _Connection:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    used: bool = False

    @property
    def is_alive(self) -> bool:
        return not self.reader.at_eof() and not self.writer.is_closing()


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
        self._authority, self._prefix = parts.netloc, parts.path.rstrip("/")
        self._tls = (tls or ssl.create_default_context()) if parts.scheme == "https" else None
        self._server_name = (server_name or self._host) if self._tls is not None else None
        self._idle: list[_Connection] = []
        self._closed = False

    def __repr__(self) -> str:
        return f"<Transport to {self.url}, {len(self._idle)} idle>"

    async def request(self, method: str, target: str, headers: Mapping[str, str], body: bytes = b"") -> Response:
        """The whole answer to a request. Raises ClientError when none comes."""
        connection, parse = await self._send(method, target, headers, body)
        try:
            while not parse.complete:
                await self.more(connection, parse)
        except BaseException:
            connection.writer.close()
            raise
        self.give_back(connection, parse)
        return Response(parse.parser.get_status_code(), parse.headers, b"".join(parse.pieces))

    async def open(self, method: str, target: str, headers: Mapping[str, str]) -> Body:
        """The head of an answer, and its body as it comes. Raises ClientError. Close it."""
        connection, parse = await self._send(method, target, headers, b"")
        return Body(self, connection, parse)

    async def close(self) -> None:
        """Close what is idle; what is in use is closed when it is done. Idempotent."""
        self._closed = True
        while self._idle:
            self._idle.pop().writer.close()

    # -- one exchange ---------------------------------------------------------------------------------------------

    async def _send(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes
    ) -> tuple[_Connection, _Parse]:
        """Send a request and read the head of the answer."""
        lines = [f"{method} {self._prefix}{target} HTTP/1.1", f"Host: {self._authority}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        if body or method in ("POST", "PUT", "PATCH"):
            lines.append(f"Content-Length: {len(body)}")
        message = "\r\n".join([*lines, "", ""]).encode("latin-1", "replace") + body
        while True:
            connection = await self._connection()
            parse = _Parse()
            try:
                connection.writer.write(message)
                await connection.writer.drain()
                while not parse.has_head:
                    await self.more(connection, parse)
            except ClientError:
                connection.writer.close()
                # A kept connection may have been closed just now. Only what changes nothing is sent twice.
                if connection.used and method == "GET" and not parse.headers:
                    continue
                raise
            except OSError as problem:
                connection.writer.close()
                if connection.used and method == "GET":
                    continue
                raise self._error(problem) from problem
            except BaseException:
                connection.writer.close()
                raise
            return connection, parse

    async def more(self, connection: _Connection, parse: _Parse) -> None:
        """Read some more of an answer. Raises ClientError."""
        try:
            data = await connection.reader.read(_READ_BYTES)
            if data:
                parse.parser.feed_data(data)
            elif parse.has_head and parse.ends_with_connection:
                parse.complete = True
            else:
                raise ClientError(f"{self.url}: the connection was closed before the answer was complete")
        except (OSError, ssl.SSLError) as problem:
            raise self._error(problem) from problem
        except httptools.HttpParserError as problem:
            raise ClientError(f"{self.url}: the answer is not HTTP: {problem}") from problem

    async def _connection(self) -> _Connection:
        while self._idle:
            kept = self._idle.pop()
            if kept.is_alive:
                return kept
            kept.writer.close()
        try:
            if self._socket:
                return _Connection(*await asyncio.open_unix_connection(self._socket))
            reader, writer = await asyncio.open_connection(
                self._host, self._port, ssl=self._tls, server_hostname=self._server_name
            )
            # A watch may be silent for long, and has to end when nobody is there any more.
            keep_alive(writer.get_extra_info("socket"))
            return _Connection(reader, writer)
        except (OSError, ssl.SSLError) as problem:
            raise self._error(problem) from problem

    def give_back(self, connection: _Connection, parse: _Parse) -> None:
        """Keep a connection whose answer is complete, or close it."""
        if self._closed or not parse.leaves_open or len(self._idle) >= _MAX_IDLE:
            connection.writer.close()
            return
        connection.used = True
        self._idle.append(connection)

    def _error(self, problem: OSError) -> ClientError:
        return ClientError(f"{self.url}: {problem.strerror or problem}")


class Body:
    """An answer that is read piece by piece: `async for piece in body`. Raises ClientError."""

    def __init__(self, transport: Transport, connection: _Connection, parse: _Parse) -> None:
        self.status = parse.parser.get_status_code()
        self.headers = parse.headers
        self._transport = transport
        self._connection = connection
        self._parse = parse
        self._closed = False

    def __aiter__(self) -> Body:
        return self

    async def __anext__(self) -> bytes:
        parse = self._parse
        while not parse.pieces:
            if parse.complete:
                self.close()
                raise StopAsyncIteration
            await self._transport.more(self._connection, parse)
        return parse.pieces.pop(0)

    def close(self) -> None:
        """Stop. What is left of the answer is not waited for. Synchronous and idempotent."""
        if self._closed:
            return
        self._closed = True
        if self._parse.complete:
            self._transport.give_back(self._connection, self._parse)
        else:
            self._connection.writer.close()
