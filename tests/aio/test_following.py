"""Following answers that lead elsewhere."""

from __future__ import annotations

import asyncio

import pytest

from watchkeeper.aio.http_client import HttpAnswer, HttpError
from watchkeeper.aio.redirects import follow


def led(*answers: tuple[int, str]) -> tuple[list[tuple[str, int]], int | str]:
    """Where somebody is led by these answers, one after the other, and by which status; and what comes of it."""
    asked: list[tuple[str, int]] = []
    left = [HttpAnswer(status, {"location": location} if location else {}, b"") for status, location in answers]

    async def ask(url: str, status: int) -> HttpAnswer:
        asked.append((url, status))
        return left.pop(0)

    async def run() -> int | str:
        try:
            return (await follow("Get", "http://h/a/b", left.pop(0), ask)).status
        except HttpError as problem:
            return str(problem)

    return asked, asyncio.run(run())


def test_places_are_told_from_the_one_before() -> None:
    asked, outcome = led((302, "c?d=e"), (308, "//other/x/y"), (303, "../z"), (200, "elsewhere"))
    assert asked == [("http://h/a/c?d=e", 302), ("http://other/x/y", 308), ("http://other/z", 303)]
    assert outcome == 200


@pytest.mark.parametrize(("status", "location"), [(300, "/x"), (304, "/x"), (305, "/x"), (302, ""), (201, "/x")])
def test_other_answers_lead_nowhere(status: int, location: str) -> None:
    assert led((status, location)) == ([], status)


def test_ten_requests_are_enough() -> None:
    asked, outcome = led(*[(302, f"/{n}") for n in range(9)], (200, ""))
    assert (len(asked), outcome) == (9, 200)
    asked, outcome = led(*[(302, f"/{n}") for n in range(10)])
    assert (len(asked), outcome) == (9, 'Get "http://h/8": stopped after 10 redirects')


def test_a_place_that_is_none_is_told() -> None:
    _, outcome = led((302, "http://[x/"))
    why = 'failed to parse Location header "http://[x/": parse "http://[x/": Invalid IPv6 URL'
    assert outcome == f'Get "http://h/a/b": {why}'
