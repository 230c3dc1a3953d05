"""Posting to webhooks over connections that are kept."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from watchkeeper.aio.http_client import BrokenAnswer, HttpError, JsonPoster, ResolveError

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


async def read_request(reader: asyncio.StreamReader) -> tuple[str, bytes]:
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
    return head.split(b"\r\n")[0].decode(), await reader.readexactly(length)


def with_server(serve: Serve, use: Callable[[int], Awaitable[None]]) -> None:
    async def run() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        try:
            await use(server.sockets[0].getsockname()[1])
        finally:
            server.close()

    asyncio.run(run())


def test_a_connection_is_used_again_and_opened_anew_when_it_was_closed_meanwhile() -> None:
    connections: list[list[str]] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen: list[str] = []
        connections.append(seen)
        for _ in range(2):
            line, _body = await read_request(reader)
            seen.append(line)
            writer.write(OK)
        writer.close()

    async def use(port: int) -> None:
        poster = JsonPoster(f"http://127.0.0.1:{port}/hook")
        for i in range(3):
            answer = await poster.post(b"{}", timeout=5, query=f"timeout={i}s")
            assert (answer.status, answer.body) == (200, b"{}")
            await asyncio.sleep(0.01)
        poster.close()

    with_server(serve, use)
    assert connections == [
        ["POST /hook?timeout=0s HTTP/1.1", "POST /hook?timeout=1s HTTP/1.1"],
        ["POST /hook?timeout=2s HTTP/1.1"],
    ]


def test_an_answer_behind_another_is_taken_for_none() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(OK + OK.replace(b"200", b"403"))

    async def use(port: int) -> None:
        poster = JsonPoster(f"http://127.0.0.1:{port}/hook")
        assert [(await poster.post(b"{}", timeout=5)).status for _ in range(3)] == [200, 200, 200]
        poster.close()

    with_server(serve, use)


def test_bodies_come_whole_in_chunks_or_until_the_end() -> None:
    answers = [
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\n\r\nabcde",
    ]

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(answers.pop(0))
        writer.close()

    async def use(port: int) -> None:
        poster = JsonPoster(f"http://127.0.0.1:{port}")
        assert (await poster.post(b"{}", timeout=5)).body == b"abcde"
        assert (await poster.post(b"{}", timeout=5)).body == b"abcde"

    with_server(serve, use)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b"", "EOF"),
        (b"nonsense\r\n\r\n", 'net/http: HTTP/1.x transport connection broken: malformed HTTP response "nonsense"'),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n",
            'net/http: HTTP/1.x transport connection broken: bad Content-Length "many"',
        ),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n", "the answer has more than 100 bytes"),
    ],
)
def test_what_is_no_answer_is_said_to_be_none(answer: bytes, said: str) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(answer)
        writer.close()

    async def use(port: int) -> None:
        poster = JsonPoster(f"http://127.0.0.1:{port}/p", max_body=100)
        with pytest.raises(HttpError) as raised:
            await poster.post(b"{}", timeout=5)
        assert str(raised.value).startswith(f'Post "http://127.0.0.1:{port}/p": {said}')

    with_server(serve, use)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b"Content-Length: 10\r\n\r\nshort", "unexpected EOF"),
        (b"Transfer-Encoding: chunked\r\n\r\n5\r\nabc", "unexpected EOF"),
        (b"Transfer-Encoding: chunked\r\n\r\nzz\r\nabc", "invalid byte in chunk length"),
        (b"Content-Length: 10\r\n\r\nslow", "context deadline exceeded"),
    ],
)
def test_an_answer_without_its_end_is_told_from_none(answer: bytes, said: str) -> None:
    requests: list[str] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for given in (OK, b"HTTP/1.1 200 OK\r\n" + answer):
            requests.append((await read_request(reader))[0])
            writer.write(given)
        if said.startswith("context"):
            await reader.read()
        writer.close()

    async def use(port: int) -> None:
        poster = JsonPoster(f"http://127.0.0.1:{port}/p")
        await poster.post(b"{}", timeout=5)
        with pytest.raises(BrokenAnswer) as raised:
            await poster.post(b"{}", timeout=0.2)
        assert str(raised.value) == said

    with_server(serve, use)
    assert len(requests) == 2


def test_a_server_without_tls_is_told_from_one_with_another_certificate() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(10)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async def use(port: int) -> None:
        poster = JsonPoster(f"https://127.0.0.1:{port}/")
        with pytest.raises(HttpError, match="http: server gave HTTP response to HTTPS client"):
            await poster.post(b"{}", timeout=5)

    with_server(serve, use)


def test_whoever_resolves_decides_where_a_connection_goes() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(OK)

    async def use(port: int) -> None:
        async def resolve() -> tuple[str, int]:
            return "127.0.0.1", port

        async def fail() -> tuple[str, int]:
            raise ResolveError('service "s" not found')

        found = await JsonPoster("http://s.ns.svc:443/", resolve=resolve).post(b"{}", timeout=5)
        assert found.status == 200
        with pytest.raises(HttpError) as raised:
            await JsonPoster("http://s.ns.svc:443/", resolve=fail).post(b"{}", timeout=5)
        assert str(raised.value) == 'Post "http://s.ns.svc:443/": service "s" not found'

    with_server(serve, use)


def test_no_answer_in_time_is_an_exceeded_deadline() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async def use(port: int) -> None:
        with pytest.raises(HttpError, match="context deadline exceeded"):
            await JsonPoster(f"http://127.0.0.1:{port}/").post(b"{}", timeout=0.05)

    with_server(serve, use)


@pytest.mark.parametrize(
    ("path", "asked"),
    [
        ("/a b/\u65e5?q=x y", "/a%20b/%E6%97%A5?q=x%20y"),
        ("/a%20b/%2F", "/a%20b/%2F"),
        ("/validate-v1-pod:check;x=1,2", "/validate-v1-pod:check;x=1,2"),
    ],
)
def test_what_may_not_stand_in_a_request_line_is_escaped_once(path: str, asked: str) -> None:
    lines: list[str] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        lines.append((await read_request(reader))[0])
        writer.write(OK)
        writer.close()

    async def use(port: int) -> None:
        await JsonPoster(f"http://127.0.0.1:{port}{path}").post(b"{}", timeout=5)

    with_server(serve, use)
    assert lines == [f"POST {asked} HTTP/1.1"]


def test_a_connection_in_use_when_all_are_closed_is_closed_after_its_answer() -> None:
    ended: list[bytes] = []

    async def use(port: int) -> None:
        poster = JsonPoster(f"http://127.0.0.1:{port}/")
        posting = asyncio.create_task(poster.post(b"{}", timeout=5))
        await asked.wait()
        poster.close()
        answered.set()
        assert (await posting).status == 200
        await asyncio.wait_for(done.wait(), 5)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        asked.set()
        await answered.wait()
        writer.write(OK)
        ended.append(await reader.read())
        writer.close()
        done.set()

    asked, answered, done = asyncio.Event(), asyncio.Event(), asyncio.Event()
    with_server(serve, use)
    assert ended == [b""]


@pytest.mark.parametrize("host", ["a..b", ".x", "a" * 64 + ".x", "\u00ad"])
def test_a_host_that_nobody_can_be_called_is_not_found(host: str) -> None:
    async def run(scheme: str) -> str:
        with pytest.raises(HttpError) as refused:
            await JsonPoster(f"{scheme}://{host}/").get(timeout=5)
        return str(refused.value)

    for scheme in ("http", "https"):
        assert asyncio.run(run(scheme)) == f'Get "{scheme}://{host}/": dial tcp: lookup {host}: no such host'


def test_the_user_of_a_url_is_shown_to_the_server_and_the_password_to_nobody_else() -> None:
    shown: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        shown.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(OK)
        writer.close()

    async def use(port: int) -> None:
        where = f"a%40b:se%3Acret@127.0.0.1:{port}"
        await JsonPoster(f"http://{where}/hook").get(timeout=5)
        token = {"Authorization": "Bearer t"}
        await JsonPoster(f"http://{where}/hook", headers=lambda: token).get(timeout=5)
        poster = JsonPoster("http://me:secret@127.0.0.1:1/hook")
        assert "secret" not in repr(poster)
        with pytest.raises(HttpError) as failed:
            await poster.get(timeout=5)
        assert str(failed.value).startswith('Get "http://me:***@127.0.0.1:1/hook": dial tcp')
        with pytest.raises(ValueError, match=r"'ftp://me:\*\*\*@h' is no URL"):
            JsonPoster("ftp://me:secret@h")

    with_server(serve, use)
    assert b"\r\nAuthorization: Basic YUBiOnNlOmNyZXQ=\r\n" in shown[0]
    assert shown[1].count(b"Authorization: ") == shown[1].count(b"Authorization: Bearer t\r\n") == 1
