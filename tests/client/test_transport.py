"""Connections to a server: what is kept, what is sent again, and what is told of answers that are none.

What counts as an answer is tested in tests/aio/test_hostile_answers.py, for this client as for all others.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from tests.aio.http_users import Act, Script

from watchkeeper.client.errors import ClientError
from watchkeeper.client.transport import Transport

H = b"HTTP/1.1 200 OK\r\n"
CHUNKED = H + b"Transfer-Encoding: chunked\r\n\r\n"


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(test, 20))


@contextlib.asynccontextmanager
async def serving(*acts: Act) -> AsyncIterator[tuple[Script, Transport]]:
    script = Script(list(acts))
    server = await asyncio.start_server(script.serve, "127.0.0.1", 0)
    transport = Transport(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/under")
    try:
        yield script, transport
    finally:
        transport.close()
        server.close()


def test_a_url_leads_to_a_server() -> None:
    for url in ("ftp://example.com", "http://", "example.com"):
        with pytest.raises(ValueError, match="no URL"):
            Transport(url)


def test_servers_are_asked_over_sockets_in_the_file_system(tmp_path: Path) -> None:
    async def scenario() -> None:
        script = Script()
        path = f"{tmp_path}/socket"
        transport = Transport(f"unix:{path}")
        with pytest.raises(ClientError, match=f"^unix:{path}: dial unix {path}: connect: no such file or directory$"):
            await transport.request("GET", "/", {})
        async with await asyncio.start_unix_server(script.serve, path):
            for _ in range(2):
                assert (await transport.request("GET", "/", {})).body == b"{}"
            assert script.connections == 1
            transport.close()

    run(scenario())


def test_of_headers_of_one_name_the_first_counts() -> None:
    async def scenario() -> None:
        async with serving(Act([H + b"X-Y: 1\r\nx-y: 2\r\nContent-Length: 0\r\n\r\n"])) as (_, transport):
            answer = await transport.request("GET", "/", {})
            assert answer.headers == {"x-y": "1", "content-length": "0"}

    run(scenario())


@pytest.mark.parametrize(("method", "again"), [("GET", True), ("POST", False), ("PATCH", False), ("DELETE", False)])
def test_only_what_changes_nothing_is_sent_twice(method: str, *, again: bool) -> None:
    async def scenario() -> None:
        async with serving() as (script, transport):
            await transport.request("GET", "/", {})
            script.acts = [Act([], "close")]
            if again:
                assert (await transport.request(method, "/", {})).body == b"{}"
            else:
                with pytest.raises(ClientError, match="closed before the answer was complete"):
                    await transport.request(method, "/", {}, b"{}")
            assert script.requests == (3 if again else 2)

    run(scenario())


@pytest.mark.parametrize("value", ["a\r\nX-Other: b", "a\nb", "a\0"])
def test_no_header_begins_another_one(value: str) -> None:
    async def scenario() -> None:
        async with serving() as (script, transport):
            with pytest.raises(ClientError, match='invalid header field value for "Authorization"'):
                await transport.request("GET", "/", {"Authorization": value})
            assert script.connections == 0

    run(scenario())


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (Act([CHUNKED + b"2\r\nab\r\n"], "close"), "the connection was closed before the answer was complete"),
        (Act([CHUNKED + b"2\r\nab\r\n"], "reset"), "read: connection reset by peer"),
        (Act([CHUNKED + b"2\r\nab\r\n", b"x\r\n"]), "the answer is not HTTP: invalid byte in chunk length"),
        (Act([H + b"Content-Length: 3\r\n\r\nab"], "close"), "closed before the answer was complete"),
    ],
)
def test_a_stream_that_breaks_is_told_behind_what_came(act: Act, words: str) -> None:
    async def scenario() -> None:
        async with serving(act) as (script, transport):
            body = await transport.open("GET", "/", {})
            assert await anext(body) == b"ab"
            with pytest.raises(ClientError, match=words):
                await anext(body)
            body.close()
            assert (await transport.request("GET", "/", {})).body == b"{}"
            assert script.connections == 2

    run(scenario())


async def read_all(transport: Transport) -> None:
    body = await transport.open("GET", "/", {})
    assert [piece async for piece in body] == [b"ab"]
    body.close()


async def read_some(transport: Transport) -> None:
    body = await transport.open("GET", "/", {})
    assert await anext(body) == b"ab"
    body.close()
    body.close()


@pytest.mark.parametrize(("use", "connections"), [(read_all, 1), (read_some, 2)])
def test_a_stream_that_was_read_to_its_end_leaves_its_connection(
    use: Callable[[Transport], Awaitable[None]], connections: int
) -> None:
    async def scenario() -> None:
        async with serving(Act([CHUNKED + b"2\r\nab\r\n", b"0\r\n\r\n"])) as (script, transport):
            await use(transport)
            await transport.request("GET", "/", {})
            assert script.connections == connections

    run(scenario())


def test_what_is_in_use_when_a_transport_is_closed_is_closed_when_it_is_done() -> None:
    async def scenario() -> None:
        async with serving(Act([CHUNKED + b"2\r\nab\r\n", b"0\r\n\r\n"])) as (script, transport):
            body = await transport.open("GET", "/", {})
            transport.close()
            assert [piece async for piece in body] == [b"ab"]
            await asyncio.wait_for(script.ended.wait(), 5)

    run(scenario())
