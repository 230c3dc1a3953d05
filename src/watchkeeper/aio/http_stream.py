"""A connection to an HTTP/1.1 server: one request after the other, and the answer to each.

Whoever asks a server over HTTP/1.1 does so on an `HttpStream`. It holds these promises, whatever the server sends:

- What counts as an answer is what counts as one for Go's `net/http`, and what does not is told in its words. Heads and
  bodies are parsed by `http_head` and `http_body`, and nowhere else.
- Memory is bounded: heads, with all interim ones before them, by `MAX_HEAD_BYTES`; lines and trailers of chunked bodies
  by a few KiB; bodies are handed on by pieces.
- An answer that breaks off is never taken for a whole one, at whatever byte it does.
- `NoAnswer` means that not one byte of an answer came, so that the request may be sent again if the connection had been
  `used` before. Whatever else breaks means that the server has begun to answer.
- All bytes that came before a connection broke are read before that is told.
- A connection is reusable only after an answer with an end of its own, read to that end, to a request that was sent
  whole, with nothing behind it: what nobody has asked for is never the next answer.
- It is nobody's but its user's. Who gives up on it, be it because they are cancelled, has to `close` it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from watchkeeper.aio.http_body import Body, BrokenBody
from watchkeeper.aio.http_head import BrokenHead, Head, canonical, parse_head, parse_status_line
from watchkeeper.aio.tls_dial import os_text
from watchkeeper.aio.wire import PIECE_BYTES, TooLong, Wire

MAX_HEAD_BYTES = 1 << 20
"""Go's client takes ten times as much: a head is parsed in one go, for which nobody else should have to wait."""

_ends_value = re.compile(rb"[\r\n\0]").search


class NoAnswer(Exception):
    """The connection was closed or broke before anything of an answer came; the message tells which."""


class HttpStream:
    """One connection. States: idle → asked → head read → idle again, if it `is_reusable`; or closed, at any time."""

    __slots__ = ("_body", "_head", "_known", "_wire", "used")

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._head: Head | None = None
        self._body: Body | None = None
        self._known: Head | None = None
        """The head before this one. Most servers answer alike for a second, and parsing costs more than all else."""
        self.used = False
        """Whether it has answered a request before."""

    def __repr__(self) -> str:
        return f"<HttpStream {'used' if self.used else 'new'}>"

    @property
    def is_stale(self) -> bool:
        """Whether the server has closed it meanwhile, or sent what nobody has asked for."""
        return not self._wire.is_idle

    @property
    def is_reusable(self) -> bool:
        """Whether an answer was read to its end and the connection goes on, as far as is known."""
        head, body = self._head, self._body
        if head is None or body is None:
            return False
        return body.over and body.has_own_end and head.leaves_open and self._wire.is_idle

    def ask(self, data: bytes) -> None:
        """Begin a request with these bytes, not waiting until they are sent: it may be answered before that."""
        self._head = self._body = None
        self._wire.write(data)

    async def send(self, data: bytes) -> None:
        """Send more of it, waiting while the server takes less than it is sent. Raises OSError."""
        self._wire.write(data)
        await self._wire.drain()

    async def send_chunk(self, piece: bytes) -> None:
        """Send a piece of a body in chunks; an empty one ends it. Raises OSError."""
        await self.send(b"%x\r\n%b\r\n" % (len(piece), piece))

    async def read_head(self) -> Head:
        """How the answer begins, all that came before it left out. Raises NoAnswer, BrokenHead."""
        try:
            await self._wire.begin()
        except EOFError as problem:
            raise NoAnswer("EOF") from problem
        except OSError as problem:
            raise NoAnswer(os_text(problem)) from problem
        try:
            head = await self._final_head()
        except EOFError as problem:
            raise BrokenHead("unexpected EOF") from problem
        except OSError as problem:
            raise BrokenHead(os_text(problem)) from problem
        except TooLong:
            raise BrokenHead(f"net/http: server response headers exceeded {MAX_HEAD_BYTES} bytes; aborted") from None
        self._head = head
        self.used = True
        return head

    async def _final_head(self) -> Head:
        left = MAX_HEAD_BYTES
        while True:
            # Who speaks another protocol may wait for us now.
            block = await self._wire.paragraph(left, look=parse_status_line)
            head = self._known
            if head is None or head.raw != block:
                head = self._known = parse_head(block)
            if not head.is_interim:
                return head
            left -= len(block)

    def body(self, method: str) -> Body:
        """The body behind the head that was read; `method` is that of the request."""
        assert self._head is not None
        self._body = Body(self._wire, self._head, method)
        return self._body

    async def read(self) -> bytes:
        """What comes behind a head after which HTTP is over; empty at the end. Raises OSError."""
        return await self._wire.piece(PIECE_BYTES)

    def close(self) -> None:
        """Close, whatever is still under way. Idempotent."""
        self._head = self._body = None
        self._wire.close()


def transport_text(problem: Exception) -> str:
    """What Go's client says of a request that came to nothing, as it wraps what is wrong with a head."""
    if isinstance(problem, BrokenHead):
        return f"net/http: HTTP/1.x transport connection broken: {problem}"
    return str(problem)


def request_head(method: str, target: str, headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    """How a request begins. Raises ValueError, in the words of Go's client, for what may not stand there."""
    lines = [f"{method} {target} HTTP/1.1\r\n".encode("latin-1")]
    for name, value in headers:
        if _ends_value(value) is not None:
            raise ValueError(f'net/http: invalid header field value for "{canonical(name)}"')
        lines.append(b"%b: %b\r\n" % (name, value))
    return b"".join([*lines, b"\r\n"])


__all__ = [
    "Body",
    "BrokenBody",
    "BrokenHead",
    "Head",
    "HttpStream",
    "NoAnswer",
    "request_head",
    "transport_text",
]
