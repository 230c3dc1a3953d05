"""How long a failed item waits: growing with its failures, and bounded over all items together."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

from watchkeeper.aio.clock import SYSTEM_CLOCK, Clock
from watchkeeper.aio.token_bucket import TokenBucket
from watchkeeper.client.interface import RateLimiter

T = TypeVar("T", bound=Hashable)


class ItemExponentialRateLimiter(Generic[T]):
    """Doubles the delay with each failure of an item."""

    def __init__(self, base: float = 0.005, limit: float = 1000.0) -> None:
        """Seconds: the first delay and the greatest."""
        self._base = base
        self._limit = limit
        self._failures: dict[T, int] = {}

    def __repr__(self) -> str:
        return f"<ItemExponentialRateLimiter {self._base} to {self._limit} s, {len(self._failures)} failing>"

    def when(self, item: T) -> float:
        """Seconds to wait."""
        failures = self._failures.get(item, 0)
        self._failures[item] = failures + 1
        # A float has no room for much more than a thousand doublings.
        return min(self._base * 2.0 ** min(failures, 1000), self._limit)

    def forget(self, item: T) -> None:
        """Begin anew."""
        self._failures.pop(item, None)

    def retries(self, item: T) -> int:
        """Failures so far."""
        return self._failures.get(item, 0)


class BucketRateLimiter(Generic[T]):
    """So many items a second over all, after a burst. Who comes too early is given a place further back."""

    def __init__(self, rate: float = 10.0, burst: int = 100, *, clock: Clock = SYSTEM_CLOCK) -> None:
        self._bucket = TokenBucket(rate, burst, clock=clock)

    def __repr__(self) -> str:
        return f"<BucketRateLimiter {self._bucket!r}>"

    def when(self, item: T) -> float:
        """Seconds to wait."""
        return self._bucket.reserve()

    def take(self) -> bool:
        """Whether there is room for one now; without a place for later."""
        return self._bucket.take()

    def forget(self, item: T) -> None:
        """Nothing is known of single items."""

    def retries(self, item: T) -> int:
        """Nothing is known of single items."""
        return 0


class MaxOfRateLimiter(Generic[T]):
    """The longest of several delays."""

    def __init__(self, *limiters: RateLimiter[T]) -> None:
        self._limiters = limiters

    def __repr__(self) -> str:
        return f"<MaxOfRateLimiter {self._limiters}>"

    def when(self, item: T) -> float:
        """Seconds to wait."""
        return max(limiter.when(item) for limiter in self._limiters)

    def forget(self, item: T) -> None:
        """Forget it everywhere."""
        for limiter in self._limiters:
            limiter.forget(item)

    def retries(self, item: T) -> int:
        """The most that any of them knows of."""
        return max(limiter.retries(item) for limiter in self._limiters)


def default_rate_limiter(clock: Clock = SYSTEM_CLOCK) -> RateLimiter[Hashable]:
    """What controllers use: 5 ms doubling up to 1000 s for each item, ten items a second over all after a hundred."""
    return MaxOfRateLimiter(ItemExponentialRateLimiter[Hashable](), BucketRateLimiter[Hashable](10.0, 100, clock=clock))
