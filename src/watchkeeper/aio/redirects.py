"""Goes where answers lead, as far as Go's client goes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from urllib.parse import urljoin

from watchkeeper.aio.http_client import HttpAnswer, HttpError

MAX_REQUESTS = 10
"""Where so many were led elsewhere, there is no end to it."""
_STATUSES = frozenset({301, 302, 303, 307, 308})

Ask = Callable[[str, int], Awaitable[HttpAnswer]]
"""Asks at a URL to which an answer of this status has led. Raises HttpError."""


async def follow(verb: str, url: str, answer: HttpAnswer, ask: Ask) -> HttpAnswer:
    """The answer of the one whom an answer from a URL leads to at last; `verb` is for errors. Raises HttpError."""
    for _ in range(MAX_REQUESTS - 1):
        if not (location := _location(answer)):
            return answer
        try:
            elsewhere = urljoin(url, location)
        except ValueError as problem:
            why = f'failed to parse Location header "{location}": parse "{location}": {problem}'
            raise HttpError(f'{verb} "{url}": {why}') from problem
        url = elsewhere
        answer = await ask(url, answer.status)
    if _location(answer):
        raise HttpError(f'{verb} "{url}": stopped after {MAX_REQUESTS} redirects')
    return answer


def _location(answer: HttpAnswer) -> str:
    return answer.headers.get("location", "") if answer.status in _STATUSES else ""
