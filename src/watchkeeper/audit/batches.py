"""Audit events that nobody waits for: gathered, and passed on many at a time."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from watchkeeper.aio.clock import SYSTEM_CLOCK, Clock
from watchkeeper.aio.tasks import TaskOwner
from watchkeeper.aio.token_bucket import TokenBucket
from watchkeeper.audit.sinks import Sink


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchOptions:
    """How many events are gathered, and for how long. Times in seconds."""

    buffer_size: int = 10_000
    """So many may wait."""
    max_batch_size: int = 400
    max_batch_wait: float = 30.0
    throttle: bool = True
    qps: float = 10.0
    """Batches a second, after a burst."""
    burst: int = 15


class Batches:
    """Gives batches of what it is given: whenever one is full, or its first event has waited for long enough."""

    def __init__(
        self,
        name: str,
        options: BatchOptions,
        give: Callable[[Sequence[bytes]], Awaitable[None]],
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        """`give` is awaited for one batch after the other."""
        self._options = options
        self._give = give
        self._clock = clock
        self._buffer: deque[bytes] = deque()
        self._wanted = asyncio.Event()
        self._tasks = TaskOwner(name)
        self._bucket = TokenBucket(options.qps, options.burst, clock=clock) if options.throttle else None

    def __len__(self) -> int:
        return len(self._buffer)

    @property
    def full(self) -> bool:
        """Whether there is no room for another event."""
        return len(self._buffer) >= self._options.buffer_size

    def start(self) -> None:
        """Begin to give."""
        self._tasks.start("batches", self._run())

    def add(self, line: bytes) -> None:
        """Take an event, for which there is room."""
        self._buffer.append(line)
        if len(self._buffer) in (1, self._options.max_batch_size):
            self._wanted.set()

    async def stop(self) -> None:
        """Gather no longer. What waits stays."""
        await self._tasks.close()

    async def give_rest(self) -> None:
        """Give all that waits, at the pace that is allowed."""
        while self._buffer:
            await self._next()

    async def _run(self) -> None:
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            if len(self._buffer) < self._options.max_batch_size:
                await self._more()
            while self._buffer:
                await self._next()
                if len(self._buffer) < self._options.max_batch_size:
                    # A batch of its own, in time.
                    if self._buffer:
                        self._wanted.set()
                    break

    async def _more(self) -> None:
        """Wait until a batch is full, or has waited for long enough."""
        deadline = self._clock.monotonic() + self._options.max_batch_wait
        while len(self._buffer) < self._options.max_batch_size:
            left = deadline - self._clock.monotonic()
            if left <= 0:
                return
            try:
                async with asyncio.timeout(left):
                    await self._wanted.wait()
            except TimeoutError:
                return
            self._wanted.clear()

    async def _next(self) -> None:
        """Give as much as fits into a batch, once that may be."""
        if self._bucket is not None and (wait := self._bucket.reserve()):
            await self._clock.sleep(wait)
        count = min(self._options.max_batch_size, len(self._buffer))
        await self._give([self._buffer.popleft() for _ in range(count)])


class Batched:
    """Passes events on in batches, each when the one before it is written."""

    blocking = False
    strict = False

    def __init__(self, sink: Sink, options: BatchOptions, clock: Clock = SYSTEM_CLOCK) -> None:
        self._sink = sink
        self._batches = Batches("audit-batches", options, self._pass_on, clock)
        self._overflowed = 0

    def start(self) -> None:
        """Begin to pass on."""
        self._batches.start()

    def write(self, line: bytes) -> None:
        """Take an event, if there is room for it."""
        if self._batches.full:
            self._overflowed += 1
        else:
            self._batches.add(line)

    def written(self) -> Awaitable[bool]:
        """Wait for what was passed on; nobody has to wait for the rest."""
        return self._sink.written()

    def errors(self) -> Mapping[str, int]:
        """What there was no room for, and what was lost behind."""
        return {**self._sink.errors(), "buffered": self._overflowed}

    async def close(self) -> None:
        """Write what is left."""
        await self._batches.stop()
        await self._batches.give_rest()
        await self._sink.close()

    async def _pass_on(self, lines: Sequence[bytes]) -> None:
        for line in lines:
            self._sink.write(line)
        await self._sink.written()
