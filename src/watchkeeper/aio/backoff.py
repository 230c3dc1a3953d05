"""How long to wait before trying again."""

from __future__ import annotations

import random


class Backoff:
    """Delays that grow by a factor up to a bound, each with jitter so that many clients do not come back at once."""

    __slots__ = ("_factor", "_initial", "_jitter", "_limit", "_next", "_random")

    def __init__(
        self,
        *,
        initial: float = 0.05,
        limit: float = 5.0,
        factor: float = 2.0,
        jitter: float = 0.5,
        chance: random.Random | None = None,
    ) -> None:
        """Seconds: the first delay and the greatest. `jitter` is the share of a delay that is left to chance."""
        self._initial = initial
        self._limit = limit
        self._factor = factor
        self._jitter = jitter
        self._random = chance or random.Random()
        self._next = initial

    def __repr__(self) -> str:
        return f"<Backoff next {self._next:.3f} s, limit {self._limit:.3f} s>"

    def next(self) -> float:
        """The delay, in seconds, before the coming attempt."""
        delay = self._next
        self._next = min(self._next * self._factor, self._limit)
        return delay * (1 - self._jitter * self._random.random())

    def reset(self) -> None:
        """Begin anew: the last attempt succeeded."""
        self._next = self._initial
