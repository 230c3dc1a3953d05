"""Times as objects hold them: RFC 3339 text in UTC, to the second, or to the microsecond in some fields.

Reading follows Go's `time.Parse`, and so do the words of its errors.
"""

from __future__ import annotations

import re
import time
from functools import lru_cache

from watchkeeper.meta.go_durations import quote

SECONDS = "2006-01-02T15:04:05Z07:00"
"""The layout of metav1.Time, in Go's notation; it shows in errors. A fraction of a second may be given."""
MICROS = "2006-01-02T15:04:05.000000Z07:00"
"""The layout of metav1.MicroTime. The fraction must have six digits."""

_TIME = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d?):(\d\d):(\d\d)(?:[.,](\d+))?(?:Z|([+-])(\d\d):(\d\d))", re.ASCII)
_DATE = r"\d{4}-(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)"
"""Every date but those of leap days."""
_CANONICAL = re.compile(_DATE + r"T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\dZ", re.ASCII)
_CANONICAL_MICROS = re.compile(_CANONICAL.pattern[:-1] + r"\.\d{6}Z", re.ASCII)
_ELEMENTS = re.compile(r"2006|01|02|15|04|05|\.000000|Z07:00|.")
_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)

_ZERO_SECONDS = "0001-01-01T00:00:00Z"
_ZERO_MICROS = "0001-01-01T00:00:00.000000Z"


class TimeError(ValueError):
    """A text that is no time; the message is what the reference would say."""


def time_text(seconds: float) -> str:
    """Seconds since the epoch as a time, to the second."""
    return _text_of(int(seconds))


@lru_cache(maxsize=4)  # many writes fall into one second
def _text_of(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def canonical_time(text: str) -> str | None:
    """A time in UTC, to the second; None for the zero time. Raises TimeError."""
    if _CANONICAL.fullmatch(text) and text != _ZERO_SECONDS:
        return text
    year, month, day, hour, minute, second, fraction = _parse(text, SECONDS)
    if text == _ZERO_SECONDS or (
        (year, month, day) == (1, 1, 1) and hour == minute == second == 0 and not fraction.strip("0")
    ):
        return None
    return f"{year:04d}-{month:02d}-{day:02d}T{hour:02d}:{minute:02d}:{second:02d}Z"


def canonical_micro_time(text: str) -> str | None:
    """A time in UTC, to the microsecond; None for the zero time. Raises TimeError."""
    if _CANONICAL_MICROS.fullmatch(text) and text != _ZERO_MICROS:
        return text
    year, month, day, hour, minute, second, fraction = _parse(text, MICROS)
    found = f"{year:04d}-{month:02d}-{day:02d}T{hour:02d}:{minute:02d}:{second:02d}.{fraction}Z"
    return None if found == _ZERO_MICROS else found


def _parse(text: str, layout: str) -> tuple[int, int, int, int, int, int, str]:
    """The parts of a time, moved to UTC; the fraction as digits."""
    match = _TIME.fullmatch(text)
    if match is None or (layout is MICROS and (len(match[7] or "") != 6 or "," in text)):
        raise _error(text, layout)
    year, month, day, hour, minute, second = (int(match[i]) for i in range(1, 7))
    _check_ranges(text, year, month, day, hour, minute, second)
    if match[8]:
        if int(match[9]) > 24:
            raise _out_of_range(text, "time zone offset hour")
        if int(match[10]) > 60:
            raise _out_of_range(text, "time zone offset minute")
        offset = (int(match[9]) * 60 + int(match[10])) * (-1 if match[8] == "-" else 1)
        days, minutes = divmod(hour * 60 + minute - offset, 1440)
        hour, minute = divmod(minutes, 60)
        if days:
            year, month, day = _shift(year, month, day, days)
    return year, month, day, hour, minute, second, match[7] or ""


def _check_ranges(text: str, year: int, month: int, day: int, hour: int, minute: int, second: int) -> None:
    if not 1 <= month <= 12:
        raise _out_of_range(text, "month")
    if hour > 23:
        raise _out_of_range(text, "hour")
    if minute > 59:
        raise _out_of_range(text, "minute")
    if second > 59:
        raise _out_of_range(text, "second")
    if not 1 <= day <= _days_in(year, month):
        raise _out_of_range(text, "day")


def _days_in(year: int, month: int) -> int:
    leap = month == 2 and year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return _DAYS[month - 1] + leap


def _shift(year: int, month: int, day: int, days: int) -> tuple[int, int, int]:
    """A date, one day or two later or earlier."""
    day += days
    if day < 1:
        month -= 1
        if month < 1:
            year, month = year - 1, 12
        return year, month, day + _days_in(year, month)
    if day > _days_in(year, month):
        day -= _days_in(year, month)
        month += 1
        if month > 12:
            year, month = year + 1, 1
    return year, month, day


def _out_of_range(text: str, what: str) -> TimeError:
    return TimeError(f"parsing time {quote(text)}: {what} out of range")


def _error(text: str, layout: str) -> TimeError:
    """What `time.Parse` says of a text: the first element of the layout that the rest of the text does not match."""
    rest = text
    for element in _ELEMENTS.findall(layout):
        match = _element(element).match(rest)
        if match is None:
            what = f"cannot parse {quote(rest)} as {quote(element)}"
            return TimeError(f"parsing time {quote(text)} as {quote(layout)}: {what}")
        if (out := _range_of(element, match[1])) is not None:
            return _out_of_range(text, out)
        rest = rest[match.end() :]
        if element == "05" and layout is SECONDS and (fraction := re.match(r"[.,]\d+", rest)):
            rest = rest[fraction.end() :]
    if rest:
        return TimeError(f"parsing time {quote(text)}: extra text: {quote(rest)}")
    return _out_of_range(text, "day")


def _element(element: str) -> re.Pattern[str]:
    patterns = {"2006": r"(\d{4})", "15": r"(\d\d?)", ".000000": r"([.,]\d{6})", "Z07:00": r"(Z|[+-]\d\d:\d\d)"}
    digits = r"(\d\d)" if element.isdigit() else f"({re.escape(element)})"
    return re.compile(patterns.get(element, digits), re.ASCII)


_RANGES = {"01": ("month", 1, 12), "15": ("hour", 0, 23), "04": ("minute", 0, 59), "05": ("second", 0, 59)}


def _range_of(element: str, value: str) -> str | None:
    if element not in _RANGES:
        return None
    name, low, high = _RANGES[element]
    return None if low <= int(value) <= high else name
