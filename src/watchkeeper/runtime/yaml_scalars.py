"""What a plain scalar of YAML 1.1 means, as go-yaml reads it: `yes` and `y` are true, dates stay text."""

from __future__ import annotations

import math
import re
from typing import Any

_WORDS: dict[str, Any] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), float("inf")),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), float("-inf")),
}
_NUMERIC_START = frozenset("+-.0123456789")
_INTEGER = re.compile(r"([+-]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]*))")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_BASES = ((2, 16), (3, 2), (4, 8), (5, 10))


def resolve(text: str) -> Any:
    """The value of a plain scalar: null, a boolean, a number or the text itself."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _NUMERIC_START:
        return text
    plain = text.replace("_", "") if text[0] != "." else text
    if match := _INTEGER.fullmatch(plain):
        group, base = next((group, base) for group, base in _BASES if match[group])
        value = int(match[1] + match[group][:80], base)
        if -(2**63) <= value < 2**63 or (not match[1] and value < 2**64):
            return value
    if _FLOAT.fullmatch(plain) and not math.isinf(number := float(plain)):
        return number
    return text
