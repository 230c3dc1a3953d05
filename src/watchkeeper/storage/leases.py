"""Leases for objects with a time to live, shared by objects that expire at about the same time."""

from __future__ import annotations

from watchkeeper.aio.clock import Clock
from watchkeeper.kv.interface import KV

REUSE_SECONDS = 60
REUSE_SHARE = 0.05
MAX_OBJECTS = 1000


class LeaseManager:
    """Hands out leases as kube-apiserver does: one serves all objects of a span of time, up to a number.

    A lease lives a little longer than asked for (5 % of the time, a minute at most), and is given out again as long as
    that does not make anybody's time too short or longer than that.
    """

    def __init__(
        self, kv: KV, clock: Clock, *, reuse_seconds: int = REUSE_SECONDS, max_objects: int = MAX_OBJECTS
    ) -> None:
        self._kv = kv
        self._clock = clock
        self._reuse_seconds = reuse_seconds
        self._max_objects = max_objects
        self._lease = 0
        self._expires = 0.0
        self._objects = 0

    async def lease(self, ttl: int) -> int:
        """The id of a lease that ends in `ttl` seconds or a little later. Raises KVError."""
        now = self._clock.monotonic()
        spare = min(int(ttl * REUSE_SHARE), self._reuse_seconds)
        self._objects += 1
        if now + ttl < self._expires <= now + ttl + spare and self._objects <= self._max_objects:
            return self._lease
        granted = await self._kv.grant_lease(ttl + spare)
        # Two that ask at once may both get one of their own; the later one stays for reuse.
        self._lease, self._expires, self._objects = granted, now + ttl + spare, 1
        return granted

    def forget(self, lease: int) -> None:
        """Do not give this lease out any more: the store does not know it."""
        if lease == self._lease:
            self._expires = 0.0
