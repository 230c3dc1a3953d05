"""Requests that are meant to confuse, and clients that hold on to what they do not use."""

import asyncio
import socket

import pytest
from wire_client import connected, serving

from watchkeeper.server.http import listener as listener_module
from watchkeeper.server.http.limits import HttpLimits

TEXT = [(b"content-type", b"text/plain")]
CHUNKS = b"\r\n\r\n2\r\nhi\r\n0\r\n\r\n"


async def echo(scope, receive, send):
    size = 0
    while True:
        message = await receive()
        size += len(message.get("body", b""))
        if not message.get("more_body"):
            break
    await send({"type": "http.response.start", "status": 200, "headers": TEXT})
    await send({"type": "http.response.body", "body": b"%d" % size})


def post(*headers: bytes, body: bytes = b"\r\n\r\nhi") -> bytes:
    return b"\r\n".join([b"POST / HTTP/1.1", b"Host: x", *headers]) + body


REFUSED = {
    "two ways to frame a body": (400, post(b"Transfer-Encoding: chunked", b"Content-Length: 2", body=CHUNKS)),
    "two lengths": (400, post(b"Content-Length: 2", b"Content-Length: 3")),
    "the same length twice": (400, post(b"Content-Length: 2", b"Content-Length: 2")),
    "a list of lengths": (400, post(b"Content-Length: 2, 2")),
    "a negative length": (400, post(b"Content-Length: -2")),
    "a length with a sign": (400, post(b"Content-Length: +2")),
    "a length beyond 64 bits": (400, post(b"Content-Length: 99999999999999999999")),
    "an encoding that is not spoken": (501, post(b"Transfer-Encoding: gzip, chunked", body=CHUNKS)),
    "an encoding twice": (400, post(b"Transfer-Encoding: chunked", b"Transfer-Encoding: identity", body=CHUNKS)),
    "a space before a colon": (400, post(b"Content-Length : 2")),
    "a folded header": (400, post(b"X-A: b\r\n c", b"Content-Length: 2")),
    "a NUL in a header": (400, post(b"X-A: b\0c", b"Content-Length: 2")),
    "a bare carriage return": (400, post(b"X-A: b\rc", b"Content-Length: 2")),
    "bare line feeds": (400, b"GET / HTTP/1.1\nHost: x\n\n"),
    "a chunk of no size": (400, post(b"Transfer-Encoding: chunked", body=b"\r\n\r\nzz\r\nhi\r\n0\r\n\r\n")),
    "no host": (400, b"GET / HTTP/1.1\r\n\r\n"),
    "two hosts": (400, b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"),
    "a host that is no name": (400, b"GET / HTTP/1.1\r\nHost: a b\r\n\r\n"),
    "half an escape": (400, b"GET /a%2 HTTP/1.1\r\nHost: x\r\n\r\n"),
    "an escape of nothing": (400, b"GET /%zz HTTP/1.1\r\nHost: x\r\n\r\n"),
    "HTTP/0.9": (400, b"GET /\r\n\r\n"),
    "HTTP/2 without asking": (400, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    "a version of the future": (400, b"GET / HTTP/3.0\r\nHost: x\r\n\r\n"),
    "a method that is no token": (400, b"BR(W / HTTP/1.1\r\nHost: x\r\n\r\n"),
    "an unknown method without a target": (400, b"BREW HTTP/1.1\r\nHost: x\r\n\r\n"),
    "a TLS handshake": (400, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(64)),
    "a space in the path": (400, b"GET /a b HTTP/1.1\r\nHost: x\r\n\r\n"),
    "an address that cannot be read": (400, b"GET http://[::1/a HTTP/1.1\r\nHost: x\r\n\r\n"),
    "an expectation that nobody meets": (417, post(b"Expect: tea", b"Content-Length: 2")),
    "headers without an end": (431, b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"a" * 5000),
}


@pytest.mark.parametrize("what", REFUSED)
def test_is_refused_and_the_connection_ends(what):
    expected, request = REFUSED[what]

    async def run():
        async with serving(echo, HttpLimits(head_size=4096)) as (_, port), connected(port) as client:
            await client.send(request)
            status, headers, _ = await client.answer()
            return status, headers["connection"], await client.closed()

    assert asyncio.run(run()) == (expected, "close", True)


TEA, GZIP = b"Expect: tea\r\n", b"Transfer-Encoding: gzip\r\n"


@pytest.mark.parametrize(
    ("path", "headers", "status", "body"),
    [
        (b"/", b"", "400 Bad Request: missing required Host header", None),
        (b"/", b"Host: a/b\r\n", "400 Bad Request: malformed Host header", None),
        (b"/", TEA + b"Host: a/b\r\n", "400 Bad Request: malformed Host header", None),
        (b"/", b"Host: a\r\nHost: b/c\r\n", "400 Bad Request", None),
        (b"/%", b"Host: a/b\r\n", "400 Bad Request", None),
        (b"/%", b"", "400 Bad Request", None),
        (b"/%", b"Host: a\r\n" + GZIP, "400 Bad Request", None),
        (b"/", b"Host: a\r\nHost: b\r\n" + GZIP, "400 Bad Request", None),
        (b"/", b"Host: a/b\r\n" + TEA + GZIP, "501 Not Implemented", "Unsupported transfer encoding"),
        (b"/", b"Host: a\r\n" + TEA, "417 Expectation Failed", ""),
    ],
)
def test_of_several_faults_the_first_is_told_in_the_words_of_go(path, headers, status, body):
    async def run():
        async with serving(echo) as (_, port), connected(port) as client:
            await client.send(b"POST %b HTTP/1.1\r\n%b\r\n" % (path, headers))
            return await client.reader.read()

    head, _, text = asyncio.run(run()).decode().partition("\r\n\r\n")
    assert head.partition("\r\n")[0] == f"HTTP/1.1 {status}"
    assert text == (status if body is None else body)


def test_an_escape_in_a_query_is_nobodys_business_here():
    async def run():
        async with serving(echo) as (_, port), connected(port) as client:
            await client.send(b"GET /?a=%zz HTTP/1.1\r\nHost: x\r\n\r\n")
            return (await client.answer())[0]

    assert asyncio.run(run()) == 200


@pytest.mark.parametrize("what", [name for name, (status, _) in REFUSED.items() if status != 431])
def test_what_was_asked_before_is_answered_and_nothing_behind(what):
    async def run():
        async with serving(echo) as (_, port), connected(port) as client:
            await client.send(post(b"Content-Length: 2") + REFUSED[what][1] + post(b"Content-Length: 2"))
            return (await client.answer())[2], await client.reader.read()

    body, rest = asyncio.run(run())
    assert body == b"2"
    assert rest.count(b"HTTP/1.1 ") <= 1
    assert b"HTTP/1.1 2" not in rest


def test_an_expectation_of_100_is_met_when_the_body_is_wanted():
    async def run():
        async with serving(echo) as (_, port), connected(port) as client:
            await client.send(post(b"Expect: 100-continue", b"Content-Length: 2", body=b"\r\n\r\n"))
            first = (await client.head())[0]
            await client.send(b"hi")
            return first, (await client.answer())[2]

    assert asyncio.run(run()) == (100, b"2")


def test_http_1_0_needs_no_host_and_gets_no_chunks():
    async def run():
        async with serving(echo) as (_, port), connected(port) as client:
            await client.send(b"GET / HTTP/1.0\r\n\r\n")
            return await client.reader.read()

    assert b"transfer-encoding" not in asyncio.run(run())


def test_a_client_that_takes_nothing_is_cut_off(monkeypatch):
    monkeypatch.setattr(listener_module, "_SWEEP_SECONDS", 0.05)
    ended = []

    async def endless(scope, receive, send):
        try:
            await send({"type": "http.response.start", "status": 200, "headers": TEXT})
            while True:
                await send({"type": "http.response.body", "body": b"x" * 65536, "more_body": True})
        finally:
            ended.append(scope["path"])

    async def run():
        limits = HttpLimits(write_seconds=0.3)
        async with serving(endless, limits) as (listener, port):
            with socket.create_connection(("127.0.0.1", port)) as client:
                client.sendall(b"GET /stuck HTTP/1.1\r\nHost: x\r\n\r\n")
                async with asyncio.timeout(5):
                    while not ended:
                        await asyncio.sleep(0.02)
            return len(listener.connections)

    assert (asyncio.run(run()), ended) == (0, ["/stuck"])


@pytest.mark.parametrize(
    ("size", "write_seconds", "at_a_time", "nap", "until"),
    [
        (12_000_000, 0.3, 400_000, 0.02, 3_000_000),
        # For longer than it may take nothing, and less than the kernel's buffers hold.
        (20_000_000, 1.0, 32_000, 0.05, 1_600_000),
    ],
    ids=["much at a time", "little at a time"],
)
def test_a_client_that_takes_its_time_is_not_cut_off(monkeypatch, size, write_seconds, at_a_time, nap, until):
    monkeypatch.setattr(listener_module, "_SWEEP_SECONDS", 0.05)

    async def large(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": TEXT})
        await send({"type": "http.response.body", "body": b"x" * size})

    async def run():
        async with serving(large, HttpLimits(write_seconds=write_seconds)) as (_, port):
            reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**14)
            writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            got = 0
            while got < size and (chunk := await reader.read(at_a_time)):
                got += len(chunk)
                await asyncio.sleep(nap if got < until else 0)
            writer.close()
            return got

    assert asyncio.run(run()) >= size


def test_silent_clients_are_asked_whether_they_are_there():
    async def run():
        async with serving(echo) as (listener, port), connected(port) as client:
            await client.get()
            [connection] = listener.connections
            sock = connection._transport.get_extra_info("socket")
            return sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE), sock.getsockopt(
                socket.IPPROTO_TCP, socket.TCP_KEEPIDLE
            )

    assert asyncio.run(run()) == (1, 15)


def test_a_head_that_drips_in_is_cut_off(monkeypatch):
    monkeypatch.setattr(listener_module, "_SWEEP_SECONDS", 0.05)

    async def run():
        async with serving(echo, HttpLimits(head_seconds=0.3)) as (listener, port), connected(port) as client:
            await client.send(b"GET / HTTP/1.1\r\n")
            await asyncio.sleep(0.1)
            assert listener.connections
            async with asyncio.timeout(5):
                while listener.connections:
                    client.writer.write(b"X: y\r\n")
                    await asyncio.sleep(0.03)

    asyncio.run(run())
