"""What servers for tests have in common: how they are entered and left, and how they are reached meanwhile."""

from __future__ import annotations

import asyncio
import ssl
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from watchkeeper.testing.handle import Handle


class Running(ABC):
    """`with` or `async with`: enter to start, leave to stop. While it runs it has all that its handle has."""

    _handle: Handle | None = None

    @abstractmethod
    def start(self) -> Handle:
        """Start, and wait until it answers. Raises what keeps it from starting."""

    @abstractmethod
    def stop(self) -> None:
        """Stop, and wait until it has. Idempotent."""

    @property
    def handle(self) -> Handle:
        """How the server is reached. Raises RuntimeError when it does not run."""
        if self._handle is None:
            raise RuntimeError("the server is not running")
        return self._handle

    @property
    def url(self) -> str:
        """Its address."""
        return self.handle.url

    @property
    def token(self) -> str:
        """A bearer token of group system:masters."""
        return self.handle.token

    @property
    def kubeconfig(self) -> Path:
        """A kubeconfig file for it."""
        return self.handle.kubeconfig

    @property
    def ca_pem(self) -> str:
        """The authority of its certificate."""
        return self.handle.ca_pem

    @property
    def env(self) -> dict[str, str]:
        """What to add to the environment of kubectl and of client libraries."""
        return self.handle.env

    def ssl_context(self) -> ssl.SSLContext:
        """A client's TLS context that trusts it."""
        return self.handle.ssl_context()

    def request(self, method: str, path: str, body: Any = None, *, headers: Mapping[str, str] | None = None) -> Any:
        """Send one request as the administrator; see `Handle.request`."""
        return self.handle.request(method, path, body, headers=headers)

    def namespace(self, prefix: str = "test") -> AbstractContextManager[str]:
        """A new, empty namespace; see `Handle.namespace`."""
        return self.handle.namespace(prefix)

    def __enter__(self) -> Handle:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    async def __aenter__(self) -> Handle:
        starting = asyncio.ensure_future(asyncio.to_thread(self.start))
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            # The thread goes on: nobody else would stop what it has started.
            with suppress(Exception):
                await starting
                await asyncio.to_thread(self.stop)
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.stop)
