"""Leases: granted and ended through the committer, kept in the database, timed by the clock."""

from __future__ import annotations

import asyncio
import logging
import secrets

from watchkeeper.aio.backoff import Backoff
from watchkeeper.aio.clock import Clock
from watchkeeper.aio.tasks import TaskOwner
from watchkeeper.kv.errors import Closed, KVError, LeaseNotFound
from watchkeeper.kv.limits import check_lease_ttl
from watchkeeper.kv.sqlite.committer import Committer
from watchkeeper.kv.sqlite.index import CurrentIndex, Lease

log = logging.getLogger(__name__)

KEYS_AT_A_TIME = 128
"""Keys of an ended lease that are deleted together, so that other writes are not kept waiting by a great lease."""


class Leases:
    """The leases of one store. A lease whose keys are being deleted takes no more keys."""

    def __init__(self, index: CurrentIndex, committer: Committer, tasks: TaskOwner, clock: Clock) -> None:
        self._index = index
        self._committer = committer
        self._tasks = tasks
        self._clock = clock

    def start(self) -> None:
        """Begin to time the leases that were loaded. Needs a running event loop."""
        for lease in self._index.leases.values():
            self._time(lease)

    def check(self, lease: int) -> None:
        """Raise LeaseNotFound unless keys can be put with it."""
        found = self._index.leases.get(lease)
        if found is None or found.ending or found.deadline <= self._clock.monotonic():
            raise LeaseNotFound(f"lease {lease} does not exist or has expired")

    async def grant(self, ttl: int) -> int:
        """A new lease of `ttl` seconds, counted from its being durable; returns its id, which is never used again."""
        check_lease_ttl(ttl)
        lease = Lease(secrets.randbelow(2**63 - 1) + 1, ttl, 0.0)

        def granted() -> None:
            lease.deadline = self._clock.monotonic() + ttl
            self._index.leases[lease.id] = lease
            self._time(lease)

        expires = self._clock.time() + ttl
        await self._committer.record("INSERT INTO lease VALUES (?, ?, ?)", (lease.id, ttl, expires), granted)
        return lease.id

    async def revoke(self, lease: int) -> None:
        """Delete the lease and its keys. Raises LeaseNotFound. Cancelling does not stop it half-way."""
        self.check(lease)
        await asyncio.shield(self._tasks.start(f"revoke-{lease}", self._end(self._index.leases[lease])))

    def _time(self, lease: Lease) -> None:
        self._tasks.start(f"lease-{lease.id}", self._expire(lease))

    async def _expire(self, lease: Lease) -> None:
        while (left := lease.deadline - self._clock.monotonic()) > 0:
            await self._clock.sleep(left)
        backoff = Backoff(initial=0.5)
        while lease.id in self._index.leases and not lease.ending:
            try:
                await self._end(lease)
            except Closed:
                return
            except KVError as error:
                log.warning("the keys of expired lease %d cannot be deleted yet: %s", lease.id, error)
                await self._clock.sleep(backoff.next())

    async def _end(self, lease: Lease) -> None:
        lease.ending = True
        try:
            while lease.keys:
                keys = sorted(lease.keys)[:KEYS_AT_A_TIME]
                entries = self._index.entries
                await asyncio.gather(*[self._committer.delete(key, entries[key], needs_prev=False) for key in keys])
            await self._committer.record("DELETE FROM lease WHERE id = ?", (lease.id,), lambda: self._forget(lease))
        finally:
            lease.ending = lease.id not in self._index.leases

    def _forget(self, lease: Lease) -> None:
        self._index.leases.pop(lease.id, None)
