"""How Go finds the fields of a struct in JSON, and reads base64."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import Any

_BASE64 = re.compile(r"[A-Za-z0-9_-]*")


def field_of(given: Mapping[str, Any], name: str) -> Any:
    """What stands under a name in lower case, however that is spelled; the last one of several, None for nothing."""
    found = None
    for key, value in given.items():
        if is_field(key, name):
            found = value
    return found


def is_field(key: str, name: str) -> bool:
    """Whether a key of an object is a name in lower case: in any case, and with the letters that fold to it."""
    return key.lower().replace("\u017f", "s") == name


def url_base64(text: str) -> bytes:
    """Bytes from base64 for URLs, without padding. Raises ValueError."""
    text = text.replace("\r", "").replace("\n", "")
    known = _BASE64.match(text)
    at = 0 if known is None else known.end()
    if at < len(text) or at % 4 == 1:
        raise ValueError(f"illegal base64 data at input byte {at if at < len(text) else at - 1}")
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_")
