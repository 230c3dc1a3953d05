"""Up to which length of text a backtracking matcher is quick about a pattern, whatever the text is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from watchkeeper.cel.regex.nodes import Assertion, Chars, Choice, Empty, Group, Node, Repeat, Sequence, as_chars

MAX_STEPS: Final = 200_000
"""Some milliseconds."""
MAX_TEXT: Final = 100_000


@dataclass(frozen=True, slots=True)
class _Effort:
    """Bounds of what it takes to match a node in a text of some length."""

    ways: int
    """The ways in which it can match from one place on."""
    steps: int
    """The steps that trying all of them takes."""


def safe_length(node: Node) -> int:
    """The greatest length of text for which a search takes few enough steps; -1 where it may take very many."""
    if _effort(node, 2).steps > MAX_STEPS:
        return -1
    anchored = _is_anchored(node)
    low, high = 0, MAX_TEXT
    while low < high:
        length = (low + high + 1) // 2
        if _effort(node, length).steps * (1 if anchored else length) <= MAX_STEPS:
            low = length
        else:
            high = length - 1
    return low


def _effort(node: Node, length: int) -> _Effort:
    if as_chars(node) is not None:
        return _Effort(1, 2)
    match node:
        case Sequence(parts):
            ways, steps = 1, 1
            for part in parts:
                each = _effort(part, length)
                steps += ways * each.steps
                ways *= each.ways
                if ways > MAX_STEPS:
                    break
            return _Effort(ways, steps)
        case Choice(options):
            efforts = [_effort(option, length) for option in options]
            return _Effort(sum(e.ways for e in efforts), sum(e.steps for e in efforts))
        case Group(inner):
            return _effort(inner, length)
        case Repeat():
            return _effort_to_repeat(node, length)
        case _:
            return _Effort(1, 1)


def _effort_to_repeat(node: Repeat, length: int) -> _Effort:
    low, inner = node.low, node.inner
    most = length if node.high is None else min(node.high, max(length, low))
    each = _effort(inner, length)
    # What matches nothing, or is of several lengths, may be cut up in ever more ways.
    ways = each.ways if _has_fixed_length(inner) else max(each.ways, 2)
    counts = most - min(low, most) + 1
    if ways == 1:
        return _Effort(counts, max(most, 1) * each.steps)
    paths: int = ways ** min(most, 64)
    return _Effort(paths * counts, paths * (most + 1) * each.steps)


def _has_fixed_length(node: Node) -> bool:
    """Whether it matches exactly so many characters, and at least one."""
    return (_length(node) or 0) > 0


def _length(node: Node) -> int | None:
    match node:
        case Chars():
            return 1
        case Empty():
            return 0
        case Group(inner):
            return _length(inner)
        case Sequence(parts):
            lengths = [_length(part) for part in parts]
            return None if None in lengths else sum(each or 0 for each in lengths)
        case Choice(options):
            first = _length(options[0])
            return first if all(_length(option) == first for option in options) else None
        case Repeat(inner, low, high):
            each = _length(inner)
            return each * low if each is not None and low == high else None


def _is_anchored(node: Node) -> bool:
    """Whether it can match at the beginning of the text only."""
    match node:
        case Empty(assertion):
            return assertion is Assertion.BEGIN_TEXT
        case Sequence(parts):
            return bool(parts) and _is_anchored(parts[0])
        case Group(inner):
            return _is_anchored(inner)
        case Choice(options):
            return all(map(_is_anchored, options))
        case _:
            return False
