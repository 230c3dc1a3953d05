"""Webhooks that lead elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from watchkeeper.webhook.client import Client, WebhookError
from watchkeeper.webhook.client_config import ClientConfig
from watchkeeper.webhook.credentials import Credential

Answer = Callable[[str], str]


def asked(answer: Answer, path: str = "/hook") -> tuple[list[tuple[str, str, bool]], str]:
    """What a webhook is asked that answers so: lines, bodies, whether a token was shown; and what came of it."""
    requests: list[tuple[str, str, bool]] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        _, _, length = head.lower().partition("content-length: ")
        body = await reader.readexactly(int(length.split("\r\n")[0] or 0))
        line = head.partition(" HTTP/1.1")[0]
        requests.append((line, body.decode(), "authorization" in head.lower()))
        port = writer.get_extra_info("sockname")[1]
        writer.write(f"HTTP/1.1 {answer(line)}\r\n\r\n".replace("PORT", str(port)).encode())
        writer.close()

    async def run() -> str:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        client = Client(ClientConfig(url=f"http://127.0.0.1:{port}{path}"), None, Credential(token="t"))
        try:
            return (await client.post(b"[1]", timeout=5)).decode()
        except WebhookError as problem:
            return str(problem).replace(str(port), "PORT")
        finally:
            client.close()
            server.close()

    outcome = asyncio.run(run())
    return requests, outcome


def leading(status: int, location: str) -> Answer:
    def answer(line: str) -> str:
        if " /hook?" in line:
            return f"{status} Elsewhere\r\nLocation: {location}\r\nContent-Length: 0"
        return "200 OK\r\nContent-Length: 2\r\n\r\n{}"

    return answer


@pytest.mark.parametrize("status", [307, 308])
def test_what_was_posted_is_posted_there(status: int) -> None:
    requests, outcome = asked(leading(status, "/hook/?a=b"))
    assert requests == [("POST /hook?timeout=5s", "[1]", True), ("POST /hook/?a=b", "[1]", True)]
    assert outcome.strip() == "{}"


@pytest.mark.parametrize("status", [301, 302, 303])
def test_other_redirects_are_followed_by_a_get(status: int) -> None:
    requests, _ = asked(leading(status, "/other"))
    assert requests[1:] == [("GET /other", "", True)]


def test_another_host_is_shown_no_token() -> None:
    requests, _ = asked(leading(307, "http://localhost:PORT/other"))
    assert requests[1:] == [("POST /other", "[1]", False)]


def test_another_host_is_named_when_it_does_not_answer() -> None:
    _, outcome = asked(leading(307, "http://127.0.0.1:1/z"))
    assert outcome == 'Post "http://127.0.0.1:1/z": dial tcp 127.0.0.1:1: connect: connection refused'


@pytest.mark.parametrize(
    ("location", "told"),
    [
        ("", "the server responded with the status code 307 but did not return more information"),
        ("ftp://127.0.0.1/", 'Post "ftp://127.0.0.1/": unsupported protocol scheme "ftp"'),
        (
            "http://[x/",
            'Post "http://127.0.0.1:PORT/hook?timeout=5s": failed to parse Location header "http://[x/": '
            'parse "http://[x/": Invalid IPv6 URL',
        ),
        ("http://127.0.0.1:99999/", 'Post "http://127.0.0.1:99999/": Port out of range 0-65535'),
        ("/hook?again", 'Post "http://127.0.0.1:PORT/hook?again": stopped after 10 redirects'),
    ],
)
def test_what_leads_nowhere_is_told(location: str, told: str) -> None:
    requests, outcome = asked(leading(307, location))
    assert outcome == told
    assert len(requests) <= 10
