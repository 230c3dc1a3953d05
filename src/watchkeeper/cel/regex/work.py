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
"""Of a search in a turn whose visits have been used up; so what takes little is never refused."""
VISITS_PER_CHARACTER: Final = 8
VISITS_OF_COMPILATION: Final = 8
"""What compiling a pattern takes for each of its characters."""


class TooCostly(Exception):
    """A search that was given up."""

    def __init__(self) -> None:
        super().__init__("searching takes too many steps")


class _Turn:
    """The allowance of one turn of the event loop."""

    def __init__(self) -> None:
        self._left = MAX_VISITS_OF_A_TURN
        self._loop: asyncio.AbstractEventLoop | None = None
        """Where something has been spent in this turn."""

    def visits(self) -> int:
        """How many visits a search may make."""
        self._look()
        return max(LEAST_VISITS, min(MAX_VISITS, self._left))

    @property
    def is_spent(self) -> bool:
        """Whether it is used up."""
        self._look()
        return self._left <= 0

    def spend(self, visits: int) -> None:
        """Take what has been used."""
        self._look()
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return
        self._left -= visits
        if self._loop is None:
            self._loop = loop
            loop.call_soon(self._renew)

    def _look(self) -> None:
        # A loop that was closed has no further turn.
        if self._loop is not None and self._loop.is_closed():
            self._renew()

    def _renew(self) -> None:
        self._left = MAX_VISITS_OF_A_TURN
        self._loop = None


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
