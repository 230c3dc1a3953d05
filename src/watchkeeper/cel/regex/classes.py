"""Classes of characters between which a pattern makes no difference, and what stands on either side of a place."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Final

from watchkeeper.cel.regex.charset import WORD, contains
from watchkeeper.cel.regex.nodes import Assertion, Chars
from watchkeeper.cel.regex.program import Instruction

Kind = int
START, NEWLINE, WORD_CHAR, OTHER, END = range(5)
MAX_KNOWN: Final = 4096
"""Characters whose class is remembered."""


class Classes:
    """The classes of one pattern."""

    def __init__(self, instructions: Iterable[Instruction]) -> None:
        sets = {id(i.chars): i.chars for i in instructions if i.chars is not None}.values()
        bounds = {0x0A, 0x0B}
        for ranges in (WORD, *(chars.ranges for chars in sets)):
            for low, high in ranges:
                bounds |= {low, high + 1}
        self._bounds = sorted(bounds)
        self._fold = any(chars.fold for chars in sets)
        self._numbers: dict[tuple[int, ...], int] = {}
        self.known: dict[str, int] = {}
        """Characters, and the numbers of their classes."""

    def of(self, ch: str) -> int:
        """The number of a character's class."""
        found = self.known.get(ch)
        if found is None:
            key = tuple(bisect_right(self._bounds, code) for code in (_variants(ch) if self._fold else (ord(ch),)))
            found = self._numbers.setdefault(key, len(self._numbers))
            if len(self.known) >= MAX_KNOWN:
                self.known.clear()
            self.known[ch] = found
        return found

    @staticmethod
    def matches(chars: Chars, ch: str) -> bool:
        """Whether a set has a character."""
        if not chars.fold:
            return contains(chars.ranges, ord(ch))
        return any(contains(chars.ranges, code) for code in _variants(ch))

    @staticmethod
    def kind(ch: str) -> Kind:
        """What assertions care about."""
        if ch == "\n":
            return NEWLINE
        return WORD_CHAR if ch == "_" or (ch.isascii() and ch.isalnum()) else OTHER


def _variants(ch: str) -> Sequence[int]:
    """The character in either case."""
    return ord(ch), ord(ch.lower()[:1] or ch), ord(ch.upper()[:1] or ch)


def holds(assertion: Assertion | None, before: Kind, after: Kind) -> bool:
    """Whether an assertion is true of the place between what stands before and after it."""
    match assertion:
        case Assertion.BEGIN_TEXT:
            return before == START
        case Assertion.END_TEXT:
            return after == END
        case Assertion.BEGIN_LINE:
            return before in (START, NEWLINE)
        case Assertion.END_LINE:
            return after in (END, NEWLINE)
        case Assertion.WORD_BOUNDARY:
            return (before == WORD_CHAR) != (after == WORD_CHAR)
        case _:
            return (before == WORD_CHAR) == (after == WORD_CHAR)
