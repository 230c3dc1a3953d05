"""One WebSocket: frames out with back-pressure; what comes in is answered when it must be, and otherwise ignored."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from watchkeeper.server.http.errors import ClientDisconnected

if TYPE_CHECKING:
    from watchkeeper.server.http.connection import Connection
    from watchkeeper.server.http.exchange import Exchange

NORMAL, PROTOCOL_ERROR = 1000, 1002
_TEXT, _BINARY = b"\x81", b"\x82"
_JOINED = 1 << 14


class WebSocket:
    """Implements `request.exchange.WebSocket` on a connection whose request was answered with 101.

    States: open → closed, by either side. A peer that says nothing for a while is pinged, and cut off when it does not
    answer either, or takes nothing of what waits for it. Frames are parsed by wsproto, which only servers with a
    WebSocket load.
    """

    def __init__(self, connection: Connection, exchange: Exchange) -> None:
        import wsproto.connection as protocol

        self._connection = connection
        self._exchange = exchange
        self._protocol = protocol.Connection(protocol.ConnectionType.SERVER)
        self._loop = asyncio.get_running_loop()
        self._seconds = connection.limits.ping_seconds
        self._heard = self._loop.time()
        self._pinged = False
        self._timer = self._loop.call_later(self._seconds, self._check)
        self.closed = False

    def __repr__(self) -> str:
        return f"<WebSocket {'closed' if self.closed else 'open'}>"

    async def send_text(self, text: bytes) -> None:
        """Send a text message, waiting while the client takes less than it is sent. Raises ClientDisconnected."""
        await self._send(_TEXT, text)

    async def send_binary(self, data: bytes) -> None:
        """The same for a binary message."""
        await self._send(_BINARY, data)

    async def _send(self, kind: bytes, message: bytes) -> None:
        connection = self._connection
        if connection.write_paused:
            await connection.drain()
        if self.closed or self._exchange.disconnected:
            raise ClientDisconnected("the client closed the WebSocket")
        head = kind + _length(len(message))
        if len(message) <= _JOINED:
            connection.write(head + message)
        else:
            connection.write_lines((head, message))

    def close(self, code: int = NORMAL) -> None:
        """Say goodbye and close. Idempotent."""
        if self.closed:
            return
        from wsproto.events import CloseConnection

        self._connection.write(self._protocol.send(CloseConnection(code=code)))
        self.end()
        self._exchange.upgrade_done()

    def end(self) -> None:
        """Nothing is to be sent any more."""
        self.closed = True
        self._timer.cancel()

    def alive(self) -> None:
        """The client has sent something, or taken what it had not for a while."""
        self._heard = self._loop.time()
        self._pinged = False

    def feed(self, data: bytes) -> None:
        """Take bytes from the client."""
        from wsproto.utilities import RemoteProtocolError

        self.alive()
        if self.closed:
            return
        try:
            self._protocol.receive_data(data)
            for event in self._protocol.events():
                self._handle(event)
        except RemoteProtocolError:
            self._gone(self._protocol_error())

    def _handle(self, event: Any) -> None:
        from wsproto.events import CloseConnection, Ping

        if isinstance(event, Ping):
            # A client that takes nothing gets no answers piled up either.
            if not self.closed and not self._connection.write_paused:
                self._connection.write(self._protocol.send(event.response()))
        elif isinstance(event, CloseConnection) and not self.closed:
            self._gone(self._protocol.send(event.response()))

    def _protocol_error(self) -> bytes:
        from wsproto.events import CloseConnection

        return self._protocol.send(CloseConnection(code=PROTOCOL_ERROR))

    def _gone(self, farewell: bytes) -> None:
        """The client has closed, or has to be closed on: end what sends, then close."""
        self._connection.write(farewell)
        self.end()
        self._exchange.disconnect()
        self._connection.close()

    def _check(self) -> None:
        """Find out whether a silent peer is still there."""
        if self._pinged:
            self.end()
            self._connection.abort()
            return
        wait = self._heard + self._seconds - self._loop.time()
        if wait <= 0:
            # A client that takes nothing is not asked either: it is cut off unless it takes something in the same time.
            if not self._connection.write_paused:
                from wsproto.events import Ping

                self._connection.write(self._protocol.send(Ping()))
            self._pinged = True
            wait = self._seconds
        self._timer = self._loop.call_later(wait, self._check)


def _length(size: int) -> bytes:
    """The length of an unmasked frame's payload, as its header has it."""
    if size < 126:
        return bytes((size,))
    if size < 1 << 16:
        return b"\x7e" + size.to_bytes(2, "big")
    return b"\x7f" + size.to_bytes(8, "big")
