"""Resource versions as clients write them."""

from __future__ import annotations

import re

from watchkeeper.meta.field import go_quote
from watchkeeper.storage.errors import InvalidRequest

_DIGITS = re.compile(r"[0-9]+").fullmatch
_MAX = (1 << 64) - 1


def parse_resource_version(text: str) -> int:
    """The revision that a resourceVersion names; 0 for "" and "0". Raises InvalidRequest with the reference's words."""
    if not text or text == "0":
        return 0
    # isascii keeps digits of other scripts out, which int() would take.
    if text.isascii() and text.isdigit() and (version := int(text.lstrip("0")[:21] or "0")) <= _MAX:
        return version
    why = "value out of range" if _DIGITS(text) else "invalid syntax"
    quoted = go_quote(text)
    raise InvalidRequest(
        f"invalid resource version: resourceVersion: Invalid value: {quoted}: "
        f"strconv.ParseUint: parsing {quoted}: {why}"
    )
