"""What goes back: a status, headers and bytes, at once or as they come."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Protocol

import orjson

from watchkeeper.authz.refusal import NO_MARKUP
from watchkeeper.endpoints.warning_headers import warning_headers
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.field import go_quote
from watchkeeper.request.exchange import Exchange
from watchkeeper.request.request import Request

Header = tuple[bytes, bytes]

JSON: Header = (b"content-type", b"application/json")
TEXT: Header = (b"content-type", b"text/plain; charset=utf-8")
NO_CACHE: Header = (b"cache-control", b"no-cache, private")
AT_ONCE = 1 << 20
"""Bytes; a longer body goes out as the client takes it."""


class Stream(Protocol):
    """Pieces of an answer, as they come. An async generator is one."""

    def __aiter__(self) -> AsyncIterator[bytes]:
        """The pieces."""
        ...

    async def aclose(self) -> None:
        """Free what the stream holds, whether its end was reached or it was not even begun."""
        ...


class Response:
    """An answer. Either `body` is all of it, or `stream` yields it piece by piece (each piece one HTTP chunk).

    With status 101 it is a WebSocket, and each piece a message: `binary`, or text.
    """

    __slots__ = ("binary", "body", "headers", "status", "stream")

    def __init__(
        self,
        status: int,
        body: bytes = b"",
        headers: Sequence[Header] = (JSON,),
        *,
        stream: Stream | None = None,
        binary: bool = False,
    ) -> None:
        self.status = status
        self.body = body
        self.headers = headers
        self.stream = stream
        self.binary = binary

    def all_headers(self, request: Request) -> list[Header]:
        """The headers, with what every answer carries and the warnings that the request collected."""
        headers = list(self.headers)
        for name, _ in headers:
            if name == b"cache-control":
                break
        else:
            headers.append(NO_CACHE)
        headers += request.told
        if request.warnings:
            headers += warning_headers(request.warnings)
        return headers

    async def send(self, request: Request) -> None:
        """Write it out."""
        if self.stream is not None:
            try:
                await (self._send_messages if self.status == 101 else self._send_stream)(request, self.stream)
            finally:
                await self.stream.aclose()
            return
        headers = self.all_headers(request)
        exchange = request.scope.get("exchange")
        if exchange is not None and len(self.body) <= AT_ONCE:
            exchange.respond(self.status, headers, self.body)
            return
        headers.append((b"content-length", str(len(self.body)).encode()))
        await request.send({"type": "http.response.start", "status": self.status, "headers": headers})
        body = b"" if request.method == "HEAD" else self.body
        await request.send({"type": "http.response.body", "body": body})

    async def _send_messages(self, request: Request, stream: Stream) -> None:
        exchange: Exchange = request.scope["exchange"]
        socket = exchange.upgrade(self.headers)
        send = socket.send_binary if self.binary else socket.send_text
        async for message in stream:
            if message:
                await send(message)
        socket.close()

    async def _send_stream(self, request: Request, stream: Stream) -> None:
        headers = self.all_headers(request)
        await request.send({"type": "http.response.start", "status": self.status, "headers": headers})
        exchange = request.scope.get("exchange")
        async for chunk in stream:
            if exchange is None or not exchange.send_nowait(chunk):
                await request.send({"type": "http.response.body", "body": chunk, "more_body": True})
        await request.send({"type": "http.response.body", "body": b""})


PathHandler = Callable[[Request], "Response | Awaitable[Response]"]


def text_response(status: int, text: str) -> Response:
    """Plain text, as for unknown paths."""
    headers = (TEXT, (b"x-content-type-options", b"nosniff"))
    return Response(status, text.encode(), headers)


def internal_error(request: Request, why: str) -> Response:
    """The answer of filters that fail before anybody knows which form the client wants."""
    text = f"Internal Server Error: {go_quote(request.uri)}: {why}\n"
    return text_response(500, text.translate(NO_MARKUP))


def error_response(error: ApiError) -> Response:
    """The Status of an error as JSON."""
    return Response(error.code, orjson.dumps(error.status()) + b"\n", (JSON, *error.headers))
