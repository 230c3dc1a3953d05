"""Whether a cache can be used, and waiting until it can.

idle ──▶ pending ◀──▶ ready
           │            │
           └─▶ stopped ◀┘          (also from idle)
"""

from __future__ import annotations

import asyncio
import enum

from watchkeeper.aio.clock import Clock
from watchkeeper.storage.errors import NotReady

MAX_RETRY_SECONDS = 60


class State(enum.Enum):
    """Where a cache is in its life."""

    IDLE = "idle"
    PENDING = "pending"
    READY = "ready"
    STOPPED = "stopped"


class Readiness:
    """The state of a cache, and the reason why it is not ready."""

    def __init__(self, clock: Clock) -> None:
        self.state = State.IDLE
        self.generation = 0
        """How many times it has become ready."""
        self._clock = clock
        self._error: Exception | None = None
        self._since = clock.monotonic()
        self._waiters: list[asyncio.Future[None]] = []

    def __repr__(self) -> str:
        return f"<Readiness {self.state.value}>"

    def start(self) -> bool:
        """Leave idle. False when that was done before."""
        if self.state is not State.IDLE:
            return False
        self._enter(State.PENDING)
        return True

    def set_ready(self) -> None:
        """Requests can be served."""
        if self.state is State.STOPPED:
            return
        if self.state is not State.READY:
            self.generation += 1
            self._enter(State.READY)
        self._error = None
        self._wake()

    def set_pending(self, error: Exception | None) -> None:
        """Requests cannot be served for a while, because of `error`."""
        if self.state is State.STOPPED:
            return
        self._error = error
        if self.state is not State.PENDING:
            self._enter(State.PENDING)

    def stop(self) -> None:
        """For good. Whoever waits is told."""
        if self.state is not State.STOPPED:
            self._enter(State.STOPPED)
            self._wake()

    def reason(self) -> str:
        """ "" when ready, else what is said to clients."""
        if self.state is State.READY:
            return ""
        if self.state is State.STOPPED:
            return "apiserver cacher is stopped"
        return (
            f"storage is (re)initializing: {self._error}" if self._error is not None else "storage is (re)initializing"
        )

    def check(self) -> None:
        """Raise NotReady unless ready; the longer it has not been, the later one should ask again."""
        if self.state is not State.READY:
            unready = self._clock.monotonic() - self._since
            raise NotReady(self.reason(), min(max(int(unready), 1), MAX_RETRY_SECONDS))

    async def wait(self, seconds: float) -> None:
        """Give it that much time to become ready; returns anyway."""
        if self.state is State.READY or self.state is State.STOPPED or seconds <= 0:
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        try:
            # Not wait_for: until Python 3.12 it loses a cancellation that comes together with the result.
            await asyncio.wait((waiter,), timeout=seconds)
        finally:
            if waiter in self._waiters:
                self._waiters.remove(waiter)

    def _enter(self, state: State) -> None:
        self.state = state
        self._since = self._clock.monotonic()

    def _wake(self) -> None:
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)
