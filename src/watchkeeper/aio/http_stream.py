"""A connection to an HTTP/1.1 server on which requests and answers are passed through piece by piece."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Iterable
from dataclasses import dataclass

from watchkeeper.aio.tls_dial import Streams, has_unread

PIECE_BYTES = 64 * 1024
_MAX_HEAD_BYTES = 1 << 20
_MAX_INTERIM = 16
"""So many answers may come before the real one."""
_NO_BODY = frozenset({101, 204, 304})
_is_length = re.compile(rb"[0-9]{1,18}").fullmatch
_is_name = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+").fullmatch
_is_chunk_size = re.compile(rb"[0-9A-Fa-f]{1,15}").fullmatch
_FAREWELL_SECONDS = 1.0

Headers = tuple[tuple[bytes, bytes], ...]


class Malformed(Exception):
    """What came is no HTTP; the message says so in the words of Go's client."""


@dataclass(frozen=True, slots=True)
class Head:
    """How an answer begins. Names of headers are in lower case."""

    status: int
    headers: Headers
    raw: bytes
    """As it came, with the empty line behind it."""

    def values(self, name: bytes) -> list[bytes]:
        """All values of a header."""
        return [value for each, value in self.headers if each == name]

    def first(self, name: bytes) -> bytes:
        """The first value of a header, empty when there is none."""
        return next(iter(self.values(name)), b"")

    @property
    def chunked(self) -> bool:
        """Whether the body comes in chunks."""
        return bool(self.first(b"transfer-encoding"))

    @property
    def length(self) -> int | None:
        """How long the body is, None when that is not told."""
        told = self.first(b"content-length")
        return int(told) if told else None


class HttpStream:
    """One connection, used for one request after the other. All that is read is bounded by what the reader buffers."""

    __slots__ = ("_open", "reader", "used", "writer")

    def __init__(self, streams: Streams) -> None:
        self.reader, self.writer = streams
        self.used = False
        """Whether it has answered a request before."""
        self._open = False

    def __repr__(self) -> str:
        return f"<HttpStream {'used' if self.used else 'new'}>"

    @property
    def is_stale(self) -> bool:
        """Whether the server has closed it meanwhile, or sent what nobody has asked for."""
        return self.writer.is_closing() or has_unread(self.reader)

    @property
    def is_reusable(self) -> bool:
        """Whether an answer was read to its end and the connection goes on."""
        return self._open and not self.is_stale

    async def send(self, data: bytes) -> None:
        """Send bytes, waiting while the server takes less than it is sent. Raises OSError."""
        self.writer.write(data)
        await self.writer.drain()

    async def send_chunk(self, piece: bytes) -> None:
        """Send a piece of a body in chunks; an empty one ends it. Raises OSError."""
        await self.send(b"%x\r\n%b\r\n" % (len(piece), piece))

    async def read_head(self) -> Head:
        """How the answer begins. Raises OSError, EOFError, Malformed."""
        for _ in range(_MAX_INTERIM):
            head = _head(await self._head_bytes())
            if head.status >= 200 or head.status == 101:
                return head
        raise Malformed("net/http: HTTP/1.x transport connection broken: too many 1xx informational responses")

    async def _head_bytes(self) -> bytes:
        lines: list[bytes] = []
        size = 0
        while True:
            try:
                line = await self.reader.readuntil(b"\n")
            except asyncio.LimitOverrunError:
                raise Malformed("net/http: server response headers exceeded limit") from None
            if line in (b"\r\n", b"\n"):
                if lines:
                    return b"".join([*lines, line])
                continue
            size += len(line)
            if size > _MAX_HEAD_BYTES:
                raise Malformed("net/http: server response headers exceeded limit")
            lines.append(line)

    async def body(self, head: Head, method: str) -> AsyncGenerator[bytes]:
        """The body of an answer, piece by piece as it comes. Raises OSError, EOFError, Malformed."""
        if method == "HEAD" or head.status in _NO_BODY:
            pieces = None
        elif head.chunked:
            pieces = self._chunks()
        else:
            pieces = self._counted(head.length) if head.length is not None else self._rest()
        if pieces is not None:
            async for piece in pieces:
                yield piece
        self._open = _leaves_open(head) and (pieces is None or head.chunked or head.length is not None)
        self.used = True

    async def _counted(self, left: int) -> AsyncGenerator[bytes]:
        while left:
            piece = await self.reader.read(min(left, PIECE_BYTES))
            if not piece:
                raise EOFError("unexpected EOF")
            left -= len(piece)
            yield piece

    async def _rest(self) -> AsyncGenerator[bytes]:
        while piece := await self.reader.read(PIECE_BYTES):
            yield piece

    async def _chunks(self) -> AsyncGenerator[bytes]:
        while size := await self._chunk_size():
            async for piece in self._counted(size):
                yield piece
            if await self.reader.readexactly(2) != b"\r\n":
                raise Malformed("malformed chunked encoding")
        while (await self._line()).strip():
            pass

    async def _chunk_size(self) -> int:
        text = (await self._line()).partition(b";")[0].strip()
        if not _is_chunk_size(text):
            raise Malformed("invalid byte in chunk length")
        return int(text, 16)

    async def _line(self) -> bytes:
        try:
            return await self.reader.readuntil(b"\n")
        except asyncio.LimitOverrunError:
            raise Malformed("header line too long") from None

    def begin(self) -> None:
        """A request is about to be sent on it."""
        self._open = False

    def abort(self) -> None:
        """Close, whatever is still under way: nothing is read any more, and a server that does not let go is cut off.

        Idempotent. Not at once, because uvloop's TLS complains of what it still had to do.
        """
        self._open = False
        transport = self.writer.transport
        if not transport.is_closing():
            transport.close()
            asyncio.get_running_loop().call_later(_FAREWELL_SECONDS, transport.abort)

    def close(self) -> None:
        """Close in an orderly way."""
        self._open = False
        self.writer.close()


def request_head(method: str, target: str, headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    """How a request begins. Raises ValueError, in the words of Go's client, for what may not stand there."""
    lines = [f"{method} {target} HTTP/1.1\r\n".encode("latin-1")]
    for name, value in headers:
        if not _may_be_value(value):
            raise ValueError(f'net/http: invalid header field value for "{_canonical(name)}"')
        lines.append(b"%b: %b\r\n" % (name, value))
    return b"".join([*lines, b"\r\n"])


def _may_be_value(value: bytes) -> bool:
    return not any(byte in value for byte in (b"\r", b"\n", b"\0"))


def _canonical(name: bytes) -> str:
    return "-".join(part.capitalize() for part in name.decode("latin-1").split("-"))


def _head(raw: bytes) -> Head:
    first, *lines = raw.rstrip(b"\r\n").split(b"\n")
    parts = first.strip().split(b" ", 2)
    if len(parts) < 2 or not parts[0].startswith(b"HTTP/1.") or not _is_status(parts[1]):
        raise Malformed(f'malformed HTTP response "{first.strip().decode("latin-1")}"')
    headers: list[tuple[bytes, bytes]] = []
    for line in lines:
        name, colon, value = line.partition(b":")
        if not colon or not _is_name(name) or not _may_be_value(value.strip()):
            raise Malformed(f"malformed MIME header line: {line.strip().decode('latin-1')}")
        headers.append((name.lower(), value.strip()))
    return Head(int(parts[1]), _framed_once(headers), raw)


def _framed_once(headers: list[tuple[bytes, bytes]]) -> Headers:
    """Headers that leave no doubt about where the body ends. Raises Malformed for others."""
    encodings = [value.decode("latin-1") for name, value in headers if name == b"transfer-encoding"]
    if len(encodings) > 1:
        raise Malformed(f"too many transfer encodings: {_quoted(encodings)}")
    if encodings and encodings[0].lower() != "chunked":
        raise Malformed(f'unsupported transfer encoding: "{encodings[0]}"')
    lengths = [value for name, value in headers if name == b"content-length"]
    if len(set(lengths)) > 1:
        told = _quoted(length.decode("latin-1") for length in lengths)
        raise Malformed(f"http: message cannot contain multiple Content-Length headers; got {told}")
    if not lengths:
        return tuple(headers)
    if not _is_length(lengths[0]):
        raise Malformed(f'bad Content-Length "{lengths[0].decode("latin-1")}"')
    others = (pair for pair in headers if pair[0] != b"content-length")
    return (*others, (b"content-length", lengths[0]))


def _quoted(values: Iterable[str]) -> str:
    return "[" + " ".join(f'"{value}"' for value in values) + "]"


def _is_status(text: bytes) -> bool:
    return len(text) == 3 and text.isdigit() and text >= b"100"


def _leaves_open(head: Head) -> bool:
    said = b",".join(head.values(b"connection")).lower()
    return head.status != 101 and b"close" not in said and not head.raw.startswith(b"HTTP/1.0")
