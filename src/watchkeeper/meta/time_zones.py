"""Time zones by their names, as Go's time.LoadLocation finds them."""

from __future__ import annotations

from datetime import UTC, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError


class UnknownTimeZone(ValueError):
    """There is no such zone; the message is Go's."""


def find_time_zone(name: str) -> tzinfo:
    """The zone of a name in the system's database; servers are in UTC. Raises UnknownTimeZone."""
    if name in ("", "UTC", "Local"):
        return UTC
    if name[0] in "/\\" or ".." in name:
        raise UnknownTimeZone("time: invalid location name")
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, ZoneInfoNotFoundError):
        raise UnknownTimeZone(f"unknown time zone {name}") from None
