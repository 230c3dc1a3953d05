"""Sets of indexes of a Job's pods, written as `1,3-5,7`."""

from __future__ import annotations

import re

from watchkeeper.meta.field import go_quote

_INTEGER = re.compile(r"[+-]?[0-9]+")
Interval = tuple[int, int]


class IndexesError(ValueError):
    """What is wrong with a set of indexes."""


def count_indexes(text: str, completions: int) -> int:
    """How many indexes a set has. Raises IndexesError unless all are in order and below `completions`."""
    total, last = 0, None
    for part in text.split(",") if text else ():
        low, high = _interval(part, completions)
        if last is not None and last >= low:
            raise IndexesError(f"non-increasing order, previous: {last}, current: {low}")
        total += high - low + 1
        last = high
    return total


def first_overlap(completed: str, failed: str, completions: int) -> int | None:
    """The first index in both sets. Parts that cannot be read count as empty."""
    firsts, seconds = _intervals(completed, completions), _intervals(failed, completions)
    i = j = 0
    while i < len(firsts) and j < len(seconds):
        (low, high), (other_low, other_high) = firsts[i], seconds[j]
        if low <= other_high and other_low <= high:
            return max(low, other_low)
        if low <= other_low:
            i += 1
        else:
            j += 1
    return None


def _intervals(text: str, completions: int) -> list[Interval]:
    found = []
    for part in text.split(",") if text else ():
        try:
            found.append(_interval(part, completions))
        except IndexesError:
            continue
    return found


def _interval(text: str, completions: int) -> Interval:
    limits = text.split("-")
    if len(limits) > 2:
        rule = "violates the requirement that an index interval can have at most two parts separated by '-'"
        raise IndexesError(f"the fragment {go_quote(text)} {rule}")
    low = _index(limits[0], completions)
    if len(limits) == 1:
        return low, low
    high = _index(limits[1], completions)
    if low >= high:
        raise IndexesError(f"non-increasing order, previous: {low}, current: {high}")
    return low, high


def _index(text: str, completions: int) -> int:
    if not _INTEGER.fullmatch(text):
        raise IndexesError(f"cannot convert string to integer for index: {go_quote(text)}")
    if int(text) >= completions:
        raise IndexesError(f"too large index: {go_quote(text)}")
    return int(text)
