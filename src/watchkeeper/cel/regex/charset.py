"""Sets of characters as sorted, non-overlapping ranges of code points."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence

MAX_RUNE = 0x10FFFF
Range = tuple[int, int]
Ranges = tuple[Range, ...]

DIGIT: Ranges = ((0x30, 0x39),)
WORD: Ranges = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
SPACE: Ranges = ((0x09, 0x0A), (0x0C, 0x0D), (0x20, 0x20))
ANY: Ranges = ((0, MAX_RUNE),)
NOT_NEWLINE: Ranges = ((0, 0x09), (0x0B, MAX_RUNE))

POSIX: dict[str, Ranges] = {
    "alnum": ((0x30, 0x39), (0x41, 0x5A), (0x61, 0x7A)),
    "alpha": ((0x41, 0x5A), (0x61, 0x7A)),
    "ascii": ((0, 0x7F),),
    "blank": ((0x09, 0x09), (0x20, 0x20)),
    "cntrl": ((0, 0x1F), (0x7F, 0x7F)),
    "digit": DIGIT,
    "graph": ((0x21, 0x7E),),
    "lower": ((0x61, 0x7A),),
    "print": ((0x20, 0x7E),),
    "punct": ((0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E)),
    "space": ((0x09, 0x0D), (0x20, 0x20)),
    "upper": ((0x41, 0x5A),),
    "word": WORD,
    "xdigit": ((0x30, 0x39), (0x41, 0x46), (0x61, 0x66)),
}


def normalize(ranges: Iterable[Range]) -> Ranges:
    """Sort ranges and join those that touch."""
    out: list[Range] = []
    for low, high in sorted(ranges):
        if out and low <= out[-1][1] + 1:
            if high > out[-1][1]:
                out[-1] = (out[-1][0], high)
        else:
            out.append((low, high))
    return tuple(out)


def negate(ranges: Sequence[Range]) -> Ranges:
    """All characters that are not in `ranges`, which must be normalized."""
    out: list[Range] = []
    next_low = 0
    for low, high in ranges:
        if low > next_low:
            out.append((next_low, low - 1))
        next_low = high + 1
    if next_low <= MAX_RUNE:
        out.append((next_low, MAX_RUNE))
    return tuple(out)


def contains(ranges: Sequence[Range], code: int) -> bool:
    """Whether a code point is in one of the ranges, which must be normalized."""
    at = bisect_right(ranges, (code, MAX_RUNE)) - 1
    return at >= 0 and code <= ranges[at][1]
