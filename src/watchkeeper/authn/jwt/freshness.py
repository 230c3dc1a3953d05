"""For how long an answer may be kept (RFC 7234), as the library reads it that kube-apiserver keeps keys by."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_MOST_GUESSED = 24 * 3600.0
_GUESSED_SHARE = 0.1
_MOST = 2**31 - 1


def fresh_seconds(headers: Mapping[str, str], now: float) -> float:
    """Seconds from `now` on, 0 for not at all; `headers` by names in lower case, `now` in seconds since 1970.

    Where nothing is said, what has not changed for long is taken to stay for a tenth of that time, a day at most.
    """
    try:
        ages = _ages(headers.get("cache-control", ""))
        made, changed = _time(headers, "date"), _time(headers, "last-modified")
    except ValueError:
        return 0.0
    try:
        expires = _time(headers, "expires")
    except ValueError:
        expires = None  # such as "0"
    for name in ("s-maxage", "max-age"):
        if name in ages:
            return float(ages[name])
    if expires is not None:
        return max(0.0, expires - (now if made is None else made))
    if changed is not None:
        return min(max(0.0, (now - changed) * _GUESSED_SHARE), _MOST_GUESSED)
    return 0.0


def _ages(directives: str) -> dict[str, int]:
    """Raises ValueError for an age that is no number."""
    found: dict[str, int] = {}
    for directive in directives.split(","):
        name, _, value = directive.strip().partition("=")
        if (name := name.strip().lower()) in ("s-maxage", "max-age"):
            text = value.strip().strip('"')
            if not (text.isascii() and text.isdigit()):
                raise ValueError(f"{name} is no number of seconds")
            found[name] = min(int(text), _MOST)
    return found


def _time(headers: Mapping[str, str], name: str) -> float | None:
    """Raises ValueError."""
    text = headers.get(name, "")
    if not text:
        return None
    found = parsedate_to_datetime(text)
    return (found if found.tzinfo is not None else datetime.replace(found, tzinfo=UTC)).timestamp()
