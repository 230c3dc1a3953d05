"""Bytes as objects hold them: standard base64 with padding, read as Go's encoding/base64 reads it."""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterable

_ALPHABET = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
_NEWLINES = re.compile(r"[\r\n]")


class Base64Error(ValueError):
    """A text that is no base64; the message is what the reference would say."""


def canonical_base64(text: str) -> str:
    """The same bytes in canonical base64: without line breaks or stray bits. Raises Base64Error."""
    compact = _NEWLINES.sub("", text) if "\n" in text or "\r" in text else text
    try:
        decoded = binascii.a2b_base64(compact, strict_mode=True)
        # What strict mode lets pass and Go does not: text without padding.
        if len(compact) % 4 == 0:
            return binascii.b2a_base64(decoded, newline=False).decode()
    except ValueError:
        pass
    raise Base64Error(f"illegal base64 data at input byte {_corrupt_at(text.encode())}")


def base64_of(octets: Iterable[int]) -> str:
    """Canonical base64 of numbers from 0 to 255."""
    return binascii.b2a_base64(bytes(octets), newline=False).decode()


def _corrupt_at(source: bytes) -> int:
    """Where Go's decoder finds the first fault, in bytes from the start."""
    position = filled = 0
    while True:
        if position == len(source):
            return position - filled
        byte = source[position]
        position += 1
        if byte in b"\r\n":
            continue
        if byte in _ALPHABET:
            filled = (filled + 1) % 4
            continue
        if byte != ord("=") or filled < 2:
            return position - 1
        return _corrupt_padding(source, position, filled)


def _corrupt_padding(source: bytes, position: int, filled: int) -> int:
    def skip(at: int) -> int:
        while at < len(source) and source[at] in b"\r\n":
            at += 1
        return at

    if filled == 2:
        position = skip(position)
        if position == len(source):
            return position
        if source[position] != ord("="):
            return position - 1
        position += 1
    return skip(position)
