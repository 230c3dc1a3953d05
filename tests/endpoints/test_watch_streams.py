"""Watches as HTTP answers: the old paths, and that a watch is freed however its stream ends."""

from __future__ import annotations

import asyncio
import json
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from watchkeeper.endpoints.response import Response
from watchkeeper.request.request import Request
from watchkeeper.testing import Handle, RequestFailed
from watchkeeper.testing import Server as InProcess


@pytest.fixture(scope="module")
def server() -> Iterator[Handle]:
    with InProcess(insecure_http=True) as handle:
        yield handle


def first_event(server: Handle, path: str) -> Any:
    request = urllib.request.Request(server.url + path, headers={"Authorization": f"Bearer {server.token}"})
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.loads(answer.readline())


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/watch/services",
        "/api/v1/watch/namespaces/default/services?watch=false",
        "/api/v1/watch/namespaces/default/services/kubernetes",
    ],
)
def test_old_paths_watch_with_or_without_the_parameter(server: Handle, path: str) -> None:
    event = first_event(server, path)
    assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", "kubernetes")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("POST", "/api/v1/watch/namespaces/default/services", 405),
        ("DELETE", "/api/v1/watch/namespaces/default/services/kubernetes", 405),
        ("GET", "/api/v1/watch/namespaces/default/services/kubernetes/status", 404),
        ("GET", "/api/v1/watch/nosuch", 404),
    ],
)
def test_old_paths_can_do_nothing_else(server: Handle, method: str, path: str, status: int) -> None:
    with pytest.raises(RequestFailed) as refused:
        server.request(method, path)
    assert refused.value.status == status


class Pieces:
    """A stream that remembers whether it was freed."""

    def __init__(self) -> None:
        self.freed = False

    async def __aiter__(self) -> Any:
        while True:
            yield b"piece"

    async def aclose(self) -> None:
        self.freed = True


@pytest.mark.parametrize("pieces", [0, 1, 3])
def test_a_stream_is_freed_when_its_client_goes_at_any_time(pieces: int) -> None:
    left = pieces

    async def send(message: Any) -> None:
        nonlocal left
        if not left:
            raise OSError("gone")
        left -= 1

    async def run() -> bool:
        scope = {"method": "GET", "path": "/", "query_string": b"", "headers": []}
        request = Request(scope, asyncio.Event().wait, send)
        stream = Pieces()
        with pytest.raises(OSError, match="gone"):
            await Response(200, stream=stream).send(request)
        return stream.freed

    assert asyncio.run(run())
