"""The numbers an HTTP server holds its clients to."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpLimits:
    """Sizes in bytes, times in seconds."""

    head_size: int = 1 << 20
    """A longer request line and headers are answered with 431."""
    head_seconds: float = 32.0
    """A request's line and headers must have come within this time."""
    idle_seconds: float = 90.0
    """A connection without a request is closed after this time."""
    write_seconds: float = 60.0
    """A connection whose client takes nothing of what waits for it is cut off after this time."""
    ping_seconds: float = 30.0
    """A WebSocket whose client says nothing for this time is pinged; after as long again it is cut off."""
    body_buffer: int = 1 << 16
    """Reading pauses while this much of a body waits for the application."""
    write_buffer: int = 1 << 20
    """Writing pauses while more than this waits for the client."""
    backlog: int = 2048
    leave_chance: float = 0.0
    """How likely an answer closes its connection, so that the client finds another server."""


DEFAULT_LIMITS = HttpLimits()
