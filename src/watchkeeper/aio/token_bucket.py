"""So many a second, after a burst."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable

from watchkeeper.aio.clock import SYSTEM_CLOCK, Clock


class TokenBucket:
    """Fills at a rate up to a burst, with which it begins."""

    def __init__(self, rate: float, burst: int, *, clock: Clock = SYSTEM_CLOCK) -> None:
        """`rate` is a second's."""
        self._rate = rate
        self._burst = burst
        self._clock = clock
        self._tokens = float(burst)
        self._seen = clock.monotonic()

    def __repr__(self) -> str:
        return f"<TokenBucket {self._rate}/s, {self._tokens:.1f} of {self._burst} left>"

    def reserve(self) -> float:
        """Take one, be it in advance; seconds until there is room for it."""
        self._fill()
        self._tokens -= 1
        return max(0.0, -self._tokens / self._rate)

    def take(self) -> bool:
        """Take one if there is room for it now."""
        self._fill()
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True

    def _fill(self) -> None:
        now = self._clock.monotonic()
        self._tokens = min(self._tokens + (now - self._seen) * self._rate, float(self._burst))
        self._seen = now


class TokenBuckets:
    """A bucket for each key, of the keys that were used last."""

    def __init__(self, rate: float, burst: int, keys: int, *, clock: Clock = SYSTEM_CLOCK) -> None:
        """`keys`: how many are remembered; who comes back later begins with a burst again."""
        self._rate = rate
        self._burst = burst
        self._keys = keys
        self._clock = clock
        self._buckets: OrderedDict[Hashable, TokenBucket] = OrderedDict()

    def __repr__(self) -> str:
        return f"<TokenBuckets {self._rate}/s for each of {len(self._buckets)}>"

    def take(self, key: Hashable) -> bool:
        """Take one of a key's if there is room for it now."""
        bucket = self._buckets.pop(key, None) or TokenBucket(self._rate, self._burst, clock=self._clock)
        self._buckets[key] = bucket
        if len(self._buckets) > self._keys:
            self._buckets.popitem(last=False)
        return bucket.take()
