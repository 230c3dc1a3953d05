"""The client's side of a SPDY/3.1 connection, as kubelets and container runtimes speak it: streams without windows.

Nobody there keeps to windows of flow control, so none are told. Whoever does not read from a connection holds up all of
its streams, and the other side with them: that is what bounds memory.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from watchkeeper.aio.http_stream import HttpStream
from watchkeeper.aio.spdy_frames import (
    Data,
    Frame,
    FrameReader,
    FrameWriter,
    GoneAway,
    Opened,
    Pinged,
    Replied,
    Reset,
    SpdyError,
    data,
    ping,
    reset,
)
from watchkeeper.aio.tls_dial import os_text
from watchkeeper.aio.turns import Turns

_PIECE = 32 * 1024
_REFUSED = 3

Take = Callable[[bytes], Awaitable[None]]
"""Is given what comes on a stream."""


class SpdyBroken(Exception):
    """There is no stream; the message tells why."""


class SpdyStream:
    """One stream. States: opening → open → ended (nothing comes any more)."""

    def __init__(self, connection: SpdyConnection, number: int, take: Take) -> None:
        self._connection = connection
        self.number = number
        self.take = take
        self.accepted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when nothing comes any more: it is finished or reset, or the connection is over, as that goes."""
        self._finished = False

    def __repr__(self) -> str:
        return f"<SpdyStream {self.number}>"

    async def send(self, piece: bytes) -> None:
        """Send bytes, waiting while the other side takes less. Nothing happens once it is finished. Raises OSError."""
        for at in range(0, len(piece), _PIECE):
            if self._finished:
                return
            await self._connection.write(data(self.number, piece[at : at + _PIECE]))

    async def finish(self) -> None:
        """Tell that nothing more is sent. Idempotent. Raises OSError."""
        if not self._finished:
            self._finished = True
            await self._connection.write(data(self.number, b"", last=True))

    def end(self, why: str = "") -> None:
        """Nothing comes any more; `why` is for whoever waits until it is accepted."""
        if not self.ended.done():
            self.ended.set_result(None)
        if not self.accepted.done():
            self.accepted.set_exception(SpdyBroken(why))
            self.accepted.exception()  # whoever waits is told; nobody has to


class SpdyConnection:
    """Over a connection on which HTTP is over. `run` reads it; streams are opened and written to beside it."""

    def __init__(self, stream: HttpStream) -> None:
        self._stream = stream
        self._writer = FrameWriter()
        self._reader = FrameReader()
        self._streams: dict[int, SpdyStream] = {}
        self._next = 1
        self._pings = 1
        self.broken = ""
        """Why the connection is over, "" as long as it goes on."""

    def __repr__(self) -> str:
        return f"<SpdyConnection, {len(self._streams)} streams>"

    async def open(self, headers: Mapping[str, str], take: Take, *, seconds: float) -> SpdyStream:
        """A new stream, once it is accepted. Raises SpdyBroken, also when that takes longer, OSError."""
        if self.broken:
            raise SpdyBroken(self.broken)
        stream = SpdyStream(self, self._next, take)
        self._next += 2
        self._streams[stream.number] = stream
        await self.write(self._writer.opened(stream.number, headers))
        try:
            async with asyncio.timeout(seconds):
                await asyncio.shield(stream.accepted)
        except TimeoutError:
            raise SpdyBroken("Timeout occurred") from None
        return stream

    async def write(self, frame: bytes) -> None:
        """Send a frame, waiting while the other side takes less. Raises OSError."""
        await self._stream.send(frame)

    async def ping(self) -> None:
        """Ask whether somebody is there, not waiting for the answer. Raises OSError."""
        number, self._pings = self._pings, self._pings + 2
        await self.write(ping(number))

    async def run(self) -> None:
        """Hand on what comes until the connection ends, which ends all streams."""
        why = "unexpected EOF"
        turns = Turns()
        try:
            while piece := await self._stream.read():
                for frame in self._reader.feed(piece):
                    await self._handle(frame)
                    if turns.is_due():
                        await asyncio.sleep(0)
        except OSError as problem:
            why = os_text(problem)
        except SpdyError as problem:
            why = f"the other side does not speak SPDY: {problem}"
        finally:
            self.broken = why
            streams, self._streams = self._streams, {}  # which hold this connection, and with it all that it has held
            for stream in streams.values():
                stream.end(why)

    async def _handle(self, frame: Frame) -> None:
        match frame:
            case Data(number, piece, last):
                stream = self._streams.get(number)
                if stream is not None and not stream.ended.done():
                    if piece:
                        await stream.take(piece)
                    if last:
                        stream.end("closed before it was accepted")
            case Replied(number, _, last):
                stream = self._streams.get(number)
                if stream is not None and not stream.accepted.done():
                    stream.accepted.set_result(None)
                    if last:
                        stream.end()
            case Reset(number, _):
                stream = self._streams.pop(number, None)
                if stream is not None:
                    stream.end("Stream reset")
            case Pinged(number):
                if not number % 2:  # those of ours are odd
                    await self.write(ping(number))
            case Opened(number, _, _):
                await self.write(reset(number, _REFUSED))
            case GoneAway():
                pass  # streams that there are go on
