"""The server's side of a WebSocket whose messages go both ways."""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from typing import NamedTuple

from wsproto.connection import Connection, ConnectionState, ConnectionType
from wsproto.events import BytesMessage, CloseConnection, Event, Ping, TextMessage
from wsproto.utilities import LocalProtocolError, RemoteProtocolError

from watchkeeper.aio.turns import Turns
from watchkeeper.endpoints.response import Header
from watchkeeper.request.exchange import Tunnel

_PROTOCOL_ERROR = 1002


class Piece(NamedTuple):
    """A part of a message, as it came."""

    data: bytes
    first: bool
    """Whether the message begins with it."""
    last: bool
    binary: bool


class Messages:
    """Over a connection that was taken over from HTTP. One task may read and one may write at a time.

    States: open → closed, by either side. Nothing more is read of the connection than pieces are taken.
    """

    def __init__(self, tunnel: Tunnel) -> None:
        self._tunnel = tunnel
        self._protocol = Connection(ConnectionType.SERVER)
        self._pieces: deque[Piece] = deque()
        self._turns = Turns()
        self._begun = False
        """Whether a part of a message has come and its end has not."""
        self._closed = False

    def __repr__(self) -> str:
        return f"<Messages {'closed' if self._closed else 'open'}>"

    async def accept(self, headers: tuple[Header, ...]) -> None:
        """Answer with 101 and these headers. Raises OSError when the client is gone."""
        lines = [b"HTTP/1.1 101 Switching Protocols\r\n", *(b"%b: %b\r\n" % pair for pair in headers), b"\r\n"]
        await self._tunnel.send(b"".join(lines))

    async def receive(self) -> Piece | None:
        """The next piece of a message, waiting for it; None when the client has closed or is gone."""
        while not self._pieces:
            if self._closed:
                return None
            data = await self._tunnel.receive()
            if not data:
                self._closed = True
                return None
            try:
                self._protocol.receive_data(data)
                for event in self._protocol.events():
                    self._take(event)
                    if self._turns.is_due():
                        await asyncio.sleep(0)
            except RemoteProtocolError:
                self.close(_PROTOCOL_ERROR)
        return self._pieces.popleft()

    def _take(self, event: object) -> None:
        match event:
            case BytesMessage() | TextMessage():
                data = event.data.encode() if isinstance(event.data, str) else bytes(event.data)
                binary = isinstance(event, BytesMessage)
                self._pieces.append(Piece(data, not self._begun, event.message_finished, binary))
                self._begun = not event.message_finished
            case Ping():
                self._say(event.response())
            case CloseConnection():
                self._say(event.response())
                self._closed = True

    def _say(self, event: Event) -> None:
        """Tell what is no message. A client that takes nothing gets none of it."""
        with suppress(LocalProtocolError):
            self._tunnel.send_nowait(self._protocol.send(event))

    async def send(self, data: bytes) -> None:
        """Send a binary message, waiting while the client is behind. Raises OSError when the client is gone."""
        if self._closed or self._protocol.state is not ConnectionState.OPEN:
            raise ConnectionResetError("the client closed the WebSocket")
        await self._tunnel.send(self._protocol.send(BytesMessage(data)))

    def close(self, code: int = 1000) -> None:
        """Say goodbye; whoever took the connection over closes it. Idempotent."""
        if not self._closed:
            self._say(CloseConnection(code=code))
            self._closed = True
