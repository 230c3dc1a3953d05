"""Bodies of requests that ask for another protocol.

httptools ends such a request with its head, so that what is its body would be read as the next request: as one of
somebody else's, where a proxy sends requests of several clients over one connection.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import httptools

_FRAMING = (b"content-length", b"transfer-encoding")


class _Taker(Protocol):
    def on_body(self, body: bytes) -> None: ...

    def on_message_complete(self) -> None: ...


def framing_of(headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    """The header that says where the body ends; empty where there is none."""
    return next((b"%b: %b" % pair for pair in headers if pair[0] in _FRAMING and pair[1] != b"0"), b"")


class UpgradeBody:
    """What the parser tells of the body. What follows it is no request any more."""

    def __init__(self, taker: _Taker) -> None:
        self.on_body = taker.on_body
        self._taker = taker
        self._over = False

    def on_message_begin(self) -> None:
        """Refuse what follows the body."""
        if self._over:
            raise ValueError("a request behind one that asks for another protocol")

    def on_message_complete(self) -> None:
        """The body is complete."""
        self._over = True
        self._taker.on_message_complete()


def body_parser(taker: _Taker, framing: bytes) -> httptools.HttpRequestParser:
    """A parser that has read a head with this header, and tells of the body."""
    parser = httptools.HttpRequestParser(UpgradeBody(taker))
    parser.feed_data(b"POST / HTTP/1.1\r\n%b\r\n\r\n" % framing)
    return parser
