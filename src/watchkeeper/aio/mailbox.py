"""A queue between one place that never waits and one task that does."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Generic, TypeVar

T = TypeVar("T")


class Mailbox(Generic[T]):
    """Items in the order they were put, for one consumer.

    Putting never waits and never runs the consumer; a full mailbox refuses. A closed mailbox first hands out what it
    still holds, then raises the error it was closed with, again and again. A cancelled `take` loses nothing.
    """

    __slots__ = ("_capacity", "_error", "_waiter", "closed", "items")

    def __init__(self, *, capacity: int = 0) -> None:
        """`capacity` 0 means that there is no bound."""
        self.items: deque[T] = deque()
        """What waits. Read it, but put and take through the methods."""
        self._capacity = capacity
        self.closed = False
        """Whether nothing can be put any more."""
        self._waiter: asyncio.Future[None] | None = None
        """Of whoever waits; one that is done is nobody's any more."""
        self._error: BaseException | None = None

    def __repr__(self) -> str:
        state = f"closed by {self._error!r}" if self._error is not None else "open"
        return f"<Mailbox {state}, {len(self.items)} waiting>"

    def __len__(self) -> int:
        return len(self.items)

    def put_nowait(self, item: T) -> bool:
        """Add `item`. False, and nothing added, when the mailbox is full or closed."""
        if self._error is not None or (self._capacity and len(self.items) >= self._capacity):
            return False
        self.items.append(item)
        self._wake()
        return True

    def take_nowait(self) -> T | None:
        """The oldest item, None when there is none. Raises the closing error once all items are gone."""
        if self.items:
            return self.items.popleft()
        if self._error is not None:
            raise self._error.with_traceback(None)
        return None

    async def take(self) -> T:
        """Wait for the oldest item. Raises the closing error once all items are gone."""
        while not self.items:
            if self._error is not None:
                raise self._error.with_traceback(None)
            if self._waiter is not None and not self._waiter.done():
                raise RuntimeError("a mailbox has one consumer, and it is already waiting")
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        return self.items.popleft()

    def close(self, error: BaseException, *, discard: bool = False) -> None:
        """Refuse further items and end the consumer with `error`; with `discard`, what waits is dropped.

        The first error stays.
        """
        if discard:
            self.items.clear()
        if not self.closed:
            self.closed, self._error = True, error
            self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
