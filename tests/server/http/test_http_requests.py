"""What comes in: heads, bodies, pipelines, and what is refused before the application sees it."""

import asyncio

import pytest
from wire_client import connected, serving

from watchkeeper.server.http.limits import HttpLimits

TEXT = [(b"content-type", b"text/plain")]


async def echo(scope, receive, send):
    size = 0
    while True:
        message = await receive()
        size += len(message.get("body", b""))
        if not message.get("more_body"):
            break
    told = f"{scope['method']} {scope['path']}?{scope['query_string'].decode()} {size}".encode()
    await send({"type": "http.response.start", "status": 200, "headers": TEXT})
    await send({"type": "http.response.body", "body": told})


def test_method_path_query_and_body_reach_the_application():
    async def run():
        async with serving(echo) as (_, port), connected(port) as client:
            await client.send(b"POST /a%20b/c?x=1&y HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello")
            return await client.answer()

    status, headers, body = asyncio.run(run())
    assert (status, body) == (200, b"POST /a b/c?x=1&y 5")
    assert headers["date"].endswith("gmt")


def test_a_connection_serves_one_request_after_another():
    async def run():
        async with serving(echo) as (listener, port), connected(port) as client:
            answers = [(await client.get(f"/{number}"))[2] for number in range(3)]
            return answers, len(listener.connections)

    answers, connections = asyncio.run(run())
    assert answers == [b"GET /0? 0", b"GET /1? 0", b"GET /2? 0"]
    assert connections == 1


def test_a_method_may_be_any_token_and_stands_for_itself():
    async def run():
        async with serving(echo) as (_, port), connected(port) as client:
            answers = []
            for method in (b"BREW", b"get", b"GETX", b"M-SEARCH!"):
                await client.send(method + b" /pot?x HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi")
                answers.append((await client.answer())[2])
            answers.append((await client.get("/after"))[2])
            return answers

    assert asyncio.run(run()) == [
        b"BREW /pot?x 2",
        b"get /pot?x 2",
        b"GETX /pot?x 2",
        b"M-SEARCH! /pot?x 2",
        b"GET /after? 0",
    ]


def test_pipelined_requests_are_answered_in_order():
    async def slow_first(scope, receive, send):
        if scope["path"] == "/0":
            await asyncio.sleep(0.05)
        await echo(scope, receive, send)

    async def run():
        async with serving(slow_first) as (_, port), connected(port) as client:
            await client.send(b"".join(b"GET /%d HTTP/1.1\r\nHost: x\r\n\r\n" % n for n in range(5)))
            return [(await client.answer())[2] for _ in range(5)]

    assert asyncio.run(run()) == [b"GET /%d? 0" % n for n in range(5)]


def test_a_body_in_pieces_arrives_whole():
    async def run():
        async with serving(echo) as (_, port), connected(port) as client:
            await client.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 300000\r\n\r\n")
            for _ in range(3):
                await asyncio.sleep(0.01)
                await client.send(b"x" * 100_000)
            return (await client.answer())[2]

    assert asyncio.run(run()) == b"POST /? 300000"


def test_a_chunked_body_arrives_whole():
    async def run():
        async with serving(echo) as (_, port), connected(port) as client:
            await client.send(
                b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
            )
            return (await client.answer())[2]

    assert asyncio.run(run()) == b"POST /? 5"


def test_a_client_that_waits_for_100_continue_gets_it():
    async def run():
        async with serving(echo) as (_, port), connected(port) as client:
            await client.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n")
            status, _ = await client.head()
            await client.send(b"ok")
            return status, (await client.answer())[2]

    assert asyncio.run(run()) == (100, b"POST /? 2")


def test_reading_pauses_while_the_application_does_not_take_the_body():
    taken = asyncio.Event()

    async def lazy(scope, receive, send):
        await taken.wait()
        await echo(scope, receive, send)

    async def run():
        async with serving(lazy) as (_, port), connected(port) as client:
            size = 64 << 20
            client.writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % size)
            client.writer.write(b"x" * size)
            await asyncio.sleep(0.2)
            waiting = client.writer.transport.get_write_buffer_size()
            taken.set()
            return waiting, (await client.answer())[2]

    waiting, told = asyncio.run(run())
    assert waiting > 32 << 20
    assert told == b"POST /? 67108864"


def test_an_answer_before_the_end_of_the_body_reaches_the_client_and_ends_the_connection():
    async def refuse(scope, receive, send):
        await receive()
        await send({"type": "http.response.start", "status": 413, "headers": [*TEXT, (b"content-length", b"3")]})
        await send({"type": "http.response.body", "body": b"big"})

    async def run():
        async with serving(refuse) as (_, port), connected(port) as client:
            client.writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4000000\r\n\r\n" + b"x" * 4_000_000)
            status, headers, body = await client.answer()
            return status, headers["connection"], body, await client.closed()

    assert asyncio.run(run()) == (413, "close", b"big", True)


def test_nonsense_is_a_400():
    async def run():
        async with serving(echo) as (_, port), connected(port) as client:
            await client.send(b"NONSENSE\r\n\r\n")
            status, _, _ = await client.answer()
            return status, await client.closed()

    assert asyncio.run(run()) == (400, True)


def test_too_long_a_head_is_a_431():
    async def run():
        limits = HttpLimits(head_size=10_000)
        async with serving(echo, limits) as (_, port), connected(port) as client:
            await client.send(b"GET / HTTP/1.1\r\nHost: x\r\nX-Long: " + b"a" * 20_000)
            status, _, _ = await client.answer()
            return status, await client.closed()

    assert asyncio.run(run()) == (431, True)


def test_http_1_0_gets_a_body_that_ends_with_the_connection():
    async def run():
        async with serving(echo) as (_, port), connected(port) as client:
            await client.send(b"GET /old HTTP/1.0\r\n\r\n")
            _, headers = await client.head()
            return headers.get("transfer-encoding"), await client.reader.read()

    assert asyncio.run(run()) == (None, b"GET /old? 0")


def test_a_connection_that_asks_to_be_closed_is_closed():
    async def run():
        async with serving(echo) as (_, port), connected(port) as client:
            _, headers, _ = await client.get("/", "Connection: close")
            return headers["connection"], await client.closed()

    assert asyncio.run(run()) == ("close", True)


def test_nothing_is_done_after_an_answer_that_ends_the_connection():
    paths = []

    async def note(scope, receive, send):
        paths.append(scope["path"])
        await echo(scope, receive, send)

    async def run():
        async with serving(note) as (_, port), connected(port) as client:
            await client.send(
                b"GET /1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\nGET /2 HTTP/1.1\r\nHost: x\r\n\r\n"
            )
            await client.answer()
            return await client.closed()

    assert asyncio.run(run())
    assert paths == ["/1"]


def test_nonsense_in_a_body_ends_the_request():
    gone = []

    async def read(scope, receive, send):
        while (message := await receive())["type"] != "http.disconnect":
            assert message["more_body"]
        gone.append(True)

    async def run():
        async with serving(read) as (_, port), connected(port) as client:
            await client.send(b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n")
            await asyncio.sleep(0.05)
            await client.send(b"zz\r\n")
            assert await client.closed()
            await asyncio.sleep(0.05)

    asyncio.run(run())
    assert gone == [True]


def test_what_is_said_behind_a_chunked_body_is_no_header_of_the_request():
    async def app(scope, receive, send):
        while (await receive())["more_body"]:
            pass
        names = b",".join(name for name, _ in scope["headers"])
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": names})

    async def run():
        async with serving(app) as (_, port), connected(port) as client:
            await client.send(
                b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
                b"1\r\na\r\n0\r\nX-Remote-User: me\r\n\r\n"
            )
            return (await client.answer())[2]

    assert asyncio.run(run()) == b"host,transfer-encoding"


def test_a_client_that_goes_after_nonsense_is_noticed_while_its_answer_takes_long():
    gone = asyncio.Event()

    async def waits(scope, receive, send):
        while (await receive())["type"] != "http.disconnect":
            pass
        gone.set()

    async def run():
        async with serving(waits) as (_, port):
            async with connected(port) as client:
                await client.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                await asyncio.sleep(0.05)
                await client.send(b"\0nonsense\r\n")
                await asyncio.sleep(0.05)
                await client.send(b"and more of it\r\n\r\n")
                assert not gone.is_set()
            async with asyncio.timeout(5):
                await gone.wait()

    asyncio.run(run())


@pytest.mark.parametrize(
    "upgrade", ["Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c", "Connection: upgrade\r\nUpgrade: x"]
)
@pytest.mark.parametrize("size", [1, 7, 10_000])
@pytest.mark.parametrize("chunked", [True, False])
def test_the_body_of_a_request_that_asks_for_another_protocol_is_no_request(upgrade: str, size: int, chunked: bool):
    paths = []

    async def note(scope, receive, send):
        paths.append(scope["path"])
        await echo(scope, receive, send)

    inner = b"DELETE /inner HTTP/1.1\r\nHost: x\r\n\r\n"
    body = b"%x\r\n%b\r\n0\r\n\r\n" % (len(inner), inner) if chunked else inner
    framing = "Transfer-Encoding: chunked" if chunked else f"Content-Length: {len(inner)}"
    sent = f"POST / HTTP/1.1\r\nHost: x\r\n{upgrade}\r\n{framing}\r\n\r\n".encode() + body
    sent += b"GET /behind HTTP/1.1\r\nHost: x\r\n\r\n"

    async def run():
        async with serving(note) as (_, port), connected(port) as client:
            for at in range(0, len(sent), size):
                await client.send(sent[at : at + size])
            answer = await client.answer()
            return answer[2], answer[1]["connection"], await client.closed()

    assert asyncio.run(run()) == (b"POST /? %d" % len(inner), "close", True)
    assert paths == ["/"]


def test_a_request_that_asks_for_another_protocol_in_vain_may_be_followed():
    async def run():
        async with serving(echo) as (_, port), connected(port) as client:
            asked = (["Connection: Upgrade", "Upgrade: h2c"], ["Upgrade: h2c", "Content-Length: 0"], [])
            return [(await client.get("/", *headers))[2] for headers in asked]

    assert asyncio.run(run()) == [b"GET /? 0"] * 3
