"""The frames of SPDY/3.1, as bytes: https://www.chromium.org/spdy/spdy-protocol/spdy-protocol-draft3-1/."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Mapping
from enum import IntEnum
from typing import NamedTuple

MAX_DATA = (1 << 24) - 1
"""Bytes that a frame can have."""
_VERSION = 0x8003
_FIN = 0x01
_MAX_CONTROL = 256 * 1024
"""Bytes of a control frame, or of its headers: those that anybody sends have some dozens."""
_MAX_HEADERS = 1000

_NAMES = (
    "options head post put delete trace accept accept-charset accept-encoding accept-language accept-ranges age allow "
    "authorization cache-control connection content-base content-encoding content-language content-length "
    "content-location content-md5 content-range content-type date etag expect expires from host if-match "
    "if-modified-since if-none-match if-range if-unmodified-since last-modified location max-forwards pragma "
    "proxy-authenticate proxy-authorization range referer retry-after server te trailer transfer-encoding upgrade "
    "user-agent vary via warning www-authenticate method get status 200+OK version HTTP/1.1 url public set-cookie "
    "keep-alive origin"
)
_TEXTS = (
    "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505"
    "203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized403 Forbidden"
    "404 Not Found500 Internal Server Error501 Not Implemented503 Service Unavailable"
    "Jan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMT"
    "chunked,text/html,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,text/plain,text/javascript,"
    "publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0."
)
DICTIONARY = (
    b"".join(struct.pack(">I", len(name)) + name.replace("+", " ").encode() for name in _NAMES.split(" "))
    + _TEXTS.encode()
)
"""What both sides take compressed headers to follow: texts, each behind its length, and then some without."""


class _Type(IntEnum):
    """Of control frames."""

    SYN_STREAM = 1
    SYN_REPLY = 2
    RST_STREAM = 3
    PING = 6
    GOAWAY = 7
    HEADERS = 8


class SpdyError(Exception):
    """The other side does not keep to the protocol; the message tells how."""


class Opened(NamedTuple):
    """SYN_STREAM: a stream begins."""

    stream: int
    headers: Mapping[str, str]
    last: bool
    """Whether its sender has nothing more to say on it."""


class Replied(NamedTuple):
    """SYN_REPLY: a stream is accepted."""

    stream: int
    headers: Mapping[str, str]
    last: bool


class Reset(NamedTuple):
    """RST_STREAM: a stream is over, or was never wanted."""

    stream: int
    status: int


class Pinged(NamedTuple):
    """PING, or the answer to one."""

    number: int


class GoneAway(NamedTuple):
    """GOAWAY: there will be no more streams."""

    last_stream: int


class Data(NamedTuple):
    """What is said on a stream, or a part of it."""

    stream: int
    data: bytes
    last: bool


Frame = Opened | Replied | Reset | Pinged | GoneAway | Data


class FrameWriter:
    """Makes frames of one direction, in the order in which they are sent, as headers are compressed by earlier ones."""

    def __init__(self) -> None:
        self._compressor = zlib.compressobj(zdict=DICTIONARY)

    def opened(self, stream: int, headers: Mapping[str, str], *, last: bool = False) -> bytes:
        """A SYN_STREAM."""
        return _control(_Type.SYN_STREAM, _FIN * last, struct.pack(">IIH", stream, 0, 0) + self._block(headers))

    def replied(self, stream: int, headers: Mapping[str, str], *, last: bool = False) -> bytes:
        """A SYN_REPLY."""
        return _control(_Type.SYN_REPLY, _FIN * last, struct.pack(">I", stream) + self._block(headers))

    def _block(self, headers: Mapping[str, str]) -> bytes:
        texts = [text.encode() for pair in headers.items() for text in pair]
        block = struct.pack(">I", len(headers)) + b"".join(struct.pack(">I", len(each)) + each for each in texts)
        return self._compressor.compress(block) + self._compressor.flush(zlib.Z_SYNC_FLUSH)


def reset(stream: int, status: int) -> bytes:
    """A RST_STREAM."""
    return _control(_Type.RST_STREAM, 0, struct.pack(">II", stream, status))


def ping(number: int) -> bytes:
    """A PING."""
    return _control(_Type.PING, 0, struct.pack(">I", number))


def gone_away(last_stream: int) -> bytes:
    """A GOAWAY, for no fault."""
    return _control(_Type.GOAWAY, 0, struct.pack(">II", last_stream, 0))


def data(stream: int, piece: bytes, *, last: bool = False) -> bytes:
    """What is said on a stream, at most `MAX_DATA` bytes."""
    assert len(piece) <= MAX_DATA
    return struct.pack(">II", stream, (_FIN * last) << 24 | len(piece)) + piece


def _control(kind: int, flags: int, body: bytes) -> bytes:
    return struct.pack(">HHI", _VERSION, kind, flags << 24 | len(body)) + body


class FrameReader:
    """Reads the frames of one direction as their bytes come.

    Data is handed on as it comes, too, be its frame whole or not: no more is held than a control frame has.
    """

    def __init__(self) -> None:
        self._held = b""
        self._decompressor = zlib.decompressobj(zdict=DICTIONARY)
        self._data: tuple[int, bool, int] | None = None
        """The stream of the data that is coming, whether it is the last, and how many bytes are to come."""

    def __repr__(self) -> str:
        return f"<FrameReader, {len(self._held)} bytes held>"

    def feed(self, given: bytes) -> Iterator[Frame]:
        """The frames that are known with these bytes. Raises SpdyError. Of what nobody needs nothing is told."""
        held = self._held + given
        at = 0
        try:
            while True:
                if self._data is not None:
                    stream, last, left = self._data
                    piece = held[at : at + left]
                    if not piece and left:
                        break
                    at += len(piece)
                    left -= len(piece)
                    self._data = (stream, last, left) if left else None
                    yield Data(stream, piece, last and not left)
                    continue
                if len(held) - at < 8:
                    break
                first, second = struct.unpack_from(">II", held, at)
                flags, length = second >> 24, second & MAX_DATA
                if not first >> 31:
                    at += 8
                    self._data = (first, bool(flags & _FIN), length)
                    continue
                if length > _MAX_CONTROL:
                    raise SpdyError(f"a control frame of {length} bytes")
                if len(held) - at < 8 + length:
                    break
                body = held[at + 8 : at + 8 + length]
                at += 8 + length
                if first >> 16 != _VERSION:
                    raise SpdyError(f"version {(first >> 16) & 0x7FFF} of the protocol")
                frame = self._control(first & 0xFFFF, flags, body)
                if frame is not None:
                    yield frame
        finally:
            self._held = held[at:]

    def _control(self, kind: int, flags: int, body: bytes) -> Frame | None:
        try:
            match kind:
                case _Type.SYN_STREAM:
                    stream, _, _ = struct.unpack_from(">IIH", body)
                    return Opened(stream & 0x7FFFFFFF, self._headers(body[10:]), bool(flags & _FIN))
                case _Type.SYN_REPLY:
                    (stream,) = struct.unpack_from(">I", body)
                    return Replied(stream & 0x7FFFFFFF, self._headers(body[4:]), bool(flags & _FIN))
                case _Type.RST_STREAM:
                    stream, status = struct.unpack(">II", body)
                    return Reset(stream & 0x7FFFFFFF, status)
                case _Type.PING:
                    return Pinged(struct.unpack(">I", body)[0])
                case _Type.GOAWAY:
                    return GoneAway(struct.unpack_from(">I", body)[0] & 0x7FFFFFFF)
                case _Type.HEADERS:
                    self._headers(body[4:])  # as what follows is compressed by it
        except struct.error as problem:
            raise SpdyError(f"a control frame of type {kind} that is too short") from problem
        return None

    def _headers(self, block: bytes) -> dict[str, str]:
        try:
            plain = self._decompressor.decompress(block, _MAX_CONTROL)
        except zlib.error as problem:
            raise SpdyError(f"headers that cannot be decompressed: {problem}") from problem
        if self._decompressor.unconsumed_tail:
            raise SpdyError("headers that are too long")
        (count,) = struct.unpack_from(">I", plain)
        if count > _MAX_HEADERS:
            raise SpdyError(f"{count} headers")
        texts: list[str] = []
        at = 4
        for _ in range(2 * count):
            (length,) = struct.unpack_from(">I", plain, at)
            at += 4 + length
            if at > len(plain):
                raise SpdyError("headers that are cut off")
            texts.append(plain[at - length : at].decode(errors="replace"))
        return dict(zip(texts[::2], texts[1::2], strict=True))
