"""Requests that ask for another protocol, SPDY or WebSocket: bytes go both ways once the backend agrees."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import NamedTuple

from watchkeeper.aio.http_stream import BrokenBody, BrokenHead, Head, HttpStream, NoAnswer, request_head
from watchkeeper.aio.tasks import TaskOwner
from watchkeeper.aio.tls_dial import DialError, NoTls
from watchkeeper.endpoints.response import Response
from watchkeeper.request.exchange import Exchange, Tunnel
from watchkeeper.request.request import ClientGone, Request
from watchkeeper.server.passing.terms import UpgradeTerms
from watchkeeper.server.passing.transport import Transport, Unusable

_REFUSAL_SECONDS = 10.0
"""So long a refusal may take to be told."""
NO_TLS = "tls: first record does not look like a TLS handshake"
"""What is said of a backend without TLS by who only dials: that HTTP was the answer is known to HTTP clients alone."""


class Asked(NamedTuple):
    """What a backend answers to the wish for another protocol."""

    stream: HttpStream
    head: Head


async def upgrade(request: Request, transport: Transport, terms: UpgradeTerms, tasks: TaskOwner) -> Response:
    """Ask the backend; what it answers goes to the client as it is. Raises ClientGone, and ApiError where terms do."""
    exchange: Exchange | None = request.scope.get("exchange")
    if exchange is None:
        return terms.failed("request connection cannot be hijacked")
    try:
        asked = await ask_for_upgrade(request, exchange, transport, terms, tasks)
    except UpgradeFailed as problem:
        return terms.failed(str(problem))
    request.on_done(lambda _status: asked.stream.close())
    return answered(exchange, asked, tasks)


def answered(exchange: Exchange, asked: Asked, tasks: TaskOwner) -> Response:
    """What the backend has answered, as it is, and all that follows."""
    return _Upgraded(exchange, asked.stream, asked.head, tasks)


class UpgradeFailed(Exception):
    """The backend has not answered, or with nothing that could be passed back; the message tells why."""


async def ask_for_upgrade(
    request: Request, exchange: Exchange, transport: Transport, terms: UpgradeTerms, tasks: TaskOwner
) -> Asked:
    """Ask the backend for another protocol: the status of the answer is 101 or that of an error.

    Raises UpgradeFailed, ClientGone.
    """
    try:
        stream = await transport.dial(terms.place)
    except (DialError, Unusable) as problem:
        why = NO_TLS if isinstance(problem, NoTls) else problem
        raise UpgradeFailed(f"error dialing backend: {why}") from problem
    try:
        asking = request_head(terms.method, terms.target(), terms.headers())
    except ValueError as problem:
        stream.close()
        raise UpgradeFailed(f"error sending request: {problem}") from problem
    stream.ask(asking)
    watcher = tasks.start(f"client of {request.method} {request.path}", _watch_client(exchange, stream, request))
    try:
        head = await stream.read_head()
    except (NoAnswer, BrokenHead) as problem:
        stream.close()
        if watcher.done():
            raise ClientGone from problem
        raise UpgradeFailed("unexpected EOF" if isinstance(problem.__cause__, EOFError) else str(problem)) from problem
    except BaseException:
        stream.close()
        raise
    finally:
        watcher.cancel()
    if head.status != 101 and head.status < 400:
        stream.close()
        raise UpgradeFailed(f"invalid upgrade response: status code {head.status}")
    return Asked(stream, head)


async def _watch_client(exchange: Exchange, stream: HttpStream, request: Request) -> None:
    """Send the body that few such requests have; then wait until the client is gone, and end what it does not wait for.

    What follows the body is not read.
    """
    chunked = bool(request.header(b"transfer-encoding"))
    has_body = chunked or request.header(b"content-length") not in ("", "0")
    while (message := await exchange.receive())["type"] != "http.disconnect":
        if has_body:
            has_body = bool(message.get("more_body"))
            with suppress(OSError):  # the answer, if there is one, tells why
                await _send_piece(stream, message.get("body") or b"", chunked=chunked, last=not has_body)
    stream.close()


async def _send_piece(stream: HttpStream, piece: bytes, *, chunked: bool, last: bool) -> None:
    if piece:
        await (stream.send_chunk(piece) if chunked else stream.send(piece))
    if last and chunked:
        await stream.send_chunk(b"")


class _Upgraded(Response):
    """The answer of the backend, and all that follows it."""

    __slots__ = ("_exchange", "_head", "_tasks", "_upstream")

    def __init__(self, exchange: Exchange, upstream: HttpStream, head: Head, tasks: TaskOwner) -> None:
        super().__init__(head.status)
        self._exchange = exchange
        self._upstream = upstream
        self._head = head
        self._tasks = tasks

    async def send(self, request: Request) -> None:
        """Take the connection over until either side ends it."""
        tunnel = self._exchange.hijack()
        try:
            await tunnel.send(self._head.raw)
            if self.status == 101:
                await self._join(tunnel)
            else:
                async with asyncio.timeout(_REFUSAL_SECONDS):
                    async for piece in _framed(self._upstream, self._head, request.method):
                        await tunnel.send(piece)
        except (OSError, BrokenBody, TimeoutError):
            pass  # the client sees the end of it
        finally:
            tunnel.close()
            self._upstream.close()

    async def _join(self, tunnel: Tunnel) -> None:
        """Pass bytes both ways until one side has no more."""
        there = self._tasks.start("upgraded, to the server", _to_server(tunnel, self._upstream))
        back = self._tasks.start("upgraded, to the client", _to_client(tunnel, self._upstream))
        try:
            await asyncio.wait((there, back), return_when=asyncio.FIRST_COMPLETED)
        finally:
            there.cancel()
            back.cancel()


async def _to_server(tunnel: Tunnel, upstream: HttpStream) -> None:
    with suppress(OSError):
        while data := await tunnel.receive():
            await upstream.send(data)


async def _to_client(tunnel: Tunnel, upstream: HttpStream) -> None:
    with suppress(OSError):
        while data := await upstream.read():
            await tunnel.send(data)


async def _framed(upstream: HttpStream, head: Head, method: str) -> AsyncGenerator[bytes]:
    """The body of an answer as it is sent, in chunks where it came so."""
    body = upstream.body(method)
    while piece := await body.piece():
        yield b"%x\r\n%b\r\n" % (len(piece), piece) if head.chunked else piece
    if head.chunked and head.has_body(method):
        yield b"0\r\n\r\n"
