"""Connections to one server between one request and the next."""

from __future__ import annotations

from watchkeeper.aio.http_stream import HttpStream


class KeptStreams:
    """Keeps connections that can be used again. States: open → closed."""

    __slots__ = ("_closed", "_idle", "_most")

    def __init__(self, most: int) -> None:
        """`most`: how many are kept."""
        self._most = most
        self._idle: list[HttpStream] = []
        self._closed = False

    def __repr__(self) -> str:
        return f"<KeptStreams: {len(self)} of {self._most}>"

    def __len__(self) -> int:
        return len(self._idle)

    def take(self) -> HttpStream | None:
        """One that goes on, as far as is known; None when there is none."""
        while self._idle:
            stream = self._idle.pop()
            if not stream.is_stale:
                return stream
            stream.close()
        return None

    def keep(self, stream: HttpStream) -> None:
        """Take back a connection that somebody is done with, or close it: whatever its state is."""
        if self._closed or len(self._idle) >= self._most or not stream.is_reusable:
            stream.close()
        else:
            self._idle.append(stream)

    def close(self) -> None:
        """Close what is idle, and from now on each connection that is given back. Idempotent."""
        self._closed = True
        while self._idle:
            self._idle.pop().close()
