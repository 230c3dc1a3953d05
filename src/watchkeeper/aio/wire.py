"""One connection to a server: bytes out, and bytes in by lines or by pieces."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import cast

PIECE_BYTES = 64 * 1024
_MAX_HELD = 2 * PIECE_BYTES
_FAREWELL_SECONDS = 1.0


class TooLong(Exception):
    """There was no end of a line where there has to be one."""


class Wire(asyncio.Protocol):
    """The protocol of a transport. One task may read and one may write at a time.

    What has come and was not taken yet is held; nothing more is read while that is more than whoever waits has asked
    for. All that came before the connection broke can be taken, and only then one learns that it did.

    States: open → ended (nothing comes any more) → lost (nothing goes any more); `close` leads to both.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._transport = cast(asyncio.Transport, None)  # until `connection_made`, which is before anybody has it
        self._source = self._transport
        """What is told to pause, which is the transport below TLS: that of the loop forgets what it holds back when the
        server closes meanwhile."""
        self._held = bytearray()
        self._waiter: asyncio.Future[None] | None = None
        """Of whoever waits; one that is done is nobody's any more."""
        self._paused = False
        self._secure = False
        self._ended = False
        self._lost = False
        self._failure: Exception | None = None
        self._writable = asyncio.Event()
        self._writable.set()
        self._farewell: asyncio.TimerHandle | None = None

    def __repr__(self) -> str:
        state = "lost" if self._lost else "ended" if self._ended else "open"
        return f"<Wire {state}, {len(self._held)} bytes held>"

    @property
    def held(self) -> bytearray:
        """What has come and was not taken yet. It is for looking at only, until the next `take` or wait."""
        return self._held

    @property
    def is_idle(self) -> bool:
        """Whether it is open, all was sent, and nothing has come that was not taken."""
        return not (
            self._held or self._ended or self._transport.is_closing() or self._transport.get_write_buffer_size()
        )

    # -- reading ---------------------------------------------------------------------------------------------------

    async def begin(self) -> None:
        """Wait until there is something to be read. Raises EOFError where there never will be, OSError."""
        while not self._held:
            await self._more()

    def take(self, count: int) -> bytes:
        """What is there, up to so many bytes, without waiting."""
        held = self._held
        if count >= len(held):
            taken = bytes(held)
            held.clear()
        else:
            taken = bytes(memoryview(held)[:count])
            del held[:count]
        return taken

    async def line(self, most: int) -> bytes:
        """The next line with its end. Raises EOFError where it has none, TooLong for more than `most`, OSError."""
        while (end := self._held.find(b"\n", 0, most) + 1) == 0:
            await self._more(most)
        return self.take(end)

    async def paragraph(self, most: int, look: Callable[[bytes], object] | None = None) -> bytes:
        """The next lines with the first one that is empty, likewise.

        `look` is shown the first line as soon as it is there, if the last one is not yet; what it raises is passed on.
        """
        seen = 0
        while (end := self._paragraph_end(seen, most)) == 0:
            if look is not None and (first := self._held.find(b"\n") + 1):
                look(bytes(self._held[:first]))
                look = None
            seen = max(len(self._held) - 2, 0)
            await self._more(most)
        return self.take(end)

    async def piece(self, most: int) -> bytes:
        """What there is, up to so many bytes, waiting when there is nothing; empty at the end. Raises OSError."""
        try:
            await self.begin()
        except EOFError:
            return b""
        return self.take(most)

    async def exactly(self, count: int) -> bytes:
        """So many bytes. Raises EOFError where there are less, OSError."""
        while len(self._held) < count:
            await self._more()
        return self.take(count)

    async def _more(self, most: int | None = None) -> None:
        """Wait until there is more, of what has no end yet and may have so many bytes."""
        if most is not None and len(self._held) >= most:
            raise TooLong
        if self._ended:
            raise self._failure or EOFError()
        if self._paused and not self._transport.is_closing():
            self._paused = False
            self._source.resume_reading()
        self._waiter = self._loop.create_future()
        await self._waiter

    def _paragraph_end(self, start: int, most: int) -> int:
        held = self._held
        if held.startswith((b"\r\n", b"\n")):
            return held.index(b"\n") + 1
        end = held.find(b"\n\r\n", start, most) + 3
        bare = held.find(b"\n\n", start, end if end > 2 else most) + 2
        return bare if bare > 1 else end if end > 2 else 0

    # -- writing ---------------------------------------------------------------------------------------------------

    def write(self, data: bytes) -> None:
        """Send bytes, waiting for nothing. Where they cannot be sent, reading tells so."""
        if not self._lost:
            self._transport.write(data)

    async def drain(self) -> None:
        """Wait while the server takes less than it is sent. Raises OSError."""
        await self._writable.wait()
        if self._lost:
            raise (
                self._failure
                if isinstance(self._failure, OSError)
                else ConnectionResetError("the connection was closed")
            )

    def close(self) -> None:
        """Close, whatever is still under way: nothing is read any more, and a server that does not let go is cut off.

        Idempotent. Not at once, because uvloop's TLS complains of what it still had to do.
        """
        transport = self._transport
        if not transport.is_closing():
            transport.close()
            self._farewell = self._loop.call_later(_FAREWELL_SECONDS, transport.abort)

    # -- for the transport -----------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self._transport = self._source = cast(asyncio.Transport, transport)

    def securing(self) -> None:
        """All that comes from now on comes through TLS."""
        self._secure = True

    def secured(self, transport: asyncio.Transport) -> None:
        """From now on all goes through TLS, over the transport that it has."""
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Hold what has come; reading pauses when enough waits."""
        self._held += data
        if len(self._held) > _MAX_HELD and not self._transport.is_closing():
            self._paused = True
            self._source.pause_reading()
        self._wake()

    def eof_received(self) -> bool:
        """Nothing comes any more; True where something may still be sent."""
        self._ended = True
        self._wake()
        return not self._secure

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing comes or goes any more."""
        self._ended = self._lost = True
        self._failure = exc
        self._writable.set()
        if self._farewell is not None:
            self._farewell.cancel()
        self._wake()

    def pause_writing(self) -> None:
        """The server takes less than it is sent."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """It has taken what it was sent."""
        self._writable.set()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
