"""What goes back: a status, headers and bytes, at once or as they come."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

import orjson

from watchkeeper.endpoints.warning_headers import warning_headers
from watchkeeper.meta.errors import ApiError
from watchkeeper.request.request import Request

Header = tuple[bytes, bytes]

JSON: Header = (b"content-type", b"application/json")
TEXT: Header = (b"content-type", b"text/plain; charset=utf-8")
NO_CACHE: Header = (b"cache-control", b"no-cache, private")
AT_ONCE = 1 << 20
"""Bytes; a longer body goes out as the client takes it."""


class Response:
    """An answer. Either `body` is all of it, or `stream` yields it piece by piece (each piece one HTTP chunk)."""

    __slots__ = ("body", "headers", "status", "stream")

    def __init__(
        self,
        status: int,
        body: bytes = b"",
        headers: Sequence[Header] = (JSON,),
        *,
        stream: AsyncIterator[bytes] | None = None,
    ) -> None:
        self.status = status
        self.body = body
        self.headers = headers
        self.stream = stream

    def all_headers(self, request: Request) -> list[Header]:
        """The headers, with what every answer carries and the warnings that the request collected."""
        headers = list(self.headers)
        for name, _ in headers:
            if name == b"cache-control":
                break
        else:
            headers.append(NO_CACHE)
        if request.warnings:
            headers += warning_headers(request.warnings)
        return headers

    async def send(self, request: Request) -> None:
        """Write it out."""
        headers = self.all_headers(request)
        if self.stream is not None:
            await self._send_stream(request, headers)
            return
        exchange = request.scope.get("exchange")
        if exchange is not None and len(self.body) <= AT_ONCE:
            exchange.respond(self.status, headers, self.body)
            return
        headers.append((b"content-length", str(len(self.body)).encode()))
        await request.send({"type": "http.response.start", "status": self.status, "headers": headers})
        body = b"" if request.method == "HEAD" else self.body
        await request.send({"type": "http.response.body", "body": body})

    async def _send_stream(self, request: Request, headers: list[Header]) -> None:
        assert self.stream is not None
        await request.send({"type": "http.response.start", "status": self.status, "headers": headers})
        async for chunk in self.stream:
            await request.send({"type": "http.response.body", "body": chunk, "more_body": True})
        await request.send({"type": "http.response.body", "body": b""})


def text_response(status: int, text: str) -> Response:
    """Plain text, as for unknown paths."""
    headers = (TEXT, (b"x-content-type-options", b"nosniff"))
    return Response(status, text.encode(), headers)


def error_response(error: ApiError) -> Response:
    """The Status of an error as JSON."""
    return Response(error.code, orjson.dumps(error.status()) + b"\n", (JSON, *error.headers))
