"""One of several candidates leads. The algorithm is client-go's.

candidate ──▶ leader ──▶ done        the lease could not be renewed in time, or the elector was cancelled
    │ ▲
    └─┘  somebody else holds the lease, or it cannot be read: try again

A candidate never compares its clock with another's: a lease counts as running for as long as the candidate itself has
not seen it change. So clocks may be wrong, but not run at very different speeds.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from typing import Any

from watchkeeper.aio.clock import SYSTEM_CLOCK, Clock
from watchkeeper.client.errors import ClientError, is_reason
from watchkeeper.client.interface import LeaderLock, LeaderRecord
from watchkeeper.client.times import micro_time
from watchkeeper.meta.errors import ApiError

log = logging.getLogger(__name__)

JITTER = 1.2


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderTimes:
    """How long is waited for what, in seconds. Raises ValueError where a leader could not renew in time."""

    lease: float = 15.0
    """How long others wait before they take over from a leader that is not heard of."""
    renew: float = 10.0
    """How long a leader tries to renew before it gives up."""
    retry: float = 2.0
    """How long to wait between attempts."""

    def __post_init__(self) -> None:
        if int(self.lease) <= self.renew:  # others are told whole seconds
            raise ValueError("the lease must be longer than the time to renew it")
        if self.renew <= self.retry * JITTER:
            raise ValueError(f"the time to renew must be longer than {JITTER} times the time between attempts")
        if self.lease < 1 or self.retry <= 0:
            raise ValueError("leases are counted in whole seconds, attempts must have time between them")


class LeaderElector:
    """A candidate. `run` waits until it leads, works, and returns when it leads no more."""

    def __init__(
        self,
        lock: LeaderLock,
        *,
        times: LeaderTimes = LeaderTimes(),
        on_new_leader: Callable[[str], None] | None = None,
        release_on_cancel: bool = True,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        """`on_new_leader` is told of each leader seen, oneself included. With `release_on_cancel` a cancelled leader
        lets the next one begin at once; what it leads must have ended by then."""
        self._lock = lock
        self._times = times
        self._on_new_leader = on_new_leader
        self._release_on_cancel = release_on_cancel
        self._clock = clock
        self._seen: LeaderRecord | None = None
        self._seen_at = 0.0
        self._told = ""

    def __repr__(self) -> str:
        return f"<LeaderElector {self._lock!r}: {'leads' if self.is_leader else f'follows {self.leader!r}'}>"

    @property
    def leader(self) -> str:
        """Who led when it was last looked; "" for nobody."""
        return self._seen.holder if self._seen is not None else ""

    @property
    def is_leader(self) -> bool:
        """Whether it is this candidate."""
        return self._seen is not None and self._seen.holder == self._lock.identity

    async def run(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Wait until this candidate leads, then do the work; it is cancelled when the lease is lost.

        Returns when the lease is lost or the work has ended; raises what the work raises, or the lock unexpectedly.
        """
        await self._acquire()
        working = asyncio.create_task(work(), name=f"{self._lock.identity}/leading")
        renewing = asyncio.create_task(self._renew(), name=f"{self._lock.identity}/renewing")
        try:
            await asyncio.wait((working, renewing), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (working, renewing):
                task.cancel()
            await asyncio.gather(working, renewing, return_exceptions=True)
            if self._release_on_cancel and self.is_leader:
                await self._release()
        for task in (working, renewing):
            if not task.cancelled() and (error := task.exception()) is not None:
                raise error

    async def _acquire(self) -> None:
        while not await self._try(self._times.renew):
            await self._clock.sleep(self._times.retry * (1 + (JITTER - 1) * random.random()))

    async def _renew(self) -> None:
        """Return when the lease could not be renewed in time, even if an attempt is still under way then."""
        while True:
            await self._clock.sleep(self._times.retry)
            deadline = self._clock.monotonic() + self._times.renew
            while not await self._try(deadline - self._clock.monotonic()):
                if self._clock.monotonic() + self._times.retry > deadline:
                    log.warning("%r: the lease could not be renewed in time", self)
                    return
                await self._clock.sleep(self._times.retry)

    # -- one attempt ----------------------------------------------------------------------------------------------

    async def _try(self, seconds: float) -> bool:
        """Acquire or renew the lease; False when somebody else has it or it cannot be written in so many seconds."""
        try:
            async with asyncio.timeout(seconds):
                return await self._acquire_or_renew()
        except (ApiError, ClientError, TimeoutError) as problem:
            log.info("%r: %s", self, problem)
            return False
        finally:
            self._tell()

    async def _acquire_or_renew(self) -> bool:
        now = self._clock.time()
        if self._seen is not None and self.is_leader and self._is_running(self._seen):
            try:
                await self._write(self._record(now, self._seen))
                return True
            except ApiError as problem:
                log.info("%r: cannot renew at once, looking first: %s", self, problem)
        try:
            current = await self._lock.get()
        except ApiError as problem:
            if not is_reason(problem, "NotFound"):
                raise
            record = self._record(now, None)
            await self._lock.create(record)
            self._see(record)
            return True
        if current != self._seen:
            self._see(current)
        if current.holder and not self.is_leader and self._is_running(current):
            return False
        await self._write(self._record(now, current))
        return True

    def _is_running(self, record: LeaderRecord) -> bool:
        return self._seen_at + record.lease_seconds > self._clock.monotonic()

    def _record(self, now: float, current: LeaderRecord | None) -> LeaderRecord:
        time = micro_time(now)
        mine = LeaderRecord(
            holder=self._lock.identity,
            lease_seconds=int(self._times.lease),
            acquire_time=time,
            renew_time=time,
            transitions=0,
        )
        if current is None:
            return mine
        if self.is_leader:
            return replace(mine, acquire_time=current.acquire_time, transitions=current.transitions)
        return replace(mine, transitions=current.transitions + 1)

    async def _write(self, record: LeaderRecord) -> None:
        await self._lock.update(record)
        self._see(record)

    def _see(self, record: LeaderRecord) -> None:
        self._seen = record
        self._seen_at = self._clock.monotonic()

    def _tell(self) -> None:
        if self.leader != self._told:
            self._told = self.leader
            if self._on_new_leader is not None and self._told:
                self._on_new_leader(self._told)

    async def _release(self) -> None:
        """Let somebody else lead at once.

        A renewal that was cancelled may have been written nevertheless: what is there then is looked at again.
        """
        try:
            async with asyncio.timeout(self._times.renew):
                while self.is_leader and not await self._let_go():
                    self._see(await self._lock.get())
        except (ApiError, ClientError, TimeoutError) as problem:
            log.warning("%r: the lease could not be released: %s", self, problem)

    async def _let_go(self) -> bool:
        """Write that nobody leads; False when the lease has changed since it was seen."""
        assert self._seen is not None
        time = micro_time(self._clock.time())
        try:
            await self._write(replace(self._seen, holder="", lease_seconds=1, acquire_time=time, renew_time=time))
        except ApiError as problem:
            if not is_reason(problem, "Conflict"):
                raise
            return False
        return True
