"""What the HTTP server can do for a request beyond ASGI's words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol


class AnswerBroken(Exception):
    """An answer was begun and cannot be finished, for no fault of this server's; the client gets to see that."""


class Exchange(Protocol):
    """One request and its answer on a connection. In `scope["exchange"]` under watchkeeper's own HTTP server only."""

    long_running: bool
    """Whether the answer is a stream without an end of its own (a watch): a server that stops ends it cleanly.

    Set it before the answer begins.
    """
    broken_at_stop: bool
    """Whether a stream is told from one that came to its end where a server that stops ends it: it is broken off."""

    def respond(self, status: int, headers: Sequence[tuple[bytes, bytes]], body: bytes) -> None:
        """Send a whole answer at once; content-length is added. For bodies that need no flow control (under 1 MiB)."""
        ...

    def send_nowait(self, piece: bytes) -> bool:
        """Send a piece of a stream that has begun, unless that has to wait or be refused: then False, and ASGI's
        `send` does it."""
        ...

    def upgrade(self, headers: Sequence[tuple[bytes, bytes]]) -> WebSocket:
        """Answer with 101 and these headers, and go on as a WebSocket. Raises OSError when the client is gone."""
        ...

    def hijack(self) -> Tunnel:
        """Leave the answer, and all that follows it, to whoever calls. Raises OSError when the client is gone."""
        ...

    async def receive(self) -> Any:
        """ASGI's `receive`, of which nobody else takes note."""
        ...

    def peer_certificate(self) -> PeerCertificate | None:
        """The client's certificate, judged as of now, None when the client showed none."""
        ...


class WebSocket(Protocol):
    """The server's side of a WebSocket. Whoever upgraded ends it; a client that closes cancels the task that sends."""

    async def send_text(self, text: bytes) -> None:
        """Send a text message, UTF-8, waiting while the client is behind. Raises OSError when the client is gone."""
        ...

    async def send_binary(self, data: bytes) -> None:
        """Send a binary message, as `send_text` does."""
        ...

    def close(self, code: int = 1000) -> None:
        """Say goodbye and close. Idempotent."""
        ...


class Tunnel(Protocol):
    """The server's side of a connection on which bytes go both ways. A client that goes cancels the task."""

    async def receive(self) -> bytes:
        """What the client has sent, waiting for more when there is nothing; empty when the client is gone."""
        ...

    async def send(self, data: bytes) -> None:
        """Send bytes, waiting while the client is behind: one at a time. Raises OSError when the client is gone."""
        ...

    def send_nowait(self, data: bytes) -> bool:
        """Send bytes, be it that somebody waits with others; False when the client is behind or gone."""
        ...

    def close(self) -> None:
        """Close. Idempotent."""
        ...


class PeerCertificate(Protocol):
    """What a client's certificate says of its owner: nothing when nobody accepts it."""

    def __hash__(self) -> int:
        """Equal certificates hash alike, so that what was found out about one can be kept."""
        ...

    @property
    def common_name(self) -> str:
        """The subject's CN, "" when there is none."""
        ...

    @property
    def organizations(self) -> tuple[str, ...]:
        """The subject's O values."""
        ...

    @property
    def uid(self) -> str:
        """The subject's Kubernetes uid attribute, "" when there is none."""
        ...

    @property
    def is_client(self) -> bool:
        """Whether one of the authorities has signed it whose certificates say who a client is."""
        ...

    @property
    def is_proxy(self) -> bool:
        """Whether one of the authorities has signed it whose certificates front proxies show."""
        ...

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the certificate, lower-case hex."""
        ...
