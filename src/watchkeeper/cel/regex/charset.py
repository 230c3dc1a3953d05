"""Sets of characters as sorted, non-overlapping ranges of code points."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from functools import cache

from watchkeeper.cel.words import words

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

_SCRIPTS = {
    "Arabic": "ARABIC",
    "Armenian": "ARMENIAN",
    "Bengali": "BENGALI",
    "Cyrillic": "CYRILLIC",
    "Devanagari": "DEVANAGARI",
    "Georgian": "GEORGIAN",
    "Greek": "GREEK",
    "Han": "CJK UNIFIED",
    "Hangul": "HANGUL",
    "Hebrew": "HEBREW",
    "Hiragana": "HIRAGANA",
    "Katakana": "KATAKANA",
    "Latin": "LATIN",
    "Tamil": "TAMIL",
    "Thai": "THAI",
}
"""Scripts by the word that the names of their characters begin with."""

_CATEGORIES = words(
    "C Cc Cf Co Cs L Ll Lm Lo Lt Lu M Mc Me Mn N Nd Nl No P Pc Pd Pe Pf Pi Po Ps S Sc Sk Sm So Z Zl Zp Zs"
)


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
    """Whether a code point is in one of the ranges."""
    return any(low <= code <= high for low, high in ranges)


@cache
def unicode_class(name: str) -> Ranges | None:
    """The characters of a Unicode category (L, Lu) or script (Greek); None for names that are not known."""
    if name == "Any":
        return ANY
    if name in _CATEGORIES:
        return _collect(lambda ch: unicodedata.category(ch).startswith(name))
    word = _SCRIPTS.get(name)
    if word is None:
        return None
    return _collect(lambda ch: unicodedata.name(ch, "").startswith(word))


def _collect(test: Callable[[str], bool]) -> Ranges:
    out: list[Range] = []
    start = -1
    for code in range(MAX_RUNE + 1):
        if test(chr(code)):
            if start < 0:
                start = code
        elif start >= 0:
            out.append((start, code - 1))
            start = -1
    if start >= 0:
        out.append((start, MAX_RUNE))
    return tuple(out)
