"""Answers of HTTP servers, read piece by piece."""

from __future__ import annotations

import asyncio

import pytest
from tests.aio.fake_transport import wire_of

from watchkeeper.aio.http_stream import BrokenBody, BrokenHead, HttpStream, NoAnswer, request_head
from watchkeeper.aio.wire import PIECE_BYTES


def read(data: bytes, method: str = "GET", *, ends: bool = False) -> tuple[int, list[bytes], bool]:
    """The status, the pieces of the body, and whether the connection may be used again."""

    async def run() -> tuple[int, list[bytes], bool]:
        stream = HttpStream(wire_of(data, ends=ends)[0])
        stream.ask(b"")
        head = await stream.read_head()
        body, pieces = stream.body(method), []
        while piece := await body.piece():
            pieces.append(piece)
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


def test_a_connection_is_reusable_once_its_answer_is_over_and_nothing_is_behind_it() -> None:
    async def run() -> list[bool]:
        wire, transport = wire_of(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{")
        stream = HttpStream(wire)
        found = [stream.is_reusable]
        stream.ask(b"GET")
        await stream.read_head()
        found.append(stream.is_reusable)
        body = stream.body("GET")
        await body.piece()
        found.append(stream.is_reusable)
        wire.data_received(b"}")
        await body.piece()
        found.append(stream.is_reusable)
        transport.unsent = 1
        found.append(stream.is_reusable)
        transport.unsent = 0
        wire.data_received(b"H")
        found += [stream.is_reusable, stream.is_stale]
        return found

    assert asyncio.run(run()) == [False, False, False, True, False, False, True]


def test_a_head_that_is_the_one_before_is_not_the_answer_before() -> None:
    async def run() -> list[bytes]:
        head = b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n"
        other = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"
        wire, _ = wire_of(head, b"a")
        stream = HttpStream(wire)
        found = []
        for data in (b"", head + b"b", other + b"cd", head + b"e"):
            wire.data_received(data)
            stream.ask(b"")
            await stream.read_head()
            found.append(await stream.body("GET").whole(9) or b"")
        return found

    assert asyncio.run(run()) == [b"a", b"b", b"cd", b"e"]


def test_a_server_that_closes_without_a_word_has_not_answered() -> None:
    async def run() -> bool:
        stream = HttpStream(wire_of(ends=True)[0])
        stream.ask(b"")
        with pytest.raises(NoAnswer, match=r"^EOF$"):
            await stream.read_head()
        return stream.used

    assert asyncio.run(run()) is False


def test_what_follows_another_protocol_is_read_as_it_comes() -> None:
    async def run() -> bytes:
        stream = HttpStream(wire_of(b"HTTP/1.1 101 S\r\nUpgrade: x\r\n\r\nab", ends=True)[0])
        stream.ask(b"")
        await stream.read_head()
        return await stream.read() + await stream.read()

    assert asyncio.run(run()) == b"ab"


def test_a_body_without_a_length_ends_with_the_connection() -> None:
    assert read(b"HTTP/1.1 200 OK\r\n\r\nabc", ends=True) == (200, [b"abc"], False)


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


def test_chunks_are_handed_on_as_they_come() -> None:
    async def run() -> list[bytes]:
        wire, _ = wire_of(CHUNKED)
        stream = HttpStream(wire)
        stream.ask(b"")
        await stream.read_head()
        body, pieces = stream.body("GET"), []
        for came in (b"1\r\na", b"\r\n2\r\nbc\r\n1\r\nd\r\n3\r\ne", b"", b"fg", b"\r\n00\r\n\r\n"):
            wire.data_received(came)
            pieces.append(await body.piece())
        return [*pieces, str(stream.is_reusable).encode()]

    # Those that are there as a whole are one piece; nobody waits for what is missing of the next.
    assert asyncio.run(run()) == [b"a", b"bcd", b"e", b"fg", b"", b"True"]


def test_however_many_chunks_have_come_a_piece_has_its_bound() -> None:
    body = b"".join(b"%d," % number for number in range(30_000))
    data = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in (b"a", body[:1000], body[1000:], b"b"))
    pieces = read(CHUNKED + data + b"0\r\n\r\n")[1]
    assert b"".join(pieces) == b"a" + body + b"b"
    assert max(map(len, pieces)) <= PIECE_BYTES
    small = b"".join(b"3\r\n%03d\r\n" % (number % 1000) for number in range(60_000))
    pieces = read(CHUNKED + small + b"0\r\n\r\n")[1]
    assert b"".join(pieces) == b"".join(b"%03d" % (number % 1000) for number in range(60_000))
    assert max(map(len, pieces)) <= PIECE_BYTES
    assert len(pieces) < 20


def test_chunks_that_come_together_are_judged_as_they_are_alone() -> None:
    plain = CHUNKED + b"1\r\na\r\n1\r\nb\r\n"
    for broken in (b"1\nc\r\n", b"-1\r\nc\r\n", b"00000000000000001\r\nc\r\n", b"1\r\ncc0\r\n\r\n"):
        with pytest.raises(BrokenBody):
            read(plain + broken)
    assert b"".join(read(plain + b"01;x=y\r\nc\r\n1\r\nd\r\n0\r\n\r\n")[1]) == b"abcd"


@pytest.mark.parametrize(
    ("data", "broken"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab", BrokenBody),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab", BrokenBody),
        (b"HTTP/1.1 200 OK\r\n", BrokenHead),
        (b"", NoAnswer),
    ],
)
def test_what_breaks_off_is_told_from_what_ends(data: bytes, broken: type[Exception]) -> None:
    with pytest.raises(broken):
        read(data, ends=True)


def test_nothing_begins_a_line_of_its_own_in_a_head() -> None:
    assert request_head("GET", "/x", [(b"a", b"b")]) == b"GET /x HTTP/1.1\r\na: b\r\n\r\n"
    with pytest.raises(ValueError, match='invalid header field value for "X-Remote-User"'):
        request_head("GET", "/x", [(b"x-remote-user", b"a\r\nb: c")])
