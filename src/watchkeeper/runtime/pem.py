"""PEM as Go's encoding/pem reads it: what cannot be decoded is text between blocks."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass

_BEGIN = b"-----BEGIN "
_END = b"\n-----END "
_DASHES = b"-----"


@dataclass(frozen=True, slots=True)
class PemBlock:
    """A block that could be decoded."""

    kind: str
    """What stands behind BEGIN."""
    has_headers: bool
    content: bytes
    end: int
    """Where it ends in the text, behind its last line."""


def next_block(pem: bytes, start: int = 0) -> PemBlock | None:
    """The first block from `start` on; None when there is none."""
    while (end := pem.find(_END, start)) >= 0:
        begin = pem.rfind(_BEGIN, start, end)
        if begin < 0 or (begin > start and pem[begin - 1 : begin] != b"\n"):
            start = end + len(_END)
            continue
        line, start = _line(pem, begin + len(_BEGIN))
        if line.endswith(_DASHES) and (block := _body(line.removesuffix(_DASHES), pem, start)) is not None:
            return block
    return None


def blocks(pem: bytes) -> Iterator[PemBlock]:
    """The blocks that follow each other."""
    end = 0
    while (block := next_block(pem, end)) is not None:
        yield block
        end = block.end


def _line(pem: bytes, start: int) -> tuple[bytes, int]:
    """A line without the white space at its end, and where the next begins."""
    end = pem.find(b"\n", start)
    if end < 0:
        end = len(pem)
    return pem[start:end].rstrip(b" \t\r"), min(end + 1, len(pem))


def _body(kind: bytes, pem: bytes, start: int) -> PemBlock | None:
    has_headers = False
    while True:
        line, following = _line(pem, start)
        if b":" not in line:
            break
        has_headers, start = True, following
    if not has_headers and pem.startswith(_END[1:], start):
        end, tail = start, start + len(_END) - 1
    else:
        end = pem.find(_END, start)
        tail = end + len(_END)
    closing, after = _line(pem, tail)
    if end < 0 or closing != kind + _DASHES:
        return None
    try:
        content = base64.b64decode(pem[start:end].translate(None, b" \t\r\n"), validate=True)
    except ValueError:
        return None
    return PemBlock(kind.decode(errors="replace"), has_headers, content, after)
