"""The filter that tells the HTTP server which answers are streams without an end of their own."""

from __future__ import annotations

from watchkeeper.request.exchange import Exchange
from watchkeeper.request.request import Request


def mark_long_running(request: Request) -> None:
    """Let the server end such an answer cleanly when it stops."""
    if request.info.long_running:
        exchange: Exchange | None = request.scope.get("exchange")
        if exchange is not None:
            exchange.long_running = True
