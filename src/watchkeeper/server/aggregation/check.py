"""Whether the server behind an APIService answers: any of several attempts is enough."""

from __future__ import annotations

import asyncio
from typing import Any

from watchkeeper.aio.dial import authority
from watchkeeper.aio.http_client import ResolveError
from watchkeeper.aio.tasks import TaskOwner
from watchkeeper.server.aggregation.fetch import FetchError, fetch
from watchkeeper.server.aggregation.remote import Remote

_ATTEMPTS = 5
_SECONDS = 5.0
_MAX_BYTES = 1 << 20
_TIMED_OUT = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"


async def discovery_problem(remote: Remote, tasks: TaskOwner) -> str:
    """Why nobody tells what the version has; "" when somebody does. Raises Unusable when nobody can be asked."""
    await remote.transport.prepare()
    attempts = [tasks.start(f"attempt at {remote.name}", _attempt(remote)) for _ in range(_ATTEMPTS)]
    last = ""
    try:
        for attempt in asyncio.as_completed(attempts):
            last = await attempt
            if not last:
                return ""
    finally:
        await _end(attempts)
    remote.transport.close_idle()
    return last


async def _attempt(remote: Remote) -> str:
    try:
        place = await remote.locate()
    except ResolveError as problem:
        return str(problem)
    url = f"https://{authority(*place)}{remote.path}"
    try:
        async with asyncio.timeout(_SECONDS):
            answer = await fetch(remote, place, remote.path, max_bytes=_MAX_BYTES)
    except FetchError as problem:
        return f'failing or missing response from {url}: Get "{url}": {problem}'
    except TimeoutError:
        return f'failing or missing response from {url}: Get "{url}": {_TIMED_OUT}'
    if not 200 <= answer.head.status < 300:
        return f"failing or missing response from {url}: bad status from {url}: {answer.head.status}"
    return ""


async def _end(attempts: list[asyncio.Task[Any]]) -> None:
    for attempt in attempts:
        attempt.cancel()
    await asyncio.gather(*attempts, return_exceptions=True)
