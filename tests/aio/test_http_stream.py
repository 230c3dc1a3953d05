"""Answers of HTTP servers, read piece by piece."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from watchkeeper.aio.http_stream import HttpStream, Malformed, request_head


async def stream_of(data: bytes, *, ends: bool = True) -> HttpStream:
    """A connection on which these bytes have come; nothing is sent on it."""
    reader = asyncio.StreamReader()
    reader.feed_data(data)
    if ends:
        reader.feed_eof()

    class _Writer:
        def is_closing(self) -> bool:
            return False

    return HttpStream((reader, cast(Any, _Writer())))


def read(data: bytes, method: str = "GET", *, ends: bool = False) -> tuple[int, list[bytes], bool]:
    """The status, the pieces of the body, and whether the connection may be used again."""

    async def run() -> tuple[int, list[bytes], bool]:
        stream = await stream_of(data, ends=ends)
        head = await stream.read_head()
        pieces = [piece async for piece in stream.body(head, method)]
        return head.status, pieces, stream.is_reusable

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("data", "method", "body", "reusable"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", "GET", b"abc", True),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", "HEAD", b"", True),
        (b"HTTP/1.1 204 No Content\r\n\r\n", "GET", b"", True),
        (b"HTTP/1.1 304 Not Modified\r\nContent-Length: 3\r\n\r\n", "GET", b"", True),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;x=y\r\nab\r\n1\r\nc\r\n0\r\nT: 1\r\n\r\n",
            "GET",
            b"abc",
            True,
        ),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\na", "GET", b"a", True),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab", "GET", b"a", False),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", "HEAD", b"", False),
        (b"HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "GET", b"", False),
        (b"HTTP/1.1 304 Not Modified\r\nContent-Length: 1\r\n\r\na", "GET", b"", False),
        (b"HTTP/1.1 101 Switching Protocols\r\n\r\n", "GET", b"", False),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\nHTTP/1.1 ", "GET", b"a", False),
        (b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\na", "GET", b"a", False),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na", "GET", b"a", False),
        (
            b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\n\r\nHTTP/1.1 200\r\nContent-Length: 1\r\n\r\na",
            "GET",
            b"a",
            True,
        ),
    ],
)
def test_bodies_end_where_their_heads_say(data: bytes, method: str, body: bytes, *, reusable: bool) -> None:
    _, pieces, again = read(data, method)
    assert (b"".join(pieces), again) == (body, reusable)


def test_what_comes_while_nobody_has_asked_is_no_answer() -> None:
    async def run() -> tuple[bool, bool]:
        stream = await stream_of(b"HTTP/1.1 204 No Content\r\n\r\n", ends=False)
        head = await stream.read_head()
        assert [piece async for piece in stream.body(head, "GET")] == []
        before = stream.is_stale
        stream.reader.feed_data(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        return before, stream.is_stale

    assert asyncio.run(run()) == (False, True)


def test_a_body_without_a_length_ends_with_the_connection() -> None:
    assert read(b"HTTP/1.1 200 OK\r\n\r\nabc", ends=True) == (200, [b"abc"], False)


def test_chunks_are_handed_on_one_by_one() -> None:
    data = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n1\r\nb\r\n0\r\n\r\n"
    assert read(data)[1] == [b"a", b"b"]


@pytest.mark.parametrize(
    "data",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab",
        b"HTTP/1.1 200 OK\r\n",
        b"",
    ],
)
def test_what_breaks_off_is_told_from_what_ends(data: bytes) -> None:
    with pytest.raises(EOFError):
        read(data, ends=True)


@pytest.mark.parametrize(
    "data",
    [
        b"SSH-2.0-x\r\n\r\n",
        b"HTTP/1.1 20 OK\r\n\r\n",
        b"HTTP/1.1 099 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nA : b\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nA: b\rc\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nA b: c\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nA\rb: c\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1, 1\r\n\r\na",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        b"HTTP/1.1 200 OK\r\nContent-Length: " + b"1" * 5000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc",
        b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 200_000 + b"\r\n",
        b"HTTP/1.1 200 OK\r\nA: " + b"b" * 200_000 + b"\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n" * 50,
    ],
)
def test_what_is_no_http_is_refused(data: bytes) -> None:
    with pytest.raises(Malformed):
        read(data, ends=True)


def test_nothing_begins_a_line_of_its_own_in_a_head() -> None:
    assert request_head("GET", "/x", [(b"a", b"b")]) == b"GET /x HTTP/1.1\r\na: b\r\n\r\n"
    with pytest.raises(ValueError, match='invalid header field value for "X-Remote-User"'):
        request_head("GET", "/x", [(b"x-remote-user", b"a\r\nb: c")])
