"""How often something may be done to each of many things."""

from __future__ import annotations

from collections import deque

from watchkeeper.aio.clock import SYSTEM_CLOCK, Clock


class Pace:
    """Lets so many turns pass for each name in so many seconds."""

    def __init__(self, turns: int, seconds: float, *, clock: Clock = SYSTEM_CLOCK) -> None:
        self._turns = turns
        self._seconds = seconds
        self._clock = clock
        self._taken: dict[str, deque[float]] = {}

    def __repr__(self) -> str:
        return f"<Pace of {len(self._taken)}>"

    def take(self, name: str) -> bool:
        """Take a turn; whether there was one left."""
        now = self._clock.monotonic()
        for other in [other for other, times in self._taken.items() if times[-1] <= now - self._seconds]:
            del self._taken[other]
        times = self._taken.setdefault(name, deque(maxlen=self._turns))
        if len(times) == self._turns and times[0] > now - self._seconds:
            return False
        times.append(now)
        return True
