"""Spans of time on the command line: plain seconds, or as kube-apiserver's options have them, such as `5m0s`."""

from __future__ import annotations

import math
import re

_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|µs|ms|s|m|h)")


def seconds(text: str) -> float:
    """Read `300`, `2.5`, `5m0s` or `1h30m`. Raises ValueError for anything else, and for less than nothing."""
    text = text.strip()
    try:
        found = float(text)
    except ValueError:
        if not text or _PART.sub("", text):
            raise ValueError(f"{text!r} is no span of time; write seconds, or 5m30s") from None
        found = sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text))
    if not 0 <= found < math.inf:
        raise ValueError(f"{text!r} is no span of time")
    return found
