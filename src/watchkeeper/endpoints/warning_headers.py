"""Warnings as response headers: as many and as long as the reference sends."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence

Header = tuple[bytes, bytes]

_MAX_TOTAL = 4 * 1024
"""Characters of all warnings together beyond which each is cut."""
_MAX_EACH = 256
"""What a warning is cut to."""


def warning_headers(warnings: Sequence[str]) -> list[Header]:
    """`Warning: 299 - "text"` for each text (RFC 7234, 5.5), quotes and backslashes escaped.

    Texts with control characters are left out. When there is too much, all are cut, and only as many are sent as it
    takes to fill the limit.
    """
    return [(b"warning", f'299 - "{_escaped(text)}"'.encode()) for text in _fitting(warnings)]


def _fitting(warnings: Sequence[str]) -> Iterator[str]:
    sendable = [text for text in warnings if text.isprintable() or not any(map(_is_control, text))]
    if sum(map(len, sendable)) <= _MAX_TOTAL:
        yield from sendable
        return
    whole = sent = 0
    for text in sendable:
        # Those that came before there was too much are all sent, cut.
        if whole > _MAX_TOTAL and sent >= _MAX_TOTAL:
            return
        whole += len(text)
        yield text[:_MAX_EACH]
        sent += len(text[:_MAX_EACH])


def _is_control(character: str) -> bool:
    return unicodedata.category(character) == "Cc"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
