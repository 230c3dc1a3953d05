"""Timestamps and durations as text and in parts, as Go has them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache

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
from watchkeeper.meta.field import go_quote
from watchkeeper.meta.time_zones import UnknownTimeZone, find_time_zone
from watchkeeper.values import value

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_RFC3339 = re.compile(
    r"(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:[.,](\d+))?([Zz]|[+-]\d{2}:\d{2})", re.ASCII
)
_INTEGER = re.compile(r"[+-]?\d{1,30}", re.ASCII)
_CYCLE = 400
"""Years after which the same dates fall on the same days of the week."""


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
        raise EvalError("integer overflow")
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


@value()
class Local:
    """A date and time of day somewhere. `years` are to be added to those of the date, which knows but four digits."""

    date: datetime
    years: int = 0


def local(at: Timestamp, zone: str = "UTC") -> Local:
    """The date and time of day in a zone, given by name or as an offset such as `-08:00`. Raises EvalError."""
    moment, where = _EPOCH + timedelta(microseconds=int(at) // 1000), _zone(zone)
    try:
        return Local(moment.astimezone(where) if isinstance(where, tzinfo) else moment + where)
    except OverflowError:
        return _beyond(moment, where)


def _beyond(moment: datetime, where: tzinfo | timedelta) -> Local:
    """The same in the years around those that dates can have: the calendar repeats itself."""
    years = _CYCLE if moment.year == 1 else -_CYCLE
    offset = where.utcoffset(moment.replace(tzinfo=where)) if isinstance(where, tzinfo) else where
    try:
        return Local(moment.replace(year=moment.year + years) + (offset or timedelta()), -years)
    except OverflowError:
        raise EvalError("timestamp overflow") from None


@lru_cache(maxsize=100)
def _zone(name: str) -> tzinfo | timedelta:
    hours, colon, minutes = name.partition(":")
    if colon:
        return _offset(_whole(hours), _whole(minutes), west=name.startswith("-"))
    try:
        return find_time_zone(name)
    except UnknownTimeZone as problem:
        raise EvalError(str(problem)) from None


def _offset(hours: int, minutes: int, *, west: bool) -> timedelta:
    try:
        return timedelta(hours=hours, minutes=-minutes if west else minutes)
    except OverflowError:
        raise EvalError("timestamp overflow") from None


def _whole(text: str) -> int:
    if not _INTEGER.fullmatch(text):
        raise EvalError(f"strconv.Atoi: parsing {go_quote(text)}: invalid syntax")
    found = int(text)
    if not MIN_INT <= found <= MAX_INT:
        raise EvalError(f"strconv.Atoi: parsing {go_quote(text)}: value out of range")
    return found
