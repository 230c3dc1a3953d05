"""Searches a text in one pass: a deterministic automaton that is built as far as the texts need it.

For patterns on which a backtracking matcher may take time exponential in the length of the text, or a high power of it.
A set of characters that repeats is one instruction with a set of counts, kept as the bits of a number: so `.{0,1000}`
costs no more than `.*`.
"""

from __future__ import annotations

from typing import Final

from watchkeeper.cel.regex.classes import END, OTHER, START, Classes, Kind, holds
from watchkeeper.cel.regex.program import MATCH, Instruction, Op, Program
from watchkeeper.cel.regex.work import Allowance

MAX_KEPT: Final = 8000
"""Places in all states that are kept; when there are more, states are made anew."""
_VISITS_OF_A_STATE: Final = 10
"""What making a state takes, whatever is in it."""


class Automaton:
    """Tells whether a pattern occurs in a text."""

    def __init__(self, program: Program) -> None:
        """`program` may have counters."""
        self._instructions = program.instructions
        self._start = program.start
        self._classes = Classes(program.instructions)
        self._states: dict[tuple[frozenset[tuple[int, int]], Kind], _State] = {}
        self._kept = 0
        self._found = _State({}, OTHER)

    def __repr__(self) -> str:
        return f"<Automaton of {len(self._instructions)} instructions, {len(self._states)} states>"

    def search(self, text: str) -> bool:
        """Whether the pattern matches anywhere in the text. Raises TooCostly."""
        allowance = Allowance(len(text))
        try:
            return self._search(text, allowance)
        finally:
            allowance.settle()

    def _search(self, text: str, allowance: Allowance) -> bool:
        state = self._state({self._start: 1}, START)
        class_of, classify, found = self._classes.known, self._classes.of, self._found
        for ch in text:
            kind = class_of.get(ch)
            if kind is None:
                kind = classify(ch)
            following = state.next.get(kind)
            if following is None:
                following = self._step(state, ch, kind, allowance)
            if following is found:
                return True
            state = following
        if state.at_end is None:
            state.at_end = MATCH in self._closure(state, END, allowance)
        return state.at_end

    def _state(self, places: dict[int, int], before: Kind) -> _State:
        key = (frozenset(places.items()), before)
        found = self._states.get(key)
        if found is None:
            if self._kept > MAX_KEPT:
                self._states.clear()
                self._kept = 0
            found = self._states[key] = _State(places, before)
            self._kept += len(places)
        return found

    def _step(self, state: _State, ch: str, kind: int, allowance: Allowance) -> _State:
        after = self._classes.kind(ch)
        reached = self._closure(state, after, allowance)
        if MATCH in reached:
            result = self._found
        else:
            places = {self._start: 1}
            matches = self._classes.matches
            for at, counts in reached.items():
                instruction = self._instructions[at]
                if instruction.chars is None or not matches(instruction.chars, ch):
                    continue
                if instruction.op is Op.CHARS:
                    places[instruction.targets[0]] = places.get(instruction.targets[0], 0) | 1
                elif more := _one_more(instruction, counts):
                    places[at] = places.get(at, 0) | more
            result = self._state(places, after)
        state.next[kind] = result
        return result

    def _closure(self, state: _State, after: Kind, allowance: Allowance) -> dict[int, int]:
        """All instructions that are reached without taking a character between `before` and `after`.

        With each goes the set of counts that it has been reached with; only those that count make something of it.
        """
        reached: dict[int, int] = {}
        todo = list(state.places.items())
        visits = 0
        while todo:
            at, counts = todo.pop()
            visits += 1
            before = reached.get(at, 0)
            if before | counts == before:
                continue
            reached[at] = before | counts
            if at == MATCH:
                continue
            instruction = self._instructions[at]
            op = instruction.op
            if op is Op.SPLIT:
                todo += [(target, 1) for target in instruction.targets]
            elif op is Op.COUNT:
                if counts >> instruction.low:
                    todo.append((instruction.targets[0], 1))
            elif op is Op.ASSERT and holds(instruction.assertion, state.before, after):
                todo.append((instruction.targets[0], 1))
        allowance.take(visits + len(reached) + _VISITS_OF_A_STATE)
        return reached


def _one_more(instruction: Instruction, counts: int) -> int:
    """The counts after one more character: none above the highest, which for no limit is the least that is enough."""
    counts <<= 1
    if instruction.high is None:
        enough = 1 << instruction.low
        return counts & (enough - 1) | (enough if counts >> instruction.low else 0)
    return counts & ((2 << instruction.high) - 1)


class _State:
    __slots__ = ("at_end", "before", "next", "places")

    def __init__(self, places: dict[int, int], before: Kind) -> None:
        self.places = places
        self.before = before
        self.next: dict[int, _State] = {}
        self.at_end: bool | None = None
