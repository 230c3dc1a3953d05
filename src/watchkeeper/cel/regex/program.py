"""A pattern as a list of instructions, whose number is bounded as RE2 bounds it."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final

from watchkeeper.cel.regex.nodes import Assertion, Chars, Choice, Empty, Group, Node, Repeat, Sequence, as_chars

MAX_INSTRUCTIONS: Final = 20_000
"""Go allows 3,355,443 of them. That is for machine code."""
MATCH: Final = -1


class Op(enum.Enum):
    """What an instruction does."""

    CHARS = enum.auto()
    """Take one character out of a set."""
    COUNT = enum.auto()
    """Take so many characters out of a set."""
    SPLIT = enum.auto()
    """Go on at each target, the best one first."""
    ASSERT = enum.auto()
    """Go on where a place in the text is as it should be."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction; after it, the search goes on at one of `targets`."""

    op: Op
    targets: tuple[int, ...]
    chars: Chars | None = None
    assertion: Assertion | None = None
    low: int = 0
    high: int | None = None


class TooLarge(Exception):
    """A pattern that takes more instructions than are allowed."""


class Program:
    """The instructions of a pattern. They are at their indexes; the end of a match is at `MATCH`."""

    def __init__(self, node: Node, *, counters: bool) -> None:
        """With `counters`, a set of characters that repeats is one instruction. Raises TooLarge."""
        self.instructions: list[Instruction] = []
        self._counters = counters
        self.start = self._emit(node, MATCH)

    def __repr__(self) -> str:
        return f"<Program of {len(self.instructions)} instructions>"

    def _emit(self, node: Node, then: int) -> int:
        """Add instructions for a node that go on at `then`; returns where they begin."""
        node = as_chars(node) or node
        match node:
            case Chars():
                return self._add(Instruction(Op.CHARS, (then,), chars=node))
            case Empty(None):
                return then
            case Empty(assertion):
                return self._add(Instruction(Op.ASSERT, (then,), assertion=assertion))
            case Sequence(parts):
                for part in reversed(parts):
                    then = self._emit(part, then)
                return then
            case Choice(options):
                return self._add(Instruction(Op.SPLIT, tuple([self._emit(option, then) for option in options])))
            case Group(inner):
                return self._emit(inner, then)
            case Repeat():
                return self._emit_repeat(node, then)

    def _emit_repeat(self, node: Repeat, then: int) -> int:
        inner, low, high = as_chars(node.inner) or node.inner, node.low, node.high
        if self._counters and isinstance(inner, Chars) and (high is None or high > 1):
            return self._add(Instruction(Op.COUNT, (then,), chars=inner, low=low, high=high))
        if high is None:
            loop = self._add(Instruction(Op.SPLIT, ()))
            body = self._emit(inner, loop)
            self._set(loop, body, then, lazy=node.lazy)
            # The last of those that there must be is the body of the loop, entered from above.
            then = body if low else loop
            low = max(low - 1, 0)
        else:
            after = then
            for _ in range(high - low):
                option = self._add(Instruction(Op.SPLIT, ()))
                self._set(option, self._emit(inner, then), after, lazy=node.lazy)
                then = option
        for _ in range(low):
            then = self._emit(inner, then)
        return then

    def _set(self, at: int, once_more: int, no_more: int, *, lazy: bool) -> None:
        targets = (no_more, once_more) if lazy else (once_more, no_more)
        self.instructions[at] = Instruction(Op.SPLIT, targets)

    def _add(self, instruction: Instruction) -> int:
        if len(self.instructions) >= MAX_INSTRUCTIONS:
            raise TooLarge
        self.instructions.append(instruction)
        return len(self.instructions) - 1
