"""A connection whose request was answered by somebody else: bytes in both directions, as they come."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from watchkeeper.server.http.errors import ClientDisconnected

if TYPE_CHECKING:
    from watchkeeper.server.http.connection import Connection
    from watchkeeper.server.http.exchange import Exchange


class Tunnel:
    """Implements `request.exchange.Tunnel`. States: open → closed, by either side."""

    def __init__(self, connection: Connection, exchange: Exchange) -> None:
        self._connection = connection
        self._exchange = exchange
        self._pieces: list[bytes] = []
        self._size = 0
        self._waiter: asyncio.Future[None] | None = None
        """Of whoever waits; one that is done is nobody's any more."""
        self.closed = False

    def __repr__(self) -> str:
        return f"<Tunnel {'closed' if self.closed else 'open'}, {self._size} bytes waiting>"

    async def receive(self) -> bytes:
        """What the client has sent, waiting for more when there is nothing; empty when the client is gone."""
        while not self._pieces and not self.closed:
            self._connection.resume_reading()
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        pieces, self._pieces, self._size = self._pieces, [], 0
        return b"".join(pieces)

    async def send(self, data: bytes) -> None:
        """Send bytes, waiting while the client takes less than it is sent. Raises ClientDisconnected."""
        if self._connection.write_paused:
            await self._connection.drain()
        if self.closed or self._exchange.disconnected:
            raise ClientDisconnected("the client closed the connection")
        self._connection.write(data)

    def send_nowait(self, data: bytes) -> bool:
        """Send bytes unless the client takes less than it is sent, or is gone."""
        if self._connection.write_paused or self.closed or self._exchange.disconnected:
            return False
        self._connection.write(data)
        return True

    def close(self, code: int = 0) -> None:
        """Close the connection once all has gone out. Idempotent."""
        if not self.closed:
            self.end()
            self._exchange.upgrade_done()

    # -- for the connection ---------------------------------------------------------------------------------------

    def feed(self, data: bytes) -> None:
        """Take bytes from the client; reading pauses when enough wait."""
        if self.closed:
            return
        self._pieces.append(data)
        self._size += len(data)
        self._wake()
        if self._size > self._connection.limits.body_buffer:
            self._connection.pause_reading()

    def end(self) -> None:
        """Nothing is to be sent any more."""
        self.closed = True
        self._wake()

    def alive(self) -> None:
        """Nobody is asked whether they are still there: that is for those who talk."""

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
