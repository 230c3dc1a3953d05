"""Finds where a pattern matches, in time proportional to the text: all ways to match are followed side by side.

For patterns on which a backtracking matcher may take forever. Of several matches at the leftmost place, the one is
found that backtracking would find first, as Go's and Perl's matchers do.
"""

from __future__ import annotations

from watchkeeper.cel.regex.classes import END, START, Classes, Kind, holds
from watchkeeper.cel.regex.nodes import Node
from watchkeeper.cel.regex.program import MATCH, Op, Program
from watchkeeper.cel.regex.work import Allowance

Span = tuple[int, int]


class Threads:
    """Finds the spans of matches."""

    def __init__(self, node: Node) -> None:
        """Raises TooLarge."""
        self._program = Program(node, counters=False)

    def __repr__(self) -> str:
        return f"<Threads of {self._program!r}>"

    def find(self, text: str, begin: int, allowance: Allowance) -> Span | None:
        """The leftmost match that begins at `begin` or later. Raises TooCostly."""
        found: Span | None = None
        threads: list[tuple[int, int]] = []
        for at in range(begin, len(text) + 1):
            if found is None:
                threads.append((self._program.start, at))
            elif not threads:
                break
            before = Classes.kind(text[at - 1]) if at else START
            after = Classes.kind(text[at]) if at < len(text) else END
            waiting, matched = self._follow(threads, before, after, allowance)
            if matched is not None:
                found = (matched, at)
            threads = self._take(waiting, text[at]) if at < len(text) else []
        return found

    def _follow(
        self, threads: list[tuple[int, int]], before: Kind, after: Kind, allowance: Allowance
    ) -> tuple[list[tuple[int, int]], int | None]:
        """Threads that want a character, the best one first, and where the match began that is better than the rest."""
        waiting: list[tuple[int, int]] = []
        seen: set[int] = set()
        todo = threads[::-1]
        visits = 0
        matched = None
        while todo:
            at, began = todo.pop()
            visits += 1
            if at in seen:
                continue
            seen.add(at)
            if at == MATCH:
                matched = began
                break
            instruction = self._program.instructions[at]
            if instruction.op is Op.CHARS:
                waiting.append((at, began))
            elif instruction.op is Op.SPLIT:
                todo += [(target, began) for target in reversed(instruction.targets)]
            elif holds(instruction.assertion, before, after):
                todo.append((instruction.targets[0], began))
        allowance.take(visits)
        return waiting, matched

    def _take(self, waiting: list[tuple[int, int]], ch: str) -> list[tuple[int, int]]:
        found = []
        for at, began in waiting:
            instruction = self._program.instructions[at]
            if instruction.chars is not None and Classes.matches(instruction.chars, ch):
                found.append((instruction.targets[0], began))
        return found
