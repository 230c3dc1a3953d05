"""What is answered when the time of a request is over."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

import orjson
import pytest

from watchkeeper.endpoints.app import App
from watchkeeper.endpoints.response import Response
from watchkeeper.endpoints.router import Router
from watchkeeper.endpoints.scope import ServedTable
from watchkeeper.meta import errors
from watchkeeper.request.request import Request


async def late(request: Request) -> Response | None:
    """Waits for longer than the request may take."""
    request.warn("of something")
    request.told += ((b"strict-transport-security", b"max-age=1"), (b"x-kubernetes-pf-flowschema-uid", b"1"))
    await asyncio.sleep(30)
    return None


async def failing_late(request: Request) -> Response | None:
    """Fails because the time is over."""
    while asyncio.get_running_loop().time() < request.started + 0.1:
        await asyncio.sleep(0.01)
    raise errors.timeout("of its own")


async def failing(request: Request) -> Response | None:
    """Fails in time."""
    raise errors.timeout("of its own")


def answer_of(handler: Any, query: str = "timeout=100ms") -> tuple[dict[str, Any], bytes]:
    def apply(request: Request) -> Awaitable[Response | None]:
        found: Awaitable[Response | None] = handler(request)
        return found

    sent: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    async def receive() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    path = "/api/v1/namespaces/default/pods"
    scope = {"type": "http", "method": "GET", "path": path, "query_string": query.encode(), "headers": []}
    app = App(filters=[apply], router=Router(ServedTable()), paths={}, request_timeout=0.1)
    asyncio.run(app(scope, receive, send))
    return {**sent[0], "headers": dict(sent[0]["headers"])}, sent[1]["body"]


@pytest.mark.parametrize("handler", [late, failing_late])
def test_a_request_that_takes_too_long_is_answered_alike_whoever_notices(handler: Any) -> None:
    start, body = answer_of(handler)
    assert start["status"] == 504
    told = {b"strict-transport-security"} if handler is late else set()
    assert start["headers"].keys() == {b"content-type", b"cache-control", b"content-length", b"audit-id", *told}
    assert start["headers"][b"content-type"] == b"text/plain; charset=utf-8"
    assert orjson.loads(body) == {
        "metadata": {},
        "status": "Failure",
        "message": "Timeout: request did not complete within the allotted timeout",
        "reason": "Timeout",
        "details": {},
        "code": 504,
    }


def test_a_handler_that_gives_up_in_time_says_why() -> None:
    start, body = answer_of(failing)
    assert (start["status"], start["headers"][b"content-type"]) == (504, b"application/json")
    assert orjson.loads(body)["message"] == "Timeout: of its own"


def test_a_watch_that_does_not_open_is_told_so_as_a_status() -> None:
    start, body = answer_of(late, "watch=1")
    assert (start["status"], start["headers"][b"content-type"]) == (504, b"application/json")
    assert orjson.loads(body)["kind"] == "Status"
