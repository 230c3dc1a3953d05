"""Timestamps and durations as text and in parts, as Go has them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from watchkeeper.cel.values import (
    MAX_INT,
    MAX_TIMESTAMP,
    MIN_INT,
    MIN_TIMESTAMP,
    NANOS,
    Duration,
    EvalError,
    Timestamp,
)
from watchkeeper.meta import go_durations

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_RFC3339 = re.compile(
    r"(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:[.,](\d+))?([Zz]|[+-]\d{2}:\d{2})", re.ASCII
)
_OFFSET = re.compile(r"([+-]?)(\d{1,2}):(\d{2})", re.ASCII)


def parse_timestamp(text: str) -> Timestamp:
    """Read RFC 3339. Raises ValueError."""
    found = _RFC3339.fullmatch(text)
    if found is None:
        raise ValueError(f'parsing time "{text}" as "2006-01-02T15:04:05Z07:00": cannot parse')
    year, month, day, hour, minute, second = (int(found.group(i)) for i in range(1, 7))
    nanos = int((found.group(7) or "0").ljust(9, "0")[:9])
    zone = found.group(8)
    at = datetime(year, month, day, hour, minute, second, tzinfo=UTC) - _EPOCH
    seconds = at.days * 86400 + at.seconds
    offset = 0
    if zone not in "Zz":
        offset = int(zone[1:3]) * 3600 + int(zone[4:6]) * 60
        offset = -offset if zone[0] == "-" else offset
    return check_timestamp((seconds - offset) * NANOS + nanos, offset)


def check_timestamp(nanos: int, offset: int = 0) -> Timestamp:
    """A timestamp within the years 1 to 9999. Raises EvalError beyond."""
    if not MIN_TIMESTAMP <= nanos <= MAX_TIMESTAMP:
        raise EvalError("timestamp overflow")
    found = Timestamp(nanos)
    if offset:
        found.offset = offset
    return found


def check_duration(nanos: int) -> Duration:
    """A duration that fits into 64 bits of nanoseconds. Raises EvalError beyond."""
    if not MIN_INT <= nanos <= MAX_INT:
        raise EvalError("duration overflow")
    return Duration(nanos)


def format_timestamp(at: Timestamp) -> str:
    """RFC 3339 in its zone with as many decimals as it takes."""
    seconds, nanos = divmod(int(at), NANOS)
    shown = _EPOCH + timedelta(seconds=seconds + at.offset)
    text = shown.strftime("%Y-%m-%dT%H:%M:%S").rjust(19, "0")
    hours, minutes = divmod(abs(at.offset) // 60, 60)
    zone = f"{'-' if at.offset < 0 else '+'}{hours:02d}:{minutes:02d}" if at.offset else "Z"
    return f"{text}.{nanos:09d}".rstrip("0").rstrip(".") + zone


def parse_duration(text: str) -> Duration:
    """Read a duration as Go's time.ParseDuration does. Raises ValueError."""
    return Duration(go_durations.parse_duration(text))


def local(at: Timestamp, zone: str = "UTC") -> datetime:
    """The date and time of day in a zone, given by name or as an offset such as `-08:00`. Raises EvalError."""
    return (_EPOCH + timedelta(microseconds=int(at) // 1000)).astimezone(_zone(zone))


@lru_cache(maxsize=100)
def _zone(name: str) -> tzinfo:
    if name in ("UTC", ""):
        return UTC
    found = _OFFSET.fullmatch(name)
    if found is not None:
        offset = timedelta(hours=int(found.group(2)), minutes=int(found.group(3)))
        return timezone(-offset if found.group(1) == "-" else offset)
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise EvalError(f"unknown time zone {name}") from None
