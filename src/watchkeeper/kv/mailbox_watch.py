"""What the watches of all stores have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TypeVar

from watchkeeper.aio.mailbox import Mailbox
from watchkeeper.kv.interface import WatchBatch

W = TypeVar("W", bound="MailboxWatch")


class MailboxWatch(ABC):
    """A watch whose store puts the batches into a mailbox. Implements `interface.Watch`."""

    __slots__ = ("_taken", "after_revision", "mailbox", "prefix", "prev_kv")

    def __init__(self, prefix: bytes, after_revision: int, prev_kv: bool) -> None:
        self.prefix = prefix
        self.after_revision = after_revision
        self.prev_kv = prev_kv
        self.mailbox: Mailbox[WatchBatch] = Mailbox()
        self._taken = 0

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.prefix!r} after {self.after_revision}: {self.mailbox!r}>"

    def __aiter__(self: W) -> W:
        return self

    async def __anext__(self) -> WatchBatch:
        """Wait for the next batch."""
        batch = await self.mailbox.take()
        self._taken = batch.revision
        self._took()
        return batch

    def take_nowait(self) -> WatchBatch | None:
        """The next batch if one is there. None after `close()`."""
        try:
            batch = self.mailbox.take_nowait()
        except StopAsyncIteration:
            return None
        if batch is not None:
            self._taken = batch.revision
            self._took()
        return batch

    def delivered_revision_nowait(self) -> int | None:
        """The revision reached when nothing waits, else the last one before what waits; None when nobody knows."""
        waiting = self.mailbox.items
        if waiting:
            first = waiting[0]
            return first.events[0].kv.mod_revision - 1 if first.events else first.revision
        return self._taken if self.mailbox.closed else self._reached()

    def is_current_nowait(self) -> bool:
        """Whether nothing waits, where the mailbox has all that was acknowledged."""
        mailbox = self.mailbox
        return not (mailbox.items or mailbox.closed)

    async def close(self) -> None:
        """End the stream and drop what waits. Idempotent."""
        self._forget()
        self.mailbox.close(StopAsyncIteration(), discard=True)

    def end(self, error: Exception) -> None:
        """Take no more events; the consumer gets `error` behind what waits."""
        self._forget()
        self.mailbox.close(error)

    @abstractmethod
    def _reached(self) -> int | None:
        """Up to which revision everything has been put into the mailbox; None when only a round trip could tell."""

    @abstractmethod
    def _forget(self) -> None:
        """Tell the store that nothing is to be delivered any more."""

    def _took(self) -> None:  # noqa: B027  (most have nothing to do)
        """The consumer has taken a batch."""
