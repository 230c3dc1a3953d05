"""Whole numbers as Go's strconv reads them, and what it says of texts that are none."""

from __future__ import annotations

from watchkeeper.meta.field import go_quote


def parse_int(text: str, *, bits: int = 64) -> int:
    """A decimal number of so many bits, as `strconv.ParseInt` reads it. Raises ValueError in its words."""
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not (digits.isascii() and digits.isdigit()):
        raise ValueError(f"strconv.ParseInt: parsing {go_quote(text)}: invalid syntax")
    number = int(text[: -len(digits)] + (digits.lstrip("0")[:20] or "0"))
    if not -(1 << (bits - 1)) <= number < 1 << (bits - 1):
        raise ValueError(f"strconv.ParseInt: parsing {go_quote(text)}: value out of range")
    return number


def parse_uint(text: str, *, bits: int = 64) -> int:
    """A decimal number without a sign, as `strconv.ParseUint` reads it. Raises ValueError in its words."""
    if not (text.isascii() and text.isdigit()):
        raise ValueError(f"strconv.ParseUint: parsing {go_quote(text)}: invalid syntax")
    number = int(text.lstrip("0")[:20] or "0")
    if number >= 1 << bits:
        raise ValueError(f"strconv.ParseUint: parsing {go_quote(text)}: value out of range")
    return number
