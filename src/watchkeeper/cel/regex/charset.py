"""Sets of characters as sorted, non-overlapping ranges of code points."""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import groupby

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
    """Whether a code point is in one of the ranges, which must be normalized."""
    at = bisect_right(ranges, (code, MAX_RUNE)) - 1
    return at >= 0 and code <= ranges[at][1]


@cache
def unicode_class(name: str) -> Ranges | None:
    """The characters of a Unicode category (L, Lu) or script (Greek); None for names that are not known."""
    if name == "Any":
        return ANY
    if name in _CATEGORIES:
        return normalize(
            each for category, ranges in _by_category().items() if category.startswith(name) for each in ranges
        )
    if name not in _SCRIPTS:
        return None
    return _by_script()[name]


@cache
def _by_category() -> dict[str, list[Range]]:
    """The ranges of each category of two letters."""
    found: dict[str, list[Range]] = {}
    begin = 0
    for category, run in groupby(map(unicodedata.category, map(chr, range(MAX_RUNE + 1)))):
        end = begin + sum(1 for _ in run)
        found.setdefault(category, []).append((begin, end - 1))
        begin = end
    return found


@cache
def _by_script() -> dict[str, Ranges]:
    """The characters of each script. Only those that have a name are looked at."""
    words_of = {word: name for name, word in _SCRIPTS.items()}
    first_words = {word.partition(" ")[0]: word for word in words_of}
    found: dict[str, list[Range]] = {name: [] for name in _SCRIPTS}
    for category, ranges in _by_category().items():
        if category in ("Cn", "Co", "Cs", "Cc"):
            continue
        for low, high in ranges:
            for code in range(low, high + 1):
                full = unicodedata.name(chr(code), "")
                word = first_words.get(full.partition(" ")[0].partition("-")[0])
                if word is not None and full.startswith(word):
                    found[words_of[word]].append((code, code))
    return {name: normalize(ranges) for name, ranges in found.items()}
