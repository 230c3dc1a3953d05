"""How much work a search may be. Everything that searches does runs on the event loop, in Python.

Searches are counted in visits of instructions, about a microsecond each. A state of the automaton is worked out once
and found again afterwards, so what patterns of this world do costs a few thousand visits and then none.
"""

from __future__ import annotations

import asyncio
from typing import Final

MAX_VISITS: Final = 100_000
"""Of one search; as many again, `VISITS_PER_CHARACTER`, in a long text."""
MAX_VISITS_OF_A_TURN: Final = 400_000
"""Of all searches between two turns of the event loop; when they are used up, each search has but the least."""
LEAST_VISITS: Final = 10_000
VISITS_PER_CHARACTER: Final = 8


class TooCostly(Exception):
    """A search that was given up."""

    def __init__(self) -> None:
        super().__init__("searching takes too many steps")


class _Turn:
    """The allowance of one turn of the event loop."""

    def __init__(self) -> None:
        self._left = MAX_VISITS_OF_A_TURN
        self._begun = False

    def visits(self) -> int:
        """How many visits a search may make."""
        return max(LEAST_VISITS, min(MAX_VISITS, self._left))

    def spend(self, visits: int) -> None:
        """Take what a search has used."""
        self._left -= visits
        if not self._begun:
            self._begun = True
            try:
                asyncio.get_running_loop().call_soon(self._renew)
            except RuntimeError:
                self._renew()

    def _renew(self) -> None:
        self._left = MAX_VISITS_OF_A_TURN
        self._begun = False


TURN = _Turn()


class Allowance:
    """What is left of one search's."""

    __slots__ = ("_given", "left")

    def __init__(self, length: int) -> None:
        """`length` is that of the text: long ones may take more."""
        self._given = self.left = TURN.visits() + min(VISITS_PER_CHARACTER * length, MAX_VISITS)

    def take(self, visits: int) -> None:
        """Count visits. Raises TooCostly when there were too many."""
        self.left -= visits
        if self.left < 0:
            raise TooCostly

    def settle(self) -> None:
        """Let the turn know what was used."""
        if self.left != self._given:
            TURN.spend(self._given - self.left)
