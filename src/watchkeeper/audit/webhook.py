"""Sends audit events to a webhook: one by one while answers wait, or many at a time when nobody does."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from watchkeeper.aio.clock import SYSTEM_CLOCK, Clock
from watchkeeper.aio.tasks import TaskOwner
from watchkeeper.aio.token_bucket import TokenBucket
from watchkeeper.audit import sinks
from watchkeeper.webhook.backend import BackendError

log = logging.getLogger(__name__)

_HEAD = b'{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":['
_ITEM_HEAD = b'{"kind":"Event","apiVersion":"audit.k8s.io/v1",'
"""What an event alone begins with, and one in a list does not."""
_FLUSH_SECONDS = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookOptions:
    """How events are sent. Times in seconds; what is of batches counts in mode `batch` alone."""

    mode: str = "batch"
    """One of `sinks.MODES`."""
    initial_backoff: float = 10.0
    """How long after a failure the next attempt comes; each time it is half as much longer."""
    buffer_size: int = 10_000
    """So many events may wait."""
    max_batch_size: int = 400
    max_batch_wait: float = 30.0
    throttle: bool = True
    qps: float = 10.0
    """Batches a second, after a burst."""
    burst: int = 15


class Target(Protocol):
    """A backend that can be posted to (`webhook.backend.Backend`)."""

    async def post_patiently(self, body: bytes, first_wait: float, *, always: bool = False) -> bytes:
        """Its answer, after several attempts if need be. Raises BackendError."""
        ...

    def close(self) -> None:
        """Close idle connections."""
        ...


class AuditWebhook:
    """Takes events and sends them. What cannot be sent after several attempts is lost, and counted."""

    def __init__(self, target: Target, options: WebhookOptions, clock: Clock = SYSTEM_CLOCK) -> None:
        self._target = target
        self._options = options
        self._clock = clock
        self.blocking = options.mode != "batch"
        self.strict = options.mode == "blocking-strict"
        self._tasks = TaskOwner("audit-webhook")
        self._buffer: deque[bytes] = deque()
        self._bytes = 0
        """Of events that wait or are on their way."""
        self._wanted = asyncio.Event()
        self._sending: set[asyncio.Task[bool]] = set()
        self._last: asyncio.Task[bool] | None = None
        self._bucket = TokenBucket(options.qps, options.burst, clock=clock) if options.throttle else None
        self._closed = False
        self._lost = 0
        self._overflowed = 0

    def __repr__(self) -> str:
        return f"<AuditWebhook {self._options.mode}: {len(self._buffer)} waiting, {len(self._sending)} under way>"

    def start(self) -> None:
        """Begin to send."""
        if not self.blocking:
            self._tasks.start("batches", self._run())

    def write(self, line: bytes) -> None:
        """Take an event, a line of JSON."""
        too_many = not self.blocking and len(self._buffer) >= self._options.buffer_size
        if self._closed or too_many or self._bytes + len(line) > sinks.MAX_WAITING:
            self._overflowed += 1
            self._last = None
            return
        self._bytes += len(line)
        if self.blocking:
            self._last = self._send((line,))
            return
        self._buffer.append(line)
        if len(self._buffer) in (1, self._options.max_batch_size):
            self._wanted.set()

    def written(self) -> Awaitable[bool]:
        """Wait until all that was taken so far is sent or lost; whether what was taken last could be sent."""
        return _settled(set(self._sending), self._last)

    def errors(self) -> Mapping[str, int]:
        """How many events could not be sent, and how many there was no room for."""
        return {"webhook": self._lost, "buffered": self._overflowed}

    async def close(self) -> None:
        """Send what is left, for a while."""
        self._closed = True
        await self._tasks.close()
        try:
            async with asyncio.timeout(_FLUSH_SECONDS):
                while self._buffer:
                    await self._send_batch()
                if self._sending:
                    await asyncio.wait(set(self._sending))
        except TimeoutError:
            left = sorted(self._sending, key=id)
            for task in left:
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True)
            self._lost += len(self._buffer)
            log.error("the audit webhook has not taken everything before the end")
        self._target.close()

    async def _run(self) -> None:
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            if len(self._buffer) < self._options.max_batch_size:
                await self._more()
            while self._buffer:
                await self._send_batch()
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

    async def _send_batch(self) -> None:
        """Send as much as fits into a batch, once that may be."""
        if self._bucket is not None and (wait := self._bucket.reserve()):
            await self._clock.sleep(wait)
        count = min(self._options.max_batch_size, len(self._buffer))
        self._send([self._buffer.popleft() for _ in range(count)])

    def _send(self, lines: Sequence[bytes]) -> asyncio.Task[bool]:
        # Not of `_tasks`, which end before what is under way has arrived.
        task = asyncio.get_running_loop().create_task(self._sent(lines), name="audit-webhook/send")
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)
        return task

    async def _sent(self, lines: Sequence[bytes]) -> bool:
        try:
            body = b"%s%s]}\n" % (_HEAD, b",".join(map(_item, lines)))
            await self._target.post_patiently(body, self._options.initial_backoff, always=True)
            return True
        except BackendError as error:
            self._lost += len(lines)
            log.error("%d audit events are lost: %s", len(lines), error)
            return False
        except BaseException:
            self._lost += len(lines)
            raise
        finally:
            self._bytes -= sum(map(len, lines))


async def _settled(sending: set[asyncio.Task[bool]], last: asyncio.Task[bool] | None) -> bool:
    if sending:
        await asyncio.wait(sending)
    return last is not None and not last.cancelled() and last.result()


def _item(line: bytes) -> bytes:
    return b"{" + line[len(_ITEM_HEAD) : -1] if line.startswith(_ITEM_HEAD) else line[:-1]
