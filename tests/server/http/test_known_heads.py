"""Requests with the head of the last one are understood as if they had been parsed."""

import asyncio
import random

from wire_client import connected, serving

from watchkeeper.server.http.connection import Connection
from watchkeeper.server.http.known_head import HeadMemory

GET = b"GET /x HTTP/1.1\r\n"
HEAD = b"Host: x\r\nAuthorization: Bearer t\r\n"


async def tell_all(scope, receive, send):
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            break
    names = ("method", "path", "raw_path", "query_string", "headers", "http_version")
    told = repr([scope[name] for name in names] + [body]).encode()
    scope["headers"].clear()  # as an application may do that frees what it has read
    headers = [(b"content-type", b"text/plain"), (b"content-length", b"%d" % len(told))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": told})


def memory_of(data: bytes, *headers: tuple[bytes, bytes]) -> HeadMemory:
    memory = HeadMemory()
    memory.noted = headers
    memory.keep(data)
    return memory


def test_what_differs_in_the_first_line_and_the_body_is_read():
    headers = (b"host", b"x"), (b"content-length", b"2")
    memory = memory_of(b"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi", *headers)
    known = memory.read(b"PATCH /b%20c?d HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n\r\n")
    assert known is not None
    assert (known.method, known.target, known.body) == ("PATCH", b"/b%20c?d", b"\r\n")
    assert known.headers == headers


def test_what_is_not_all_of_one_request_with_that_head_is_left_to_the_parser():
    memory = memory_of(GET + HEAD + b"\r\n", (b"host", b"x"))
    assert memory.read(GET + HEAD + b"\r\n") is not None
    for data in (
        GET + HEAD,
        GET + HEAD + b"\r\nx",
        GET + HEAD + b"\r\n" + GET + HEAD + b"\r\n",
        GET + HEAD + b"A: b\r\n\r\n",
        b"GET /x HTTP/1.0\r\n" + HEAD + b"\r\n",
        b"BREW /x HTTP/1.1\r\n" + HEAD + b"\r\n",
        b"HEAD /x HTTP/1.1\r\n" + HEAD + b"\r\n",
        b"GET x HTTP/1.1\r\n" + HEAD + b"\r\n",
        b"GET /x y HTTP/1.1\r\n" + HEAD + b"\r\n",
        b"GET /x#y HTTP/1.1\r\n" + HEAD + b"\r\n",
        b"GET /\xc3\xa9 HTTP/1.1\r\n" + HEAD + b"\r\n",
        b"GET /%2 HTTP/1.1\r\n" + HEAD + b"\r\n",
        b"GET /x HTTP/1.1\n" + HEAD + b"\r\n",
    ):
        assert memory.read(data) is None, data


def test_heads_that_mean_more_than_their_bytes_are_not_remembered():
    for line in (b"Transfer-Encoding: chunked", b"Expect: 100-continue", b"Upgrade: websocket"):
        data = GET + HEAD + line + b"\r\n\r\n"
        name = line.partition(b":")[0].lower()
        assert memory_of(data, (b"host", b"x"), (name, b"")).read(data) is None
    closing = memory_of(GET + HEAD + b"\r\n")  # no headers are noted when the connection is to be closed
    assert closing.read(GET + HEAD + b"\r\n") is None


def test_a_client_that_sends_another_head_each_time_is_not_remembered_for_ever():
    memory = HeadMemory()
    remembered = []
    for number in range(6):
        data = GET + b"Host: x\r\nTrace: %d\r\n\r\n" % number
        memory.noted = ((b"host", b"x"), (b"trace", b"%d" % number))
        memory.keep(data)
        remembered.append(repr(memory) != repr(HeadMemory()) and memory._headers[1][1] == b"%d" % number)
    assert remembered == [True, True, True, False, False, False]


FIRST_LINES = [
    b"GET /a?x=%2F&y HTTP/1.1\r\n",
    b"GET /b%20c HTTP/1.1\r\n",
    b"PATCH /a//b HTTP/1.1\r\n",
    b"POST /a HTTP/1.1\r\n",
    b"DELETE /a HTTP/1.1\r\n",
    b"BREW /a HTTP/1.1\r\n",
    b"GET /a#b HTTP/1.1\r\n",
    b"GET /a%zz HTTP/1.1\r\n",
    b"GET http://x/abs?q HTTP/1.1\r\n",
    b"GET /a HTTP/1.0\r\n",
    b"GET  /a HTTP/1.1\r\n",
]
HEADS = [
    b"Host: x\r\n\r\n",
    b"Host: x\r\nX-A: 1\r\nX-a: 2\r\n\r\n",
    b"Host: x\r\nContent-Length: 3\r\n\r\nabc",
    b"Host: x\r\nContent-Length: 3\r\n\r\n\r\n\r",
    b"Host: x\r\nContent-Length: 0\r\n\r\n",
    b"Host: x\r\ncontent-length: 003\r\n\r\nxyz",
    b"Host: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    b"Host: x\r\nConnection: keep-alive\r\n\r\n",
    b"Host: x\r\nConnection: close\r\n\r\n",
    b"\r\n",
]


def test_long_conversations_go_as_if_every_request_came_on_a_connection_of_its_own(monkeypatch):
    chance = random.Random(7)
    unparsed = []
    start_known = Connection._start_known
    monkeypatch.setattr(
        Connection, "_start_known", lambda self, known: (unparsed.append(known), start_known(self, known))
    )

    async def alone(port: int, data: bytes) -> tuple[int, bytes, str]:
        async with connected(port) as client:
            await client.send(data)
            status, headers, body = await client.answer()
            return status, body, headers.get("connection", "")

    async def converse(port: int) -> int:
        """How many requests were answered before the server closed."""
        usual = chance.choice(HEADS[:6])
        async with connected(port) as client:
            for number in range(12):
                line = chance.choice(FIRST_LINES[:5] if chance.random() < 0.9 else FIRST_LINES)
                head = usual if chance.random() < 0.7 else chance.choice(HEADS)
                data = line + head
                expected = await alone(port, data)
                cut = chance.randrange(1, len(data)) if chance.random() < 0.2 else len(data)
                await client.send(data[:cut])
                if data[cut:]:
                    await asyncio.sleep(0.001)
                    await client.send(data[cut:])
                status, headers, body = await client.answer()
                assert (status, body, headers.get("connection", "")) == expected, data
                if expected[2] == "close":
                    assert await client.closed()
                    return number + 1
        return 12

    async def run() -> list[int]:
        async with serving(tell_all) as (_, port):
            return [await converse(port) for _ in range(60)]

    lengths = asyncio.run(run())
    assert max(lengths) == 12
    assert len(set(lengths)) > 3
    assert len(unparsed) > sum(lengths) / 4


def test_pipelined_requests_with_one_head_are_answered_in_order():
    async def slow(scope, receive, send):
        await asyncio.sleep(0.005)
        await tell_all(scope, receive, send)

    async def run():
        async with serving(slow) as (_, port), connected(port) as client:
            for _ in range(3):
                await client.get("/first")
            for number in range(4):
                await client.send(b"GET /%d HTTP/1.1\r\nHost: x\r\n\r\n" % number)
                await asyncio.sleep(0.001)
            return [(await client.answer())[2] for _ in range(4)]

    assert [b"'/%d'" % number in body for number, body in enumerate(asyncio.run(run()))] == [True] * 4


def test_what_goes_on_with_a_head_is_no_request_of_its_own():
    async def run():
        async with serving(tell_all) as (_, port), connected(port) as client:
            for _ in range(2):
                await client.get("/known")
            # The end of one head and the beginning of the next come together.
            await client.send(b"GET /a HTTP/1.1\r\nHost: x\r\n")
            await asyncio.sleep(0.01)
            await client.send(b"\r\nGET /b HTTP/1.1\r\nX: ")
            first = await client.answer()
            await client.send(b"GET /c HTTP/1.1\r\nHost: x\r\n\r\n")
            return first[2], (await client.answer())[2]

    first, second = asyncio.run(run())
    assert b"'/a'" in first
    assert b"'/b'" in second
    assert b"(b'x', b'GET /c HTTP/1.1')" in second


def test_long_heads_are_not_held_by_connections_that_wait():
    few = [(b"host", b"x")] * 64
    assert memory_of(GET + b"Host: x\r\n" * 64 + b"\r\n", *few)._headers == tuple(few)
    many = memory_of(GET + b"Host: x\r\n" * 65 + b"\r\n", *few, few[0])
    long = memory_of(GET + b"A: " + b"b" * 8192 + b"\r\n\r\n", (b"a", b"b" * 8192))
    assert [memory._headers or memory._rest for memory in (many, long)] == [b"", b""]


def test_what_came_in_pieces_is_not_held():
    async def run():
        async with serving(tell_all) as (listener, port), connected(port) as client:
            for _ in range(2):
                await client.get()
            await client.send(GET + HEAD)
            await asyncio.sleep(0.01)
            await client.send(b"\r\n")
            await client.answer()
            [connection] = listener.connections
            return connection._heads.noted

    assert asyncio.run(run()) == ()
