"""A compiled pattern, and which matcher serves it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache

from watchkeeper.cel.regex.automaton import Automaton
from watchkeeper.cel.regex.nodes import nests_repeats
from watchkeeper.cel.regex.parser import parse
from watchkeeper.cel.regex.translate import to_python

BACKTRACKING_LIMIT = 4096
"""Texts longer than this are searched by the automaton, whatever the pattern."""


class Pattern:
    """A regular expression in RE2 syntax."""

    __slots__ = ("_automaton", "_node", "_regex", "_risky", "search", "source")

    def __init__(self, source: str) -> None:
        self.source = source
        self._node = parse(source)
        self._regex = re.compile(to_python(self._node))
        self._risky = nests_repeats(self._node)
        self._automaton: Automaton | None = None
        self.search: Callable[[str], bool] = self._search_automaton if self._risky else self._search
        """Whether the pattern matches anywhere in a text."""

    def __repr__(self) -> str:
        return f"<Pattern {self.source!r}>"

    def _search(self, text: str) -> bool:
        if len(text) > BACKTRACKING_LIMIT:
            return self._search_automaton(text)
        return self._regex.search(text) is not None

    def _search_automaton(self, text: str) -> bool:
        automaton = self._automaton
        if automaton is None:
            automaton = self._automaton = Automaton(self._node)
        return automaton.search(text)

    def find(self, text: str) -> str | None:
        """The first match, None when there is none."""
        if not self.search(text):
            return None
        found = self._regex.search(text)
        return found.group() if found is not None else None

    def find_all(self, text: str) -> Iterator[str]:
        """All matches that do not overlap, as Go finds them: no empty match right after another match."""
        if not self.search(text):
            return
        end = -1
        for found in self._regex.finditer(text):
            if found.group() or found.start() != end:
                yield found.group()
            end = found.end()


@lru_cache(maxsize=2000)
def compile_pattern(source: str) -> Pattern:
    """Compile a pattern, or take it from the cache. Raises RegexError."""
    return Pattern(source)
