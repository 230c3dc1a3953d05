"""What goes out: whole answers and streams, and what happens when either side breaks off."""

import asyncio

import pytest
from wire_client import connected, serving

from watchkeeper.server.http import wire
from watchkeeper.server.http.exchange import ClientDisconnected
from watchkeeper.server.http.limits import HttpLimits
from watchkeeper.server.http.wire import BadHeader, DateLine, header_lines

HEADERS = [(b"content-type", b"application/json")]


class AtOnce:
    """An application that answers without a task."""

    def __init__(self, body: bytes, status: int = 200) -> None:
        self.body = body
        self.status = status

    def begin(self, scope, receive, send):
        scope["exchange"].respond(self.status, HEADERS, self.body)


@pytest.mark.parametrize("size", [0, 10, 20_000, 900_000])
def test_a_whole_answer_is_sent_at_once(size):
    async def run():
        async with serving(AtOnce(b"x" * size)) as (_, port), connected(port) as client:
            first = await client.get()
            return first, await client.get()

    for status, headers, body in asyncio.run(run()):
        assert (status, headers["content-length"], len(body)) == (200, str(size), size)


def test_head_gets_the_length_and_no_body():
    async def run():
        async with serving(AtOnce(b"12345")) as (_, port), connected(port) as client:
            await client.send(b"HEAD / HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n")
            _, headers = await client.head()
            return headers["content-length"], (await client.answer())[2]

    assert asyncio.run(run()) == ("5", b"12345")


@pytest.mark.parametrize("status", [204, 304])
def test_an_answer_that_cannot_have_a_body_has_no_length_either(status):
    async def run():
        async with serving(AtOnce(b"", status)) as (_, port), connected(port) as client:
            await client.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" * 2)
            return await client.head(), await client.head()

    for code, headers in asyncio.run(run()):
        assert (code, set(headers)) == (status, {"content-type", "date"})


async def stream(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
    for size in (1, 20_000, 600_000):
        await send({"type": "http.response.body", "body": b"x" * size, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


def test_a_stream_is_chunked_and_complete():
    async def run():
        async with serving(stream) as (_, port), connected(port) as client:
            return await client.get()

    status, headers, body = asyncio.run(run())
    assert (status, headers["transfer-encoding"], len(body)) == (200, "chunked", 620_001)


def test_a_loop_whose_writelines_never_pauses_is_not_asked_for_it(monkeypatch):
    def fail(self, pieces):
        raise AssertionError("writelines")

    async def run():
        monkeypatch.setattr(asyncio.selector_events._SelectorSocketTransport, "writelines", fail)
        async with serving(stream) as (_, port), connected(port) as client:
            return await client.get()

    _, _, body = asyncio.run(run())
    assert len(body) == 620_001


def test_a_stream_waits_for_a_client_that_reads_slowly():
    sent = 0

    async def endless(scope, receive, send):
        nonlocal sent
        await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
        while True:
            await send({"type": "http.response.body", "body": b"x" * 100_000, "more_body": True})
            sent += 100_000

    async def run():
        async with serving(endless) as (_, port), connected(port) as client:
            await client.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            await asyncio.sleep(0.3)
            before = sent
            await asyncio.sleep(0.2)
            return before, sent

    before, after = asyncio.run(run())
    assert before == after
    assert 0 < after < 64 << 20


def test_a_stream_is_cancelled_when_its_client_goes_away():
    ended = asyncio.Event()

    async def watch(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()

    async def run():
        async with serving(watch) as (_, port):
            async with connected(port) as client:
                await client.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                await client.head()
            await asyncio.wait_for(ended.wait(), 5)

    asyncio.run(run())
    assert ended.is_set()


def test_a_request_that_has_no_answer_yet_runs_to_its_end_when_its_client_goes_away():
    outcome = []

    async def write(scope, receive, send):
        await asyncio.sleep(0.1)
        try:
            await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
        except ClientDisconnected:
            outcome.append("finished, nobody to tell")
            raise

    async def run():
        async with serving(write) as (_, port):
            async with connected(port) as client:
                await client.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                await asyncio.sleep(0.02)
            await asyncio.sleep(0.2)

    asyncio.run(run())
    assert outcome == ["finished, nobody to tell"]


@pytest.mark.parametrize("status", [600, 999])
def test_a_code_that_http_has_no_name_for_is_sent_as_it_is(status):
    async def application(scope, receive, send):
        scope["exchange"].respond(status, HEADERS, b"no")

    async def run():
        async with serving(application) as (_, port), connected(port) as client:
            first = await client.get()
            return first, await client.get()

    for found, _, body in asyncio.run(run()):
        assert (found, body) == (status, b"no")


@pytest.mark.parametrize(("status", "value"), [(200, b"a\r\nset-cookie: b"), (99, b"a")])
def test_an_answer_that_cannot_be_written_is_a_500(status, value):
    async def application(scope, receive, send):
        await send({"type": "http.response.start", "status": status, "headers": [(b"warning", value)]})

    async def run():
        async with serving(application) as (_, port), connected(port) as client:
            return await client.get()

    found, headers, body = asyncio.run(run())
    assert (found, headers["connection"], body) == (500, "close", b"Internal Server Error\n")
    assert "set-cookie" not in headers


def test_an_application_that_fails_before_its_answer_is_a_500():
    async def broken(scope, receive, send):
        raise ValueError("secret detail")

    async def run():
        async with serving(broken) as (_, port), connected(port) as client:
            return await client.get()

    status, headers, body = asyncio.run(run())
    assert (status, headers["connection"], body) == (500, "close", b"Internal Server Error\n")


def test_an_application_that_fails_within_its_answer_breaks_it_off():
    async def broken(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
        await send({"type": "http.response.body", "body": b"half", "more_body": True})
        raise ValueError

    async def run():
        async with serving(broken) as (_, port), connected(port) as client:
            await client.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            await client.head()
            return await client.reader.read()

    assert asyncio.run(run()) == b"4\r\nhalf\r\n"


def test_a_header_cannot_begin_a_line_of_its_own():
    assert header_lines([(b"a", b"b"), (b"c", b"")]) == b"a: b\r\nc: \r\n"
    for value in (b"x\r\ny: z", b"x\ny", b"x\ry", b"x\0"):
        with pytest.raises(BadHeader):
            header_lines([(b"a", value)])


def test_the_date_is_made_once_a_second():
    date = DateLine()
    first = date.at(10.0, 0.0)
    assert first == b"date: Thu, 01 Jan 1970 00:00:00 GMT\r\n"
    assert date.at(10.9, 100.0) is first
    assert date.at(11.0, 100.0) == b"date: Thu, 01 Jan 1970 00:01:40 GMT\r\n"


def test_lines_that_may_be_meant_for_one_client_are_not_kept():
    headers = [
        (b"set-cookie", b"session=secret"),
        (b"access-control-allow-origin", b"https://one.example"),
        (b"content-type", b"x" * 1000),
    ]
    assert header_lines(headers).count(b"\r\n") == 3
    assert not set(headers) & set(wire._LINES)


def test_lines_that_come_once_are_not_remembered_for_good(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "_LINES", {})
    for number in range(5000):
        wire.header_lines([(b"vary", b"%d" % number), (b"content-type", b"x" * 60_000 + b"%d" % number)])
    wire.header_lines([(b"content-type", b"application/json")])
    assert (b"content-type", b"application/json") in wire._LINES
    assert sum(map(len, wire._LINES.values())) < 1 << 17


def test_an_answer_may_send_the_client_elsewhere():
    async def ok(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"ok"})

    async def run(chance):
        limits = HttpLimits(leave_chance=chance)
        async with serving(ok, limits) as (_, port), connected(port) as client:
            await client.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            status, headers, body = await client.answer()
            return status, headers.get("connection"), body, chance > 0 and await client.closed()

    assert asyncio.run(run(1.0)) == (200, "close", b"ok", True)
    assert asyncio.run(run(0.0)) == (200, None, b"ok", False)


def test_nobody_is_sent_elsewhere_while_further_requests_wait():
    async def ok(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"ok"})

    async def run():
        async with serving(ok, HttpLimits(leave_chance=1.0)) as (_, port), connected(port) as client:
            await client.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" * 3)
            return [(await client.answer())[1].get("connection") for _ in range(3)], await client.closed()

    assert asyncio.run(run()) == ([None, None, "close"], True)
