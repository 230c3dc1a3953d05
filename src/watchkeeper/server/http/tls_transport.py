"""TLS on one accepted socket, spoken without a layer in between: OpenSSL reads from the socket and writes to it.

The event loop's own TLS goes through buffers in memory on both ways, and keeps 256 KiB of address space for each
connection. What is written here is encrypted once, a record at a time, straight into the socket; an idle connection
holds what OpenSSL holds.
"""

from __future__ import annotations

import asyncio
import enum
import logging
import socket
import ssl
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

log = logging.getLogger(__name__)

RECORD = 1 << 14
"""The longest TLS record's plain text in bytes; OpenSSL reads and writes one at a time."""
_SLICE = 1 << 18
"""So much is given to OpenSSL at a time. When the socket does not take all, the same bytes must be offered again."""
_CORK: int | None = getattr(socket, "TCP_CORK", None)
_CORKED = 4 * RECORD
"""From so many bytes on, the kernel is told to wait for whole packets: it sends each record by itself otherwise."""
_LOW_SHARE = 4
"""Writing goes on when no more than this share of the limit waits."""


class State(enum.Enum):
    """handshake ─▶ open ─▶ flushing ─▶ goodbye ─▶ closed; every state may go to closed at once."""

    HANDSHAKE = "handshake"
    OPEN = "open"
    FLUSHING = "flushing"
    GOODBYE = "goodbye"
    CLOSED = "closed"


class TlsTransport(asyncio.Transport):
    """An asyncio transport over an SSLSocket. The protocol is made, and told of it, when the handshake is done.

    `close()` writes what waits, says goodbye (close_notify) and waits a moment for the client to do so: closing on
    bytes that nobody has read would make the client lose the end of the answer. Neither that nor the handshake may
    take longer than it is given. `greeted` is called once, when the handshake is over, however it ended.
    """

    __slots__ = (
        "_backlog",
        "_corked",
        "_factory",
        "_fd",
        "_greeted",
        "_high",
        "_loop",
        "_paused_protocol",
        "_protocol",
        "_reading",
        "_size",
        "_socket",
        "_timer",
        "_writing",
        "shutdown_seconds",
        "state",
    )

    def __init__(
        self,
        sock: ssl.SSLSocket,
        loop: asyncio.AbstractEventLoop,
        factory: Callable[[], asyncio.Protocol],
        greeted: Callable[[TlsTransport], None],
        *,
        handshake_seconds: float,
        shutdown_seconds: float,
    ) -> None:
        """`sock` is connected, does not block, and has not begun its handshake."""
        self._socket = sock
        self._fd = sock.fileno()
        self._loop = loop
        self._factory: Callable[[], asyncio.Protocol] | None = factory
        self._greeted: Callable[[TlsTransport], None] | None = greeted
        self._protocol: asyncio.Protocol | None = None
        self._backlog: deque[bytes | memoryview] | None = None
        self._size = 0
        self._corked = False
        self._high = 1 << 16
        self._paused_protocol = False
        self._reading = True
        self._writing = False
        self.shutdown_seconds = shutdown_seconds
        self.state = State.HANDSHAKE
        self._timer: asyncio.TimerHandle | None = loop.call_later(handshake_seconds, self._too_late)
        loop.add_reader(self._fd, self._readable)

    def __repr__(self) -> str:
        return f"<TlsTransport {self.state.value}, {self._size} bytes waiting>"

    # -- what comes in --------------------------------------------------------------------------------------------

    def _readable(self) -> None:
        if self.state is not State.OPEN:
            self._proceed()
            return
        try:
            # One record; while more is there, the loop calls again.
            data = self._socket.recv(RECORD)
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return
        except OSError as error:
            self._lose(error)
            return
        protocol = self._protocol
        assert protocol is not None
        try:
            if data:
                protocol.data_received(data)
            else:
                protocol.eof_received()
                self.close()
        except Exception as error:
            self._failed(protocol, error)

    def _proceed(self) -> None:
        """Readable or writable while the connection begins or ends."""
        if self.state is State.HANDSHAKE:
            self._shake_hands()
        elif self.state is State.FLUSHING:
            self._take_nothing()
        elif self.state is State.GOODBYE:
            self._await_goodbye()

    def _shake_hands(self) -> None:
        try:
            self._socket.do_handshake()
        except ssl.SSLWantReadError:
            self._stop_writing()
            return
        except ssl.SSLWantWriteError:
            self._start_writing()
            return
        except (OSError, ValueError) as error:
            log.debug("a TLS handshake failed: %s", error)
            self._lose(None)
            return
        self._stop_writing()
        self._stop_timer()
        self.state = State.OPEN
        assert self._factory is not None
        protocol = self._protocol = self._factory()
        self._greeting_over()
        try:
            protocol.connection_made(self)
        except Exception as error:
            self._failed(protocol, error)

    def _greeting_over(self) -> None:
        self._factory = None
        greeted, self._greeted = self._greeted, None
        if greeted is not None:
            greeted(self)

    def _too_late(self) -> None:
        log.debug("cutting off a client whose TLS handshake or goodbye takes too long: %r", self)
        self._lose(None)

    def _take_nothing(self) -> None:
        """Drop what comes: nobody wants it any more, but what goes out is still under way."""
        try:
            if not self._socket.recv(RECORD):
                self._stop_reading()
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            pass
        except OSError as error:
            self._lose(error)

    def pause_reading(self) -> None:
        """Take nothing from the socket until `resume_reading`. Idempotent."""
        if self.state is State.OPEN:
            self._stop_reading()

    def resume_reading(self) -> None:
        """Go on reading. Idempotent."""
        if self.state is State.OPEN and not self._reading:
            self._reading = True
            self._loop.add_reader(self._fd, self._readable)

    def is_reading(self) -> bool:
        """Whether the protocol is given what comes."""
        return self._reading and self.state is State.OPEN

    def _stop_reading(self) -> None:
        if self._reading:
            self._reading = False
            self._loop.remove_reader(self._fd)

    # -- what goes out --------------------------------------------------------------------------------------------

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Encrypt and send as much as the socket takes; the rest waits. Never blocks; dropped once closing."""
        if self.state is not State.OPEN or not data:
            return
        if self._size:
            self._keep(data)
            return
        rest: bytes | bytearray | memoryview = data
        try:
            while len(rest) > _SLICE:
                rest = memoryview(rest)
                rest = rest[self._socket.send(rest[:_SLICE]) :]
            sent = self._socket.send(rest)
            while sent < len(rest):
                rest = memoryview(rest)[sent:]
                sent = self._socket.send(rest)
        except ssl.SSLWantWriteError:
            self._keep(rest)
        except OSError as error:
            self._lose(error)

    def writelines(self, list_of_data: Iterable[bytes | bytearray | memoryview]) -> None:
        """Send several pieces in full records: short ones are joined to the beginning or end of long ones."""
        pieces = list(list_of_data)
        if sum(map(len, pieces)) < _CORKED or self.state is not State.OPEN:
            self._write_records(pieces)
            return
        self._cork()
        self._write_records(pieces)
        if not self._size:
            self._uncork()

    def _write_records(self, pieces: list[bytes | bytearray | memoryview]) -> None:
        pending: list[bytes | bytearray | memoryview] = []
        size = 0
        for piece in pieces:
            if size + len(piece) < RECORD:
                pending.append(piece)
                size += len(piece)
                continue
            view = memoryview(piece)
            start = RECORD - size
            if size:
                pending.append(view[:start])
                self.write(b"".join(pending))
            else:
                start = 0
            end = start + (len(view) - start) // RECORD * RECORD
            if end > start:
                self.write(view[start:end])
            pending = [view[end:]] if end < len(view) else []
            size = len(view) - end
        if size:
            self.write(b"".join(pending))

    def _cork(self) -> None:
        """Let packets fill up until `_uncork`, which comes with the last of what is written now."""
        if _CORK is not None and not self._corked:
            self._corked = True
            self._set_cork(1)

    def _uncork(self) -> None:
        if self._corked:
            self._corked = False
            self._set_cork(0)

    def _set_cork(self, value: int) -> None:
        assert _CORK is not None
        try:
            self._socket.setsockopt(socket.IPPROTO_TCP, _CORK, value)
        except OSError as error:
            self._lose(error)

    def _keep(self, rest: bytes | bytearray | memoryview) -> None:
        """Let it wait until the socket takes it. The protocol is told when that is too much."""
        backlog = self._backlog
        if backlog is None:
            backlog = self._backlog = deque()
        backlog.append(bytes(rest) if isinstance(rest, bytearray) else rest)
        self._size += len(rest)
        self._start_writing()
        if self._size > self._high and not self._paused_protocol and self._protocol is not None:
            self._paused_protocol = True
            self._protocol.pause_writing()

    def _writable(self) -> None:
        if not self._size:
            self._proceed()
            return
        backlog = self._backlog
        assert backlog is not None
        try:
            while backlog:
                piece = backlog[0]
                sent = self._socket.send(piece if len(piece) <= _SLICE else memoryview(piece)[:_SLICE])
                self._size -= sent
                if sent < len(piece):
                    backlog[0] = memoryview(piece)[sent:]
                else:
                    backlog.popleft()
        except ssl.SSLWantWriteError:
            pass
        except OSError as error:
            self._lose(error)
            return
        if not backlog:
            self._backlog = None
            self._stop_writing()
            self._uncork()
            if self.state is State.FLUSHING:
                self._say_goodbye()
                return
        if self._paused_protocol and self._size <= self._high // _LOW_SHARE and self.state is State.OPEN:
            self._paused_protocol = False
            assert self._protocol is not None
            self._protocol.resume_writing()

    def _start_writing(self) -> None:
        if not self._writing:
            self._writing = True
            self._loop.add_writer(self._fd, self._writable)

    def _stop_writing(self) -> None:
        if self._writing:
            self._writing = False
            self._loop.remove_writer(self._fd)

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Let the protocol pause when more than `high` bytes wait; it goes on at a quarter of that."""
        if high is not None:
            self._high = high

    def get_write_buffer_size(self) -> int:
        """Bytes that the socket has not taken."""
        return self._size

    # -- the end --------------------------------------------------------------------------------------------------

    def is_closing(self) -> bool:
        """Whether nothing can be written any more."""
        return self.state is not State.OPEN

    def close(self) -> None:
        """Write what waits, then say goodbye. Idempotent."""
        if self.state is State.HANDSHAKE:
            self._lose(None)
        if self.state is not State.OPEN:
            return
        self.state = State.FLUSHING
        self._timer = self._loop.call_later(self.shutdown_seconds, self._too_late)
        if not self._reading:
            self._reading = True
            self._loop.add_reader(self._fd, self._readable)
        if not self._size:
            self._say_goodbye()

    def abort(self) -> None:
        """Close at once, so that the client sees that something is missing. Idempotent."""
        self._lose(None)

    def _say_goodbye(self) -> None:
        self.state = State.GOODBYE
        try:
            self._socket.unwrap()
        except ssl.SSLWantWriteError:
            self._start_writing()
        except ssl.SSLError:
            self._half_close()  # the client has not said it yet, or something else that nobody listens to
        except (OSError, ValueError):
            self._lose(None)
        else:
            self._lose(None)  # both sides have said it

    def _half_close(self) -> None:
        """The goodbye is out. The rest of what the client sends is dropped until it ends its side, too."""
        self._stop_writing()
        try:
            socket.socket.shutdown(self._socket, socket.SHUT_WR)
        except OSError:
            self._lose(None)

    def _await_goodbye(self) -> None:
        if self._writing:
            self._stop_writing()
            self._say_goodbye()
            return
        try:
            # The very bytes: whatever they say, it is not listened to any more.
            if not socket.socket.recv(self._socket, RECORD):
                self._lose(None)
        except BlockingIOError:
            pass
        except OSError:
            self._lose(None)

    def _failed(self, protocol: asyncio.Protocol, error: Exception) -> None:
        context = {"message": "a protocol failed", "exception": error, "transport": self, "protocol": protocol}
        self._loop.call_exception_handler(context)
        self._lose(error)

    def _lose(self, error: Exception | None) -> None:
        """Close the socket; the protocol learns of it in the next round of the loop."""
        if self.state is State.CLOSED:
            return
        self.state = State.CLOSED
        self._stop_timer()
        self._stop_reading()
        self._stop_writing()
        self._socket.close()
        self._backlog, self._size = None, 0
        protocol, self._protocol = self._protocol, None
        if protocol is not None:
            self._loop.call_soon(protocol.connection_lost, error)
        self._greeting_over()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    # -- what is known of it --------------------------------------------------------------------------------------

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """`ssl_object`, `socket`, `peername` or `sockname`; `default` for all else, and for what is lost."""
        if name in ("ssl_object", "socket"):
            return self._socket
        try:
            if name == "peername":
                return self._socket.getpeername()
            if name == "sockname":
                return self._socket.getsockname()
        except OSError:
            pass
        return default
