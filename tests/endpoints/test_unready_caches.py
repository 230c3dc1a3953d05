"""What clients are told while a cache is not ready, or not there yet."""

from __future__ import annotations

import orjson
import pytest

from watchkeeper.endpoints.response import error_response
from watchkeeper.meta.gvk import GroupResource
from watchkeeper.registry.errors import to_api_error
from watchkeeper.storage.errors import NotReady, StorageError, TooLargeResourceVersion


@pytest.mark.parametrize("verb", ["list", "watch"])
@pytest.mark.parametrize(
    ("error", "status", "reason", "seconds", "message"),
    [
        (NotReady("storage is (re)initializing", 7), 429, "TooManyRequests", 7, "storage is (re)initializing"),
        (
            TooLargeResourceVersion(1000, 1),
            504,
            "Timeout",
            1,
            "Timeout: Too large resource version: 1000, current: 1",
        ),
    ],
)
def test_clients_are_told_when_to_come_again(
    verb: str, error: StorageError, status: int, reason: str, seconds: int, message: str
) -> None:
    response = error_response(to_api_error(error, GroupResource("", "pods"), "", verb))
    told = orjson.loads(response.body)
    assert response.status == told["code"] == status
    assert dict(response.headers)[b"retry-after"] == str(seconds).encode()
    assert (told["reason"], told["message"]) == (reason, message)
    assert told["details"]["retryAfterSeconds"] == seconds
