"""Moving the write-ahead log into the database file, beside the writes."""

from __future__ import annotations

import logging
import sqlite3
from typing import Any

from watchkeeper.aio.workers import Workers

log = logging.getLogger(__name__)

CHECKPOINT_BYTES = 4 * 1024 * 1024
"""How much is written, about, between two checkpoints."""

RESTART_PAGES = 8192
"""A log longer than this is finished by the writer itself, so that it starts over: others never catch up with it."""


class Checkpointer:
    """Checkpoints in a thread of its own, which blocks neither writes nor reads."""

    def __init__(self, own: Workers[sqlite3.Connection], writer: Workers[sqlite3.Connection]) -> None:
        self._own = own
        self._writer = writer
        self._written = 0
        self._running = False
        self._closed = False

    def wrote(self, size: int) -> None:
        """About `size` bytes were written; start a checkpoint when it is time."""
        self._written += size
        if self._written >= CHECKPOINT_BYTES and not self._running and not self._closed:
            self._written = 0
            self._running = True
            self._own.submit(checkpoint, self._done)

    def _done(self, pages: Any, error: BaseException | None) -> None:
        self._running = False
        if error is not None:
            log.warning("a checkpoint failed; the write-ahead log grows until one succeeds: %s", error)
        elif pages > RESTART_PAGES and not self._closed:
            self._running = True
            self._writer.submit(checkpoint, self._finished)

    def _finished(self, _: Any, error: BaseException | None) -> None:
        self._running = False
        if error is not None:
            log.warning("a checkpoint failed; the write-ahead log grows until one succeeds: %s", error)

    async def close(self) -> None:
        """Start no more checkpoints, and wait for the one that runs."""
        self._closed = True
        await self._own.close()


def checkpoint(connection: sqlite3.Connection) -> int:
    """Copy what no reader still needs in the log; return the log's length in pages."""
    _, pages, _ = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    return int(pages)
