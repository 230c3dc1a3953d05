"""Times of the years 0 to 9999 as the API writes them. Python's begin with the year 1, Go's do not."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_CYCLE_YEARS = 400
_CYCLE = timedelta(days=146097)
"""So many years, after which the Gregorian calendar repeats itself."""
_YEAR_1 = -62135596800
"""The first second of the year 1."""


def since_epoch(text: str) -> timedelta:
    """From the beginning of 1970 to an RFC 3339 time. Raises ValueError."""
    in_year_0 = text.startswith("0000-")
    moment = datetime.fromisoformat(f"0400{text[4:]}" if in_year_0 else text)
    if moment.tzinfo is None:
        raise ValueError(f"no time zone in {text}")
    since = moment - _EPOCH
    return since - _CYCLE if in_year_0 else since


def utc_text(seconds: int) -> str:
    """Seconds since the beginning of 1970 as an RFC 3339 time without its Z. Raises OverflowError beyond the years."""
    if seconds >= _YEAR_1:
        moment = _EPOCH + timedelta(seconds=seconds)
        return moment.replace(tzinfo=None).isoformat()  # strftime does not fill up years before 1000
    moment = _EPOCH + (timedelta(seconds=seconds) + _CYCLE)
    if moment.year < _CYCLE_YEARS:
        raise OverflowError("a time before the year 0")
    return f"0000{moment.replace(tzinfo=None).isoformat()[4:]}"
