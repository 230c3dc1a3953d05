"""Heads of requests that came before.

Clients send the same headers with request after request. What is, but for its first line, the head that was parsed
before means what that meant, so nobody parses it again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

Headers = Sequence[tuple[bytes, bytes]]

# Only what is HTTP for sure, and means nothing but itself: the parser knows better about the rest.
_first_line = re.compile(rb"(DELETE|GET|PATCH|POST|PUT) (/[!\"$-~]*) HTTP/1\.1\r\n").match
_bad_escape = re.compile(rb"%(?![0-9A-Fa-f]{2})").search
_SPECIAL = frozenset((b"transfer-encoding", b"expect", b"upgrade"))
_GUESSES = 3
"""So many heads in a row are remembered in vain before a client is taken for one that sends another each time."""

_MAX_BYTES, _MAX_HEADERS = 8192, 64
"""Of longer heads nothing is remembered: thousands of connections may hold one each while nobody asks anything."""


class KnownRequest(NamedTuple):
    """A request that came in one piece and has the head that is remembered."""

    method: str
    target: bytes
    headers: Headers
    body: bytes


class HeadMemory:
    """The head of a connection's last request: all lines behind the first, and what they were parsed into."""

    __slots__ = ("_guesses", "_headers", "_length", "_rest", "noted")

    def __init__(self) -> None:
        self._guesses = _GUESSES
        self._rest = b""
        self._headers: Headers = ()
        self._length = 0
        self.noted: Headers = ()
        """What the parser has just found in a head after which the connection stays open, names in lower case."""

    def __repr__(self) -> str:
        return f"<HeadMemory of {len(self._headers)} headers and {self._length} bytes of body>"

    def keep(self, data: bytes) -> None:
        """Remember the head of the request that was noted, if `data` is all of it and its meaning is in its bytes."""
        headers, self.noted = self.noted, ()
        if not headers or not self._guesses:
            return
        self._rest = b""
        line, end = _first_line(data), data.find(b"\r\n\r\n") + 4
        if end > _MAX_BYTES or len(headers) > _MAX_HEADERS:
            return
        lengths = [value for name, value in headers if name == b"content-length"]
        if line is None or end < 4 or len(lengths) > 1 or any(name in _SPECIAL for name, _ in headers):
            return
        length = int(lengths[0]) if lengths else 0
        if len(data) == end + length:
            self._rest, self._headers, self._length = data[line.end() : end], headers, length
            self._guesses -= 1

    def read(self, data: bytes) -> KnownRequest | None:
        """The request, when `data` is all of one with the head that is remembered, and nothing else."""
        rest = self._rest
        if not rest:
            return None
        line = _first_line(data)
        if line is None or not data.startswith(rest, line.end()):
            return None
        start = line.end() + len(rest)
        if len(data) != start + self._length:
            return None
        target = line[2]
        if b"%" in target and _bad_escape(target.partition(b"?")[0]):
            return None
        self._guesses = _GUESSES
        return KnownRequest(line[1].decode("ascii"), target, self._headers, data[start:])
