"""The bodies of answers of HTTP servers, and where they end, judged as Go's client judges it."""

from __future__ import annotations

import re

from watchkeeper.aio.http_head import BrokenHead, Head, parse_fields
from watchkeeper.aio.tls_dial import os_text
from watchkeeper.aio.wire import PIECE_BYTES, TooLong, Wire

_MAX_LINE = 4096
"""The longest line before a chunk; and all that may follow the last one."""
_FREE_BYTES, _FREE_FACTOR = 16, 2
"""A chunk may come with so many bytes beside what it carries, and that times as many as it carries."""
_MAX_EXCESS = 16 * 1024
"""So much more may all of them have: pieces of a byte each are fair, a body that is next to nothing of them is not."""
_plain_chunk = re.compile(rb"\r\n([1-9A-Fa-f][0-9A-Fa-f]{0,6})\r\n").match
"""The end of a chunk and the line before the next one, as servers that mean no harm write it."""
_is_hexadecimal = re.compile(rb"[0-9A-Fa-f]+").fullmatch


class BrokenBody(Exception):
    """A body that did not come to its end; the message tells why in the words of Go's client."""


class Body:
    """The body behind a head, piece by piece as it comes. Nothing behind its end is read.

    States: coming → over, or broken. What `over` says is known with the last piece where the head tells the length,
    and otherwise with the empty one.
    """

    __slots__ = ("_chunked", "_excess", "_first", "_left", "_wire", "has_own_end", "over")

    def __init__(self, wire: Wire, head: Head, method: str) -> None:
        """`method`: that of the request, as answers to HEAD have no body."""
        self._wire = wire
        has_body = head.has_body(method)
        self._chunked = has_body and head.chunked
        self._left = head.length if has_body else 0
        """What is to come of the body, or of its present chunk; None for all until the connection ends."""
        self.has_own_end = self._chunked or self._left is not None
        """Whether it ends otherwise than by the connection's end."""
        if self._chunked:
            self._left = 0
        self._first = True
        self._excess = 0
        self.over = self._left == 0 and not self._chunked
        """Whether its end has come."""

    def __repr__(self) -> str:
        return f"<Body {'over' if self.over else 'coming'}>"

    async def piece(self) -> bytes:
        """The next piece, waiting for it; empty when it is over. Raises BrokenBody."""
        if self.over:
            return b""
        try:
            if self._chunked and not self._left:
                return await self._next_chunks() or await self._next()
            return await self._next()
        except (EOFError, OSError) as problem:
            raise _broken(problem) from problem

    async def beginning(self, most: int) -> bytes:
        """So many bytes of it, or all. Raises BrokenBody."""
        pieces: list[bytes] = []
        left = most
        while left > 0 and (piece := await self.piece()):
            pieces.append(piece)
            left -= len(piece)
        return b"".join(pieces)[:most]

    async def whole(self, most: int) -> bytes | None:
        """All of it if nothing was taken yet, None as soon as it is known to have more bytes than that.

        Raises BrokenBody.
        """
        try:
            if self._chunked:
                return await self._joined(most)
            if self._left is None:
                return await self._until_close(most)
            if self._left > most:
                return None
            body = await self._wire.exactly(self._left)
        except (EOFError, OSError) as problem:
            raise _broken(problem) from problem
        self._left, self.over = 0, True
        return body

    async def _joined(self, left: int) -> bytes | None:
        pieces: list[bytes] = []
        while size := await self._next_chunk():
            left -= size
            if left < 0:
                return None
            pieces.append(await self._wire.exactly(size))
        return b"".join(pieces)

    async def _until_close(self, left: int) -> bytes | None:
        pieces: list[bytes] = []
        while piece := await self._next():
            left -= len(piece)
            if left < 0:
                return None
            pieces.append(piece)
        return b"".join(pieces)

    async def _next(self) -> bytes:
        if self._left == 0:
            self._left = await self._next_chunk()
            if self.over:
                return b""
        if self._left is None:
            piece = await self._wire.piece(PIECE_BYTES)
            self.over = not piece
            return piece
        piece = await self._wire.piece(min(self._left, PIECE_BYTES))
        if not piece:
            raise EOFError
        self._left -= len(piece)
        self.over = self._left == 0 and not self._chunked
        return piece

    async def _next_chunks(self) -> bytes:
        """What all chunks carry that are there already, or will have come next; nothing if one needs a closer look.

        A watch is a chunk an event, and a busy one has dozens of them at a time.
        """
        if self._first or self._excess:
            return b""
        await self._wire.begin()
        held, end, chunks = self._wire.held, 0, []
        while (line := _plain_chunk(held, end)) is not None:
            start = line.end()
            after = start + int(line[1], 16)
            if after > len(held) or after > PIECE_BYTES:
                break
            chunks.append(held[start:after])
            end = after
        if end:
            self._wire.take(end)
        return b"".join(chunks)

    async def _next_chunk(self) -> int:
        """How long the next chunk is; 0 when all is over."""
        if not self._first and await self._wire.exactly(2) != b"\r\n":
            raise BrokenBody("malformed chunked encoding")
        self._first = False
        line = await self._line()
        size = _chunk_size(line)
        self._excess = max(self._excess + len(line) + 2 - _FREE_BYTES - _FREE_FACTOR * size, 0)
        if self._excess > _MAX_EXCESS:
            raise BrokenBody("chunked encoding contains too much non-data")
        if not size:
            await self._skip_trailers()
            self.over = True
        return size

    async def _line(self) -> bytes:
        try:
            line = await self._wire.line(_MAX_LINE)
        except TooLong:
            raise BrokenBody("header line too long") from None
        if b"\r" not in line:
            raise BrokenBody("chunked line ends with bare LF")
        if line.index(b"\r") != len(line) - 2:
            raise BrokenBody("invalid CR in chunked line")
        return line[:-2]

    async def _skip_trailers(self) -> None:
        try:
            block = await self._wire.paragraph(_MAX_LINE)
            if not (block == b"\r\n" or block.endswith(b"\r\n\r\n")):
                raise TooLong
            parse_fields(block)
        except EOFError:
            raise EOFError("http: unexpected EOF reading trailer") from None
        except TooLong:
            raise BrokenBody("http: suspiciously long trailer after chunked body") from None
        except BrokenHead as problem:
            raise BrokenBody(str(problem)) from None


def _broken(problem: EOFError | OSError) -> BrokenBody:
    if isinstance(problem, OSError):
        return BrokenBody(os_text(problem))
    return BrokenBody(str(problem) or "unexpected EOF")


def _chunk_size(line: bytes) -> int:
    digits = line.rstrip(b" \t").partition(b";")[0]
    if not digits:
        raise BrokenBody("empty hex number for chunk length")
    if not _is_hexadecimal(digits):
        raise BrokenBody("invalid byte in chunk length")
    if len(digits) > 16:
        raise BrokenBody("http chunk length too large")
    return int(digits, 16)
