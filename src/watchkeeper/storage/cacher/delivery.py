"""Giving queued events to readers that wait for them: many in one go, none of them woken."""

from __future__ import annotations

import asyncio
import logging
from typing import Protocol

log = logging.getLogger(__name__)

_AT_A_TIME = 64
"""After so many receivers the event loop has a turn, in which others are read from and answered."""
_BEFORE_AUTHORS = 16
"""So many are served before the author of a change is answered. Were it all, events for crowds would not be bundled."""


class Receiver(Protocol):
    """Somebody for whom something is queued."""

    def deliver(self) -> None:
        """Hand over what is queued. Must not wait, and must not raise."""
        ...


class Delivery:
    """Receivers that are due, in the order in which they became so; served in the loop's next rounds.

    Not at once: what a batch of changes brings is handed over together, and whoever dispatches waits for nobody. Who
    has made a change can have the first ones served, so that they hear of it before its author is answered.
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

    def flush(self) -> None:
        """Serve the first of those who are due now."""
        if self._due:
            self._serve(_BEFORE_AUTHORS)

    def _run(self) -> None:
        self._serve(_AT_A_TIME)
        if self._due:
            asyncio.get_running_loop().call_soon(self._run)
        else:
            self._scheduled = False

    def _serve(self, at_most: int) -> None:
        due = self._due
        self._due = due[at_most:]
        del due[at_most:]
        for receiver in due:
            try:
                receiver.deliver()
            except Exception:
                # One that fails must not cost the others their events: they are not due again before they are served.
                log.exception("delivering to %r failed", receiver)
