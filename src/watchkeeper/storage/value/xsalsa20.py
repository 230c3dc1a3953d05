"""XSalsa20: the stream cipher of NaCl's secretbox, for all blocks of a message at once.

Python's integers serve as vectors: one integer holds the same 32-bit word of every block, each in a lane of 64 bits, so
that an addition or a rotation of all blocks is one operation, and carries stay within their lanes.
"""

from __future__ import annotations

import struct

_SIGMA = struct.unpack("<4I", b"expand 32-byte k")
_COLUMNS = ((0, 4, 8, 12), (5, 9, 13, 1), (10, 14, 2, 6), (15, 3, 7, 11))
_ROWS = ((0, 1, 2, 3), (5, 6, 7, 4), (10, 11, 8, 9), (15, 12, 13, 14))
_LANE = 64


def key_stream(key: bytes, nonce: bytes, length: int) -> bytes:
    """`length` bytes of key stream for a key of 32 and a nonce of 24 bytes."""
    subkey = _hsalsa20(key, nonce[:16])
    blocks = -(-length // 64)
    ones = ((1 << _LANE * blocks) - 1) // ((1 << _LANE) - 1)
    mask = ones * 0xFFFFFFFF
    counters = int.from_bytes(b"".join(i.to_bytes(8, "little") for i in range(blocks)), "little")
    start = [word * ones for word in _state(subkey, nonce[16:] + bytes(8))]
    start[8] = counters
    words = list(start)
    _rounds(words, mask)
    return _interleave([(word + first) & mask for word, first in zip(words, start, strict=True)], blocks)[:length]


def _hsalsa20(key: bytes, nonce: bytes) -> bytes:
    """A key for the rest of the nonce."""
    words = list(_state(key, nonce))
    _rounds(words, 0xFFFFFFFF)
    return struct.pack("<8I", *(words[i] for i in (0, 5, 10, 15, 6, 7, 8, 9)))


def _state(key: bytes, position: bytes) -> list[int]:
    k, p = struct.unpack("<8I", key), struct.unpack("<4I", position)
    return [_SIGMA[0], *k[:4], _SIGMA[1], *p, _SIGMA[2], *k[4:], _SIGMA[3]]


def _rounds(words: list[int], mask: int) -> None:
    """Twenty rounds, in place. What is shifted out of a lane is masked off, so a rotation stays within it."""
    for _ in range(10):
        for a, b, c, d in (*_COLUMNS, *_ROWS):
            for target, one, other, left in ((b, a, d, 7), (c, b, a, 9), (d, c, b, 13), (a, d, c, 18)):
                total = (words[one] + words[other]) & mask
                words[target] ^= ((total << left) | (total >> (32 - left))) & mask


def _interleave(words: list[int], blocks: int) -> bytes:
    """From one vector per word to the bytes of one block after the other."""
    out = bytearray(64 * blocks)
    for i, word in enumerate(words):
        lanes = word.to_bytes(8 * blocks, "little")
        for byte in range(4):
            out[4 * i + byte :: 64] = lanes[byte::8]
    return bytes(out)
