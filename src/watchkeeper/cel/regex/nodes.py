"""What a regular expression is made of, once it has been parsed."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from itertools import chain

from watchkeeper.cel.regex.charset import Ranges, normalize


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


def as_chars(node: Node) -> Chars | None:
    """The set that a node is another way to write, such as `(?:a|b)`; None for nodes that are more than a set."""
    match node:
        case Chars():
            return node
        case Group(inner):
            return as_chars(inner)
        case Choice(options):
            sets = [as_chars(option) for option in options]
            found = [each for each in sets if each is not None]
            if len(found) < len(sets) or len({each.fold for each in found}) > 1:
                return None
            return Chars(normalize(chain.from_iterable(each.ranges for each in found)), found[0].fold)
        case _:
            return None
