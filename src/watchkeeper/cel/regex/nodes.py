"""What a regular expression is made of, once it has been parsed."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from watchkeeper.cel.regex.charset import Ranges


class Assertion(enum.Enum):
    """A place in the text rather than a character."""

    BEGIN_TEXT = r"\A"
    END_TEXT = r"\z"
    BEGIN_LINE = "^"
    END_LINE = "$"
    WORD_BOUNDARY = r"\b"
    NO_WORD_BOUNDARY = r"\B"


@dataclass(frozen=True, slots=True)
class Chars:
    """One character out of a set."""

    ranges: Ranges
    fold: bool = False
    """Whether case does not matter."""


@dataclass(frozen=True, slots=True)
class Empty:
    """A place that satisfies an assertion; None is satisfied anywhere."""

    assertion: Assertion | None = None


@dataclass(frozen=True, slots=True)
class Sequence:
    """One after the other."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several, the first that leads to a match."""

    options: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """A capturing group."""

    inner: Node
    name: str = ""


@dataclass(frozen=True, slots=True)
class Repeat:
    """`inner`, at least `low` times and at most `high` times (None: no limit)."""

    inner: Node
    low: int
    high: int | None
    lazy: bool = False


Node = Chars | Empty | Sequence | Choice | Group | Repeat


def nests_repeats(node: Node, inside: bool = False) -> bool:
    """Whether something that repeats without a limit is repeated itself, so that backtracking may take forever."""
    match node:
        case Repeat(inner, _, high):
            unbounded = high is None
            if inside and (unbounded or (high or 0) > 1):
                return True
            return nests_repeats(inner, inside or unbounded or (high or 0) > 1)
        case Sequence(parts):
            return any(nests_repeats(p, inside) for p in parts)
        case Choice(options):
            return inside or any(nests_repeats(o, inside) for o in options)
        case Group(inner):
            return nests_repeats(inner, inside)
        case _:
            return False
