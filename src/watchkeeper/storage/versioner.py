"""Resource versions as clients write them."""

from __future__ import annotations

import re

from watchkeeper.meta.field import go_quote
from watchkeeper.storage.errors import InvalidResourceVersion

_DIGITS = re.compile(r"[0-9]+").fullmatch
_MAX = (1 << 64) - 1


def parse_resource_version(text: str) -> int:
    """The revision that a resourceVersion names; 0 for "" and "0". Raises InvalidResourceVersion."""
    if not text or text == "0":
        return 0
    try:
        return parse_uint(text)
    except ValueError as error:
        raise InvalidResourceVersion(f"resourceVersion: Invalid value: {go_quote(text)}: {error}") from None


def parse_uint(text: str) -> int:
    """A whole decimal number of 64 bits without a sign. Raises ValueError in the words of Go's strconv."""
    # isascii keeps digits of other scripts out, which int() would take.
    if text.isascii() and text.isdigit() and (number := int(text.lstrip("0")[:21] or "0")) <= _MAX:
        return number
    why = "value out of range" if _DIGITS(text) else "invalid syntax"
    raise ValueError(f"strconv.ParseUint: parsing {go_quote(text)}: {why}")
