"""Searches a text in one pass: a deterministic automaton that is built as far as the texts need it.

For patterns on which a backtracking matcher may take time exponential in the length of the text.
"""

from __future__ import annotations

from watchkeeper.cel.regex.charset import contains
from watchkeeper.cel.regex.nodes import Assertion, Chars, Choice, Empty, Group, Node, Repeat, Sequence

MAX_STATES = 2000
_MATCH = -1
_BEGIN, _NEWLINE, _WORD, _OTHER, _END = range(5)


class Automaton:
    """Tells whether a pattern occurs in a text."""

    def __init__(self, node: Node) -> None:
        self._program: list[tuple[str, object, tuple[int, ...]]] = []
        self._start = self._emit(node, _MATCH)
        self._states: dict[tuple[frozenset[int], int], _State] = {}
        self._found = _State(frozenset(), _OTHER)
        self._initial = self._state(frozenset((self._start,)), _BEGIN)

    def search(self, text: str) -> bool:
        """Whether the pattern matches anywhere in the text."""
        state = self._initial
        for ch in text:
            following = state.next.get(ch)
            if following is None:
                following = self._step(state, ch)
            if following is self._found:
                return True
            state = following
        return self._accepts(state, _END)

    def _emit(self, node: Node, then: int) -> int:
        """Add instructions for a node that go on at `then`; returns where they begin."""
        match node:
            case Chars():
                return self._add("chars", node, (then,))
            case Empty(None):
                return then
            case Empty(assertion):
                return self._add("assert", assertion, (then,))
            case Sequence(parts):
                for part in reversed(parts):
                    then = self._emit(part, then)
                return then
            case Choice(options):
                return self._add("split", None, tuple(self._emit(o, then) for o in options))
            case Group(inner):
                return self._emit(inner, then)
            case Repeat(inner, low, high):
                return self._emit_repeat(inner, low, high, then)

    def _emit_repeat(self, inner: Node, low: int, high: int | None, then: int) -> int:
        if high is None:
            loop = self._add("split", None, ())
            body = self._emit(inner, loop)
            self._program[loop] = ("split", None, (body, then))
            then = loop
        else:
            after = then
            for _ in range(high - low):
                then = self._add("split", None, (self._emit(inner, then), after))
        for _ in range(low):
            then = self._emit(inner, then)
        return then

    def _add(self, kind: str, data: object, targets: tuple[int, ...]) -> int:
        self._program.append((kind, data, targets))
        return len(self._program) - 1

    def _state(self, places: frozenset[int], before: int) -> _State:
        found = self._states.get((places, before))
        if found is None:
            if len(self._states) >= MAX_STATES:
                self._states.clear()
            found = self._states[places, before] = _State(places, before)
        return found

    def _step(self, state: _State, ch: str) -> _State:
        kind = _kind(ch)
        reached = self._closure(state, kind)
        if _MATCH in reached:
            result = self._found
        else:
            places = {self._start}
            variants = {ord(ch), *map(ord, ch.lower()[:1]), *map(ord, ch.upper()[:1])}
            for at in reached:
                _, data, targets = self._program[at]
                if isinstance(data, Chars):
                    ranges, fold = data.ranges, data.fold
                    codes = variants if fold else (ord(ch),)
                    if any(contains(ranges, code) for code in codes):
                        places.add(targets[0])
            result = self._state(frozenset(places), kind)
        state.next[ch] = result
        return result

    def _accepts(self, state: _State, after: int) -> bool:
        if state.at_end is None:
            state.at_end = _MATCH in self._closure(state, after)
        return state.at_end

    def _closure(self, state: _State, after: int) -> set[int]:
        """All instructions that are reached without consuming a character, between `before` and `after`."""
        seen: set[int] = set()
        todo = list(state.places)
        while todo:
            at = todo.pop()
            if at in seen:
                continue
            seen.add(at)
            if at == _MATCH:
                continue
            kind, data, targets = self._program[at]
            if kind == "split" or (kind == "assert" and _holds(data, state.before, after)):
                todo.extend(targets)
        return seen


class _State:
    __slots__ = ("at_end", "before", "next", "places")

    def __init__(self, places: frozenset[int], before: int) -> None:
        self.places = places
        self.before = before
        self.next: dict[str, _State] = {}
        self.at_end: bool | None = None


def _kind(ch: str) -> int:
    if ch == "\n":
        return _NEWLINE
    return _WORD if ch == "_" or (ch.isascii() and ch.isalnum()) else _OTHER


def _holds(assertion: object, before: int, after: int) -> bool:
    match assertion:
        case Assertion.BEGIN_TEXT:
            return before == _BEGIN
        case Assertion.END_TEXT:
            return after == _END
        case Assertion.BEGIN_LINE:
            return before in (_BEGIN, _NEWLINE)
        case Assertion.END_LINE:
            return after in (_END, _NEWLINE)
        case Assertion.WORD_BOUNDARY:
            return (before == _WORD) != (after == _WORD)
        case _:
            return (before == _WORD) == (after == _WORD)
