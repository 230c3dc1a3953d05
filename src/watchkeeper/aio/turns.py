"""Work that takes long, done so that whoever else is connected has a turn meanwhile."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Iterator

TURN_SECONDS = 0.004
"""For so long, and a piece of work, nobody else has a turn."""


class Turns:
    """Tells whoever works when it is time to await `asyncio.sleep(0)`."""

    __slots__ = ("_until",)

    def __init__(self) -> None:
        self._until = time.monotonic() + TURN_SECONDS

    def is_due(self) -> bool:
        """Whether the turn is over; another one begins then."""
        now = time.monotonic()
        if now < self._until:
            return False
        self._until = now + TURN_SECONDS
        return True


async def in_turns(pieces: Iterator[bytes]) -> AsyncGenerator[bytes]:
    """The pieces that are not empty. An empty one stands for work that nothing has come of yet."""
    turns = Turns()
    for piece in pieces:
        if piece:
            yield piece
        if turns.is_due():
            await asyncio.sleep(0)
