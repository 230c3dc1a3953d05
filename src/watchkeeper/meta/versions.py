"""The names of versions, and which is preferred."""

from __future__ import annotations

import re
from typing import Any

_VERSION = re.compile(r"v(\d+)(?:(alpha|beta)(\d+))?", re.ASCII)
_STABILITY = {None: 0, "beta": 1, "alpha": 2}


def version_order(name: str) -> tuple[Any, ...]:
    """The place of a version: stable ones first, newest first; then beta, alpha, and what has another form by name."""
    found = _VERSION.fullmatch(name)
    if found is None:
        return (1, name)
    major, stability, minor = found.groups()
    return (0, _STABILITY[stability], -int(major), -int(minor or 0))
