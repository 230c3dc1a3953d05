"""The sizes of a terminal, as clients tell them: JSON after JSON, in whatever pieces."""

from __future__ import annotations

import json
from collections.abc import Iterator

_MAX_HELD = 4096
_BLANKS = frozenset(" \t\r\n")
_decode = json.JSONDecoder().raw_decode


class TerminalSizes:
    """Reads them and writes each anew, on a line of its own. What is none ends it: all that follows is ignored."""

    def __init__(self) -> None:
        self._held = ""
        self._over = False

    def __repr__(self) -> str:
        return f"<TerminalSizes {'over' if self._over else 'coming'}>"

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Those that are known with these bytes."""
        if self._over:
            return
        text, at = self._held + data.decode("latin-1"), 0
        while not self._over:
            while text[at : at + 1] in _BLANKS:
                at += 1
            if at == len(text):
                break
            try:
                found, end = _decode(text, at)
            except ValueError:
                self._over = len(text) - at > _MAX_HELD or text[at] != "{"
                break
            except RecursionError:
                self._over = True
                break
            sizes = _sizes(found)
            if sizes is None:
                self._over = True
                break
            at = end
            yield b'{"Width":%d,"Height":%d}\n' % sizes
        self._held = text[at:]


def _sizes(found: object) -> tuple[int, int] | None:
    if not isinstance(found, dict):
        return None
    named = {str(name).lower(): value for name, value in found.items()}
    sizes = [named.get(name, 0) for name in ("width", "height")]
    if not all(isinstance(each, int) and 0 <= each < 1 << 16 for each in sizes):
        return None
    return sizes[0], sizes[1]
