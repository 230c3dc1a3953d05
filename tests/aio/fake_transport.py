"""A transport that goes nowhere."""

from __future__ import annotations

import asyncio

from watchkeeper.aio.wire import Wire


class FakeTransport(asyncio.Transport):
    """Remembers what it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.sent = bytearray()
        self.unsent = 0
        self.closed = False
        self.aborted = asyncio.Event()
        self.paused = False

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.aborted.set()

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.sent += data

    def get_write_buffer_size(self) -> int:
        return self.unsent

    def pause_reading(self) -> None:
        self.paused = True

    def resume_reading(self) -> None:
        self.paused = False


def wire_of(*pieces: bytes, ends: bool = False) -> tuple[Wire, FakeTransport]:
    """A connection on which these bytes have come."""
    wire, transport = Wire(), FakeTransport()
    wire.connection_made(transport)
    for piece in pieces:
        wire.data_received(piece)
    if ends:
        wire.eof_received()
    return wire, transport
