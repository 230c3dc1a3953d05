"""A server, and clients for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from watchkeeper.client.config import ClientConfig
from watchkeeper.client.dynamic import DynamicClient
from watchkeeper.client.rest import RestClient
from watchkeeper.testing import Server
from watchkeeper.testing.handle import Handle


class Kit:
    """What tests of the client need."""

    def __init__(self, handle: Handle) -> None:
        self.handle = handle

    def rest(self, **changes: Any) -> RestClient:
        """A client of the administrator."""
        return RestClient(ClientConfig(**{"url": self.handle.url, "token": self.handle.token, **changes}))

    def dynamic(self) -> DynamicClient:
        """The same for all resources."""
        return DynamicClient(self.rest())


@pytest.fixture(scope="package")
def server() -> Iterator[Handle]:
    with Server(insecure_http=True) as handle:
        yield handle


@pytest.fixture
def kit(server: Handle) -> Kit:
    return Kit(server)


@pytest.fixture
def namespace(server: Handle) -> Iterator[str]:
    with server.namespace("client") as name:
        yield name
