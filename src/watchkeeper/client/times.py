"""Times as the API writes them."""

from __future__ import annotations

from datetime import UTC, datetime


def micro_time(seconds: float) -> str:
    """Seconds since the epoch as a MicroTime."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def plain_time(seconds: float) -> str:
    """Seconds since the epoch as a Time: whole seconds."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
