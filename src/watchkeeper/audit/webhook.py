"""Sends audit events to a webhook: one by one while answers wait, or many at a time when nobody does."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from watchkeeper.aio.clock import SYSTEM_CLOCK, Clock
from watchkeeper.audit import sinks
from watchkeeper.audit.batches import Batches, BatchOptions
from watchkeeper.webhook.backend import BackendError

log = logging.getLogger(__name__)

_HEAD = b'{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":['
_ITEM_HEAD = b'{"kind":"Event","apiVersion":"audit.k8s.io/v1",'
"""What an event alone begins with, and one in a list does not."""
_FLUSH_SECONDS = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookOptions(BatchOptions):
    """How events are sent. Times in seconds; what is of batches counts in mode `batch` alone."""

    mode: str = "batch"
    """One of `sinks.MODES`."""
    initial_backoff: float = 10.0
    """How long after a failure the next attempt comes; each time it is half as much longer."""


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
        self.blocking = options.mode != "batch"
        self.strict = options.mode == "blocking-strict"
        self._batches = Batches("audit-webhook", options, self._send_batch, clock)
        self._bytes = 0
        """Of events that wait or are on their way."""
        self._sending: set[asyncio.Task[bool]] = set()
        self._last: asyncio.Task[bool] | None = None
        self._closed = False
        self._lost = 0
        self._overflowed = 0

    def __repr__(self) -> str:
        return f"<AuditWebhook {self._options.mode}: {len(self._batches)} waiting, {len(self._sending)} under way>"

    def start(self) -> None:
        """Begin to send."""
        if not self.blocking:
            self._batches.start()

    def write(self, line: bytes) -> None:
        """Take an event, a line of JSON."""
        too_many = not self.blocking and self._batches.full
        if self._closed or too_many or self._bytes + len(line) > sinks.MAX_WAITING:
            self._overflowed += 1
            self._last = None
            return
        self._bytes += len(line)
        if self.blocking:
            self._last = self._send((line,))
            return
        self._batches.add(line)

    def written(self) -> Awaitable[bool]:
        """Wait until all that was taken so far is sent or lost; whether what was taken last could be sent."""
        return _settled(set(self._sending), self._last)

    def errors(self) -> Mapping[str, int]:
        """How many events could not be sent, and how many there was no room for."""
        return {"webhook": self._lost, "buffered": self._overflowed}

    async def close(self) -> None:
        """Send what is left, for a while."""
        self._closed = True
        await self._batches.stop()
        try:
            async with asyncio.timeout(_FLUSH_SECONDS):
                await self._batches.give_rest()
                if self._sending:
                    await asyncio.wait(set(self._sending))
        except TimeoutError:
            left = sorted(self._sending, key=id)
            for task in left:
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True)
            self._lost += len(self._batches)
            log.error("the audit webhook has not taken everything before the end")
        self._target.close()

    async def _send_batch(self, lines: Sequence[bytes]) -> None:
        self._send(lines)

    def _send(self, lines: Sequence[bytes]) -> asyncio.Task[bool]:
        # Not of a TaskOwner, whose tasks end before what is under way has arrived.
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
