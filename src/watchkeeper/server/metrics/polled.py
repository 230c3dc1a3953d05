"""A value that costs a round trip, and need not be new."""

from __future__ import annotations

import logging
import math
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from watchkeeper.aio.clock import Clock
from watchkeeper.kv.errors import KVError
from watchkeeper.storage.errors import StorageError

log = logging.getLogger(__name__)

T = TypeVar("T")


class Polled(Generic[T]):
    """Asks when it is asked and the last answer is too old."""

    def __init__(self, ask: Callable[[], Awaitable[T]], seconds: float, clock: Clock) -> None:
        """`seconds`: how old an answer may be; 0 never asks."""
        self._ask = ask
        self._seconds = seconds
        self._clock = clock
        self._at = -math.inf
        self._value: T | None = None

    def __repr__(self) -> str:
        return f"<Polled every {self._seconds:g} s: {self._value!r}>"

    async def get(self) -> T | None:
        """The last answer; None when the last question has not been answered, or nothing is to be asked.

        Who is not answered is not asked again before the time is over either.
        """
        now = self._clock.monotonic()
        if self._seconds > 0 and now - self._at >= self._seconds:
            self._at = now
            try:
                self._value = await self._ask()
            except (KVError, StorageError, TimeoutError) as error:
                self._value = None
                log.warning("the storage did not answer a question of the metrics: %s", error or "no answer in time")
        return self._value
