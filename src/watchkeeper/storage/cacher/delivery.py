"""Giving queued events to readers that wait for them: many in one go, none of them woken."""

from __future__ import annotations

import asyncio
import logging
from typing import Protocol

log = logging.getLogger(__name__)

_AT_A_TIME = 64
"""After so many receivers the event loop has a turn, in which others are read from and answered."""


class Receiver(Protocol):
    """Somebody for whom something is queued."""

    def deliver(self) -> None:
        """Hand over what is queued. Must not wait, and must not raise."""
        ...


class Delivery:
    """Receivers that are due, in the order in which they became so; served in the loop's next rounds.

    Not at once: what a batch of changes brings is handed over together, and whoever made the changes waits for nobody.
    """

    def __init__(self) -> None:
        self._due: list[Receiver] = []
        self._scheduled = False

    def __repr__(self) -> str:
        return f"<Delivery to {len(self._due)} receivers>"

    def add(self, receiver: Receiver) -> None:
        """Something has been queued for a receiver for whom nothing was. Needs a running event loop."""
        self._due.append(receiver)
        if not self._scheduled:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._run)

    def _run(self) -> None:
        due = self._due
        if len(due) > _AT_A_TIME:
            self._due = due[_AT_A_TIME:]
            del due[_AT_A_TIME:]
            asyncio.get_running_loop().call_soon(self._run)
        else:
            self._due = []
            self._scheduled = False
        for receiver in due:
            try:
                receiver.deliver()
            except Exception:
                # One that fails must not cost the others their events: they are not due again before they are served.
                log.exception("delivering to %r failed", receiver)
