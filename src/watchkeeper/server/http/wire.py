"""Bytes of HTTP/1.1 answers."""

from __future__ import annotations

import http
from collections.abc import Sequence
from email.utils import formatdate


def _status_line(status: int) -> bytes:
    try:
        phrase = http.HTTPStatus(status).phrase
    except ValueError:
        phrase = ""
    return f"HTTP/1.1 {status} {phrase}\r\n".encode()


STATUS_LINES = {status: _status_line(status) for status in range(100, 1000)}
"""Webhooks may refuse with codes that HTTP has no name for."""
CLOSE = b"connection: close\r\n"
CHUNKED = b"transfer-encoding: chunked\r\n"
LAST_CHUNK = b"0\r\n\r\n"
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
NO_BODY = frozenset({204, 304})


class BadHeader(ValueError):
    """A header name or value with a line break or a NUL in it."""


_LINES: dict[tuple[bytes, bytes], bytes] = {}
_MAX_LINES = 512
_MAX_LINE = 256
_OF_MANY_ANSWERS = frozenset(
    {
        b"cache-control",
        b"content-encoding",
        b"content-type",
        b"strict-transport-security",
        b"vary",
        b"x-content-type-options",
        b"x-kubernetes-pf-flowschema-uid",
        b"x-kubernetes-pf-prioritylevel-uid",
    }
)
"""Others may hold what is meant for one client alone: what it has sent, or what another server has set for it."""


def header_lines(headers: Sequence[tuple[bytes, bytes]]) -> bytes:
    """The lines of `headers`. Raises BadHeader rather than letting a value begin a line of its own."""
    return b"".join([_LINES.get(header) or _line(header) for header in headers])


def _line(header: tuple[bytes, bytes]) -> bytes:
    line = b"%b: %b\r\n" % header
    if line.count(b"\n") != 1 or line.count(b"\r") != 1 or b"\0" in line:
        raise BadHeader("a response header holds a control character")
    if header[0] in _OF_MANY_ANSWERS and len(line) <= _MAX_LINE:
        if len(_LINES) >= _MAX_LINES:
            _LINES.clear()  # those of other servers' answers must not crowd out the others for good
        _LINES[header] = line  # most answers have the same ones
    return line


def plain_answer(status: str, text: str) -> bytes:
    """A whole answer that closes the connection, for requests that never reach the application.

    `status` is a code and what is to be said of it.
    """
    body = text.encode()
    head = b"content-type: text/plain; charset=utf-8\r\nconnection: close\r\ncontent-length: %d\r\n\r\n" % len(body)
    return f"HTTP/1.1 {status}\r\n".encode() + head + body


class LastChunk:
    """A piece of a chunked body as a chunk, remembered because the same piece goes to many watchers in a row."""

    __slots__ = ("_chunk", "_piece")

    def __init__(self) -> None:
        self._piece = b""
        self._chunk = b""

    def of(self, piece: bytes) -> bytes:
        """The chunk of a piece, which must not be empty."""
        if piece is not self._piece:
            self._piece, self._chunk = piece, b"%x\r\n%b\r\n" % (len(piece), piece)
        return self._chunk


class DateLine:
    """The `date` header, made once a second."""

    __slots__ = ("_expires", "_line")

    def __init__(self) -> None:
        self._expires = 0.0
        self._line = b""

    def at(self, now: float, wall: float | None = None) -> bytes:
        """The header's line; `now` is monotonic seconds."""
        if now >= self._expires:
            self._expires = now + 1.0
            self._line = f"date: {formatdate(wall, usegmt=True)}\r\n".encode()
        return self._line
