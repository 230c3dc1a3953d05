"""The filter that tells browsers to come back over TLS alone (RFC 6797)."""

from __future__ import annotations

from collections.abc import Sequence

from watchkeeper.request.request import Request


class StrictTransport:
    """Adds `Strict-Transport-Security` to every answer."""

    def __init__(self, directives: Sequence[str]) -> None:
        self._header = (b"strict-transport-security", "; ".join(directives).encode())

    def __call__(self, request: Request) -> None:
        """Let every request go on."""
        request.told += (self._header,)
