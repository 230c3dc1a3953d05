"""Texts of bytes that may be no UTF-8, as Go reads them."""

from __future__ import annotations

import codecs

_HANDLER = "watchkeeper.each-byte"


def _each_byte(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return "\ufffd" * (error.end - error.start), error.end


codecs.register_error(_HANDLER, _each_byte)


def text_of(data: bytes) -> str:
    """The text, with U+FFFD for each byte that is part of no character, where Python has one for several such bytes."""
    return data.decode("utf-8", _HANDLER)
