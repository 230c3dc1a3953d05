"""Durations as Go reads and writes them, and what it says of texts that are none."""

from __future__ import annotations

import re

_UNITS = {
    "ns": 1,
    "us": 10**3,
    "\u00b5s": 10**3,
    "\u03bcs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
_MAX = 1 << 63
_PARTS = re.compile(r"([0-9]*)(?:\.([0-9]*))?([^.0-9]*)")


def parse_duration(text: str) -> int:
    """A duration in nanoseconds. Raises ValueError in Go's words."""
    rest = text[1:] if text[:1] in ("+", "-") else text
    if rest == "0":
        return 0
    if not rest:
        raise _invalid(text)
    total, at = 0, 0
    while at < len(rest):
        found = _PARTS.match(rest, at)
        assert found is not None
        whole, fraction, unit = found[1], found[2] or "", found[3]
        if not (whole or fraction):
            raise _invalid(text)
        if int(whole or "0") > _MAX:
            raise _invalid(text)
        if not unit:
            raise ValueError(f"time: missing unit in duration {quote(text)}")
        if unit not in _UNITS:
            raise ValueError(f"time: unknown unit {quote(unit)} in duration {quote(text)}")
        total += int(whole or "0") * _UNITS[unit] + _fraction(fraction, _UNITS[unit])
        if total > _MAX:
            raise _invalid(text)
        at = found.end()
    if text.startswith("-"):
        return -total
    if total == _MAX:
        raise _invalid(text)
    return total


def format_duration(nanoseconds: int) -> str:
    """A duration as Go's Duration.String writes it."""
    if nanoseconds < 0:
        return f"-{format_duration(-nanoseconds)}"
    if nanoseconds < _UNITS["s"]:
        unit = next((each for each in ("ms", "\u00b5s") if nanoseconds >= _UNITS[each]), "ns")
        return f"{_decimal(nanoseconds, _UNITS[unit])}{unit}" if nanoseconds else "0s"
    minutes, rest = divmod(nanoseconds, _UNITS["m"])
    text = f"{_decimal(rest, _UNITS['s'])}s"
    if not minutes:
        return text
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h{minutes}m{text}" if hours else f"{minutes}m{text}"


def _decimal(value: int, unit: int) -> str:
    whole, rest = divmod(value, unit)
    digits = f"{rest:0{len(str(unit)) - 1}}".rstrip("0") if rest else ""
    return f"{whole}.{digits}" if digits else str(whole)


def _fraction(digits: str, unit: int) -> int:
    """So much of a unit, in floating point as Go works it out; digits that no integer holds are passed over."""
    number, scale = 0, 1.0
    for digit in digits:
        if number > (_MAX - 1) // 10 or number * 10 + int(digit) > _MAX:
            break
        number, scale = number * 10 + int(digit), scale * 10
    return int(float(number) * (float(unit) / scale))


def _invalid(text: str) -> ValueError:
    return ValueError(f"time: invalid duration {quote(text)}")


def quote(text: str) -> str:
    """Quote as Go's package time does: what is not plain ASCII by its bytes."""
    return f'"{"".join([_quoted(ch) for ch in text])}"'


def _quoted(ch: str) -> str:
    if ch in '"\\':
        return f"\\{ch}"
    if " " <= ch <= "\x7f":
        return ch
    return "".join([f"\\x{byte:02x}" for byte in ch.encode(errors="surrogatepass")])
