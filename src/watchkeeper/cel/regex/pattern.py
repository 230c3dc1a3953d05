"""A compiled pattern, and which matcher serves it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from watchkeeper.cel.regex.automaton import Automaton
from watchkeeper.cel.regex.backtracking import safe_length
from watchkeeper.cel.regex.parser import RegexError, parse
from watchkeeper.cel.regex.program import MAX_INSTRUCTIONS, Program, TooLarge
from watchkeeper.cel.regex.threads import Span, Threads
from watchkeeper.cel.regex.translate import to_python
from watchkeeper.cel.regex.work import TURN, VISITS_OF_COMPILATION, Allowance, TooCostly

MAX_LENGTH: Final = 2 * MAX_INSTRUCTIONS
"""Characters of a pattern: with more, it takes too many instructions or is mostly comment."""
MAX_BACKTRACKED: Final = 1000
"""Instructions; patterns with more of them go to the automaton at once."""
MAX_CACHED: Final = 2000
"""Patterns; the oldest go first."""


class Pattern:
    """A regular expression in RE2 syntax.

    Texts up to the length that backtracking is safe for are matched by Python's own matcher, longer ones by matchers
    whose time is proportional to the text.
    """

    __slots__ = ("_automaton", "_node", "_program", "_regex", "_safe", "_threads", "source")

    def __init__(self, source: str) -> None:
        """Raises RegexError."""
        self.source = source
        try:
            if len(source) > MAX_LENGTH:
                raise TooLarge
            self._node = parse(source)
            self._program = Program(self._node, counters=True)
            is_short = len(self._program.instructions) <= MAX_BACKTRACKED
            self._safe = safe_length(self._node) if is_short else -1
            self._regex = re.compile(to_python(self._node)) if self._safe >= 0 else None
        except TooLarge:
            raise RegexError("expression too large", source) from None
        except RecursionError:
            raise RegexError("expression nests too deeply", source) from None
        self._automaton: Automaton | None = None
        self._threads: Threads | None = None

    def __repr__(self) -> str:
        return f"<Pattern {self.source!r}>"

    def search(self, text: str) -> bool:
        """Whether the pattern matches anywhere in a text. Raises TooCostly."""
        if len(text) <= self._safe:
            assert self._regex is not None
            return self._regex.search(text) is not None
        return self._search(text)

    def _search(self, text: str) -> bool:
        automaton = self._automaton
        if automaton is None:
            automaton = self._automaton = Automaton(self._program)
        return automaton.search(text)

    def accepts(self, text: str) -> bool:
        """Whether it matches anywhere, and that can be found out with reasonable effort."""
        try:
            return self.search(text)
        except TooCostly:
            return False

    def find(self, text: str) -> str | None:
        """The first match, None when there is none. Raises TooCostly."""
        return next((text[begin:end] for begin, end in self._spans(text)), None)

    def find_all(self, text: str) -> Iterator[str]:
        """All matches that do not overlap, as Go finds them: no empty match right after another. Raises TooCostly."""
        last = -1
        for begin, end in self._spans(text):
            if begin != end or begin != last:
                yield text[begin:end]
            last = end

    def _spans(self, text: str) -> Iterator[Span]:
        if len(text) <= self._safe:
            assert self._regex is not None
            return (found.span() for found in self._regex.finditer(text))
        return self._spans_of_threads(text)

    def _spans_of_threads(self, text: str) -> Iterator[Span]:
        if not self._search(text):
            return
        threads = self._threads
        if threads is None:
            try:
                threads = self._threads = Threads(self._node)
            except TooLarge:
                raise TooCostly from None
        allowance = Allowance(len(text))
        try:
            begin = 0
            while begin <= len(text) and (found := threads.find(text, begin, allowance)) is not None:
                yield found
                begin = found[1] if found[1] > found[0] else found[1] + 1
        finally:
            allowance.settle()


_cache: dict[str, Pattern] = {}


def compile_pattern(source: str) -> Pattern:
    """Compile a pattern, or take it from the cache. Raises RegexError."""
    found = _cache.get(source)
    if found is None:
        TURN.spend(VISITS_OF_COMPILATION * min(len(source), MAX_LENGTH))
        found = Pattern(source)
        if len(_cache) >= MAX_CACHED:
            del _cache[next(iter(_cache))]
        _cache[source] = found
    return found


def compile_given(source: str) -> Pattern:
    """The same for a pattern that comes with an object: a turn of the loop has time for so many of them.

    Raises RegexError and TooCostly.
    """
    if source not in _cache and TURN.is_spent:
        raise TooCostly
    return compile_pattern(source)
