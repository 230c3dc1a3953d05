"""Forgetting history, and giving its room back, a little at a time.

Compaction at revision c first moves the bound below which nobody may read; that is one durable record. Then the rows
are removed step by step, in revision order: the write of revision r removes the row it replaced, and itself if it is a
deletion. So each step knows what to do from the rows it looks at, and one number says how far it has come.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import time
from collections.abc import Callable
from functools import partial

from watchkeeper.aio.clock import Clock
from watchkeeper.aio.tasks import TaskOwner
from watchkeeper.aio.workers import Workers
from watchkeeper.kv.errors import Compacted, FutureRevision
from watchkeeper.kv.sqlite.committer import Committer
from watchkeeper.kv.sqlite.watching import WatchHub
from watchkeeper.kv.sqlite.writing import roll_back

log = logging.getLogger(__name__)

STEP_ROWS = 200
"""Revisions that one step looks at in the beginning; then as many as take about STEP_SECONDS."""

STEP_SECONDS = 0.005
"""How long a step may keep writes waiting, about."""

VACUUM_PAGES = 64
"""Free pages that one step gives back to the file system."""


def remove_history(connection: sqlite3.Connection, rows: int) -> bool:
    """Remove what compaction allows, looking at the next `rows` revisions. False when nothing is left to do."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        compact_revision, through = connection.execute(
            "SELECT compact_revision, compacted_through FROM meta"
        ).fetchone()
        [newest] = connection.execute("SELECT coalesce(max(revision), 1) FROM log").fetchone()
        # The newest row stays, even a deletion's: it says what the store's revision is. A later compaction gets it.
        last = min(compact_revision, newest - 1)
        upto = min(through + rows, last)
        if upto > through:
            connection.execute(
                "DELETE FROM log WHERE revision IN "
                "(SELECT prev_revision FROM log WHERE revision > ? AND revision <= ? AND prev_revision > 0)",
                (through, upto),
            )
            connection.execute("DELETE FROM log WHERE revision > ? AND revision <= ? AND version = 0", (through, upto))
            connection.execute("UPDATE meta SET compacted_through = ?", (upto,))
        connection.execute("COMMIT")
    except BaseException:
        roll_back(connection)
        raise
    return bool(upto < last)


def return_pages(connection: sqlite3.Connection, pages: int) -> bool:
    """Give up to `pages` free pages back if far too many are free. False when nothing is left to do.

    Some stay: a store that is compacted every few minutes needs them again at once.
    """
    [free] = connection.execute("PRAGMA freelist_count").fetchone()
    [total] = connection.execute("PRAGMA page_count").fetchone()
    excess = free - max(1024, (total - free) // 2)
    if excess <= 0:
        return False
    # Not execute: the pragma frees one page for each step, and execute takes one step of what returns no columns.
    connection.executescript(f"PRAGMA incremental_vacuum({min(pages, excess)})")
    return bool(excess > pages)


class Compactor:
    """Moves the bound on demand and removes rows behind it in the background."""

    def __init__(
        self,
        committer: Committer,
        writer: Workers[sqlite3.Connection],
        hub: WatchHub,
        tasks: TaskOwner,
        clock: Clock,
        *,
        compact_revision: int,
        wrote: Callable[[int], None],
    ) -> None:
        """`wrote` is told about how many bytes each step made the write-ahead log grow."""
        self._wrote = wrote
        self._committer = committer
        self._writer = writer
        self._hub = hub
        self._tasks = tasks
        self._clock = clock
        self._running: asyncio.Task[None] | None = None
        self._again = False
        self.compact_revision = compact_revision

    def start(self) -> None:
        """Remove what an earlier compaction left. Needs a running event loop."""
        self._again = True
        if self._running is None or self._running.done():
            self._running = self._tasks.start("compact", self._work())

    async def compact(self, revision: int) -> None:
        """Move the bound to `revision`, durably. Raises Compacted, FutureRevision."""
        if revision <= self.compact_revision:
            raise Compacted(self.compact_revision)
        if revision > self._hub.published:
            raise FutureRevision(self._hub.published)

        def moved() -> None:
            self.compact_revision = max(revision, self.compact_revision)
            self.start()

        await self._committer.record("UPDATE meta SET compact_revision = max(?, compact_revision)", (revision,), moved)

    async def finished(self) -> None:
        """Wait until the rows are removed and the room is given back, for the present."""
        while self._running is not None and not self._running.done():
            await asyncio.wait([self._running])

    async def _work(self) -> None:
        rows = STEP_ROWS
        while self._again:
            self._again = False
            try:
                more = True
                while more:
                    more, took = await self._writer.run(partial(_timed, rows=rows))
                    self._wrote(rows * 4096)
                    rows = max(20, min(5000, int(rows * min(2.0, STEP_SECONDS / max(took, 1e-6)))))
                    await self._clock.sleep(took)
                while await self._writer.run(lambda connection: return_pages(connection, VACUUM_PAGES)):
                    self._wrote(VACUUM_PAGES * 4096)
                    await self._clock.sleep(STEP_SECONDS)
            except sqlite3.Error as error:
                log.warning("compaction stopped and goes on with the next one: %s", error)


def _timed(connection: sqlite3.Connection, *, rows: int) -> tuple[bool, float]:
    start = time.monotonic()
    more = remove_history(connection, rows)
    return more, time.monotonic() - start
