"""Room for walking expressions that are nested as deep as the parser allows."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

_FRAMES = 12_000
"""A bracket takes the parser nine calls, and each macro makes several nodes of one."""


@contextmanager
def room() -> Iterator[None]:
    """Let functions call each other as often as the deepest expression needs.

    Only within, so that bodies that are nested without end still stop early elsewhere.
    """
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _FRAMES))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
