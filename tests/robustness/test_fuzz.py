"""Nearly sound requests by the thousand: every answer is an answer, and the server's log tells of no panic."""

from __future__ import annotations

import http.client
import itertools
import json
import logging
import os
import random
import time
from urllib.parse import urlsplit

import pytest
from fuzz_requests import OBJECTS, FuzzRequest, requests

from watchkeeper.testing.handle import Handle

SHARE = float(os.environ.get("SOAK_MINUTES", "10")) * 60 / 20
"""Seconds that the long form takes."""
SERVER_FAULTS = {500, 502, 503}


class Sender:
    """Sends over one connection as long as it holds."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle
        self._connection = self._connect()

    def _connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(urlsplit(self._handle.url).netloc, timeout=60)

    def send(self, request: FuzzRequest) -> tuple[int, bytes]:
        headers = {"Authorization": f"Bearer {self._handle.token}", **request.headers}
        for _ in range(2):
            try:
                self._connection.request(request.method, request.target, request.body, headers)
                answer = self._connection.getresponse()
                return answer.status, answer.read()
            except (http.client.RemoteDisconnected, ConnectionError):
                self._connection.close()
                self._connection = self._connect()  # the server closed it after the last answer
        raise AssertionError(f"no answer to {request}")


def answered(server: Handle, caplog: pytest.LogCaptureFixture, seed: int, count: int) -> None:
    sender = Sender(server)
    statuses: set[int] = set()
    for path, obj in OBJECTS.items():
        named = {} if path.endswith("reviews") else {"metadata": {"name": "x"}}
        body = json.dumps({**named, **obj}).encode()
        assert sender.send(FuzzRequest("POST", path, {"Content-Type": "application/json"}, body))[0] in (201, 409), path
    with caplog.at_level(logging.ERROR):
        for request in requests(random.Random(seed), count):
            status, text = sender.send(request)
            statuses.add(status)
            assert b"panic" not in text, (request, text)
            if status in SERVER_FAULTS:
                # Some answers of the reference are of this kind: without a reason, or about what is not there.
                assert b'"reason":"InternalError"' not in text, (request, text)
    assert [record.getMessage() for record in caplog.records if "panic" in record.getMessage()] == []
    assert statuses >= {200, 201, 400, 404, 415, 422}


def test_odd_requests_are_answered_and_never_a_panic(server: Handle, caplog: pytest.LogCaptureFixture) -> None:
    answered(server, caplog, 1, 400)


def test_the_same_seed_makes_the_same_requests_whatever_was_made_before() -> None:
    first, others, again = (list(requests(random.Random(seed), 300)) for seed in (7, 8, 7))
    assert first == again != others


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_odd_requests_for_long(server: Handle, caplog: pytest.LogCaptureFixture) -> None:
    end = time.monotonic() + SHARE
    for seed in itertools.count(2):
        answered(server, caplog, seed, 1_000)
        if time.monotonic() > end:
            print(f"odd requests: {(seed - 1) * 1000} answered, no panic")
            return
