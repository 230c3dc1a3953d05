"""Port-forwards whose WebSockets carry the bytes of SPDY: unwrapped for kubelets that speak SPDY alone."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress

from watchkeeper.aio.http_stream import Head, HttpStream
from watchkeeper.aio.tasks import TaskOwner
from watchkeeper.endpoints.response import Header, Response, text_response
from watchkeeper.endpoints.websocket import handshake
from watchkeeper.registry.backends import StreamBackend
from watchkeeper.request.exchange import Exchange
from watchkeeper.request.request import Request
from watchkeeper.server.backends.messages import Messages
from watchkeeper.server.backends.streams import TUNNEL
from watchkeeper.server.backends.upgrading import BackendUpgradeTerms
from watchkeeper.server.passing.headers import Headers, target_of
from watchkeeper.server.passing.transport import Transport
from watchkeeper.server.passing.upgrade import UpgradeFailed, answered, ask_for_upgrade

SPDY = b"SPDY/3.1"
VERSION = b"x-stream-protocol-version"
_OF_WEBSOCKET = frozenset(
    {b"sec-websocket-protocol", b"sec-websocket-key", b"sec-websocket-version", b"upgrade", VERSION}
)


async def tunnel(
    request: Request, backend: StreamBackend, transport: Transport, tasks: TaskOwner, protocols: Sequence[str]
) -> Response:
    """Ask the kubelet for SPDY in one of these protocols, and let the client's WebSocket carry it. Raises ApiError."""
    exchange: Exchange = request.scope["exchange"]
    terms = _SpdyTerms(request, backend, protocols)
    try:
        asked = await ask_for_upgrade(request, exchange, transport, terms, tasks)
    except UpgradeFailed as problem:
        return terms.failed(str(problem))
    stream, head = asked
    request.on_done(lambda _status: stream.close())
    if head.status != 101:
        return answered(exchange, asked, tasks)
    if not is_spdy(head):
        stream.close()
        return text_response(500, "unable to upgrade: missing upgrade headers in response\n")
    spoken = head.first(VERSION).strip().decode("latin-1")
    accepted = handshake(request, spoken=f"{TUNNEL}{spoken}")
    if isinstance(accepted, Response):
        stream.close()
        return accepted
    return _Tunneled(exchange, accepted, stream, tasks)


def is_spdy(head: Head) -> bool:
    """Whether an answer goes on as SPDY."""
    return b"upgrade" in head.first(b"connection").lower() and b"spdy/3.1" in head.first(b"upgrade").lower()


class _SpdyTerms(BackendUpgradeTerms):
    """Those of a client that asks for SPDY itself."""

    def __init__(self, request: Request, backend: StreamBackend, protocols: Sequence[str]) -> None:
        super().__init__(request, backend, target_of(backend.path, backend.query))
        self.method = "POST"
        self._protocols = protocols

    def headers(self) -> Headers:
        """See `UpgradeTerms`."""
        kept = [pair for pair in super().headers() if pair[0] not in _OF_WEBSOCKET]
        asked = [(VERSION, each.encode("latin-1")) for each in self._protocols]
        return [*kept, (b"upgrade", SPDY), *asked]


class _Tunneled(Response):
    """What follows the handshake: each message carries the bytes that come next."""

    __slots__ = ("_accepted", "_exchange", "_stream", "_tasks")

    def __init__(self, exchange: Exchange, accepted: tuple[Header, ...], stream: HttpStream, tasks: TaskOwner) -> None:
        super().__init__(101)
        self._exchange = exchange
        self._accepted = accepted
        self._stream = stream
        self._tasks = tasks

    async def send(self, request: Request) -> None:
        """Take the connection over until either side ends it."""
        taken = self._exchange.hijack()
        messages = Messages(taken)
        try:
            await messages.accept(self._accepted)
            there = self._tasks.start("tunneled, to the kubelet", self._to_kubelet(messages))
            back = self._tasks.start("tunneled, to the client", self._to_client(messages))
            try:
                await asyncio.wait((there, back), return_when=asyncio.FIRST_COMPLETED)
            finally:
                there.cancel()
                back.cancel()
            messages.close()
        except OSError:
            pass  # the client is gone
        finally:
            taken.close()
            self._stream.close()

    async def _to_kubelet(self, messages: Messages) -> None:
        with suppress(OSError):
            while (piece := await messages.receive()) is not None and piece.binary:
                await self._stream.send(piece.data)

    async def _to_client(self, messages: Messages) -> None:
        with suppress(OSError):
            while data := await self._stream.read():
                await messages.send(data)
