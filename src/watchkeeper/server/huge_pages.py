"""The heap of a server in huge pages.

A server's memory is many small objects, of which a request needs a few, wherever they are. With pages of 4 KiB nearly
every one of them needs an entry that the processor's buffer of addresses does not hold; in a virtual machine looking it
up costs more than the reading. So the system is told that the heap is to be in huge pages before it is used
(`GrowingHeap`), and to join the pages of what was used before, or is not in that heap (MADV_COLLAPSE, since Linux 6.1).
"""

from __future__ import annotations

import asyncio
import mmap
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from watchkeeper.aio.clock import SYSTEM_CLOCK, Clock
from watchkeeper.aio.tasks import TaskOwner
from watchkeeper.server.heap import HUGE, GrowingHeap, join_heap

GROWTH = 8 << 20
"""The pages of the heap are joined again when it has become larger by so many bytes."""
INTERVAL = 2.0
"""Seconds between two looks at how large the process is and what it does."""
GROWING_INTERVAL = 0.25
"""Seconds until a heap that has grown is told of again, which is to be ahead of its use."""
STILL_GROWING = 40
"""So many times in a row it is looked at so soon: it grows by a RESERVE at a time, which takes seconds to fill."""
REST = 0.01
"""Who uses less of a processor than this share has time for joining pages, which copies them."""
PATIENCE = 300.0
"""Seconds that joining is put off at most."""

_SETTING = Path("/sys/kernel/mm/transparent_hugepage/enabled")
_SIZE = Path("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size")
_STATM = Path("/proc/self/statm")


class HugePages:
    """Keeps the heap of this process in huge pages while it grows.

    Freed memory is given back as before. What is resident grows by the holes between what is used: some mebibytes.
    """

    __slots__ = ("_at", "_clock", "_cpu", "_cpu_time", "_joined", "_stopped", "_wanted")

    def __init__(self, clock: Clock = SYSTEM_CLOCK, *, cpu_time: Callable[[], float] = time.process_time) -> None:
        """`cpu_time` tells the seconds of processors that this process has used."""
        self._clock = clock
        self._cpu_time = cpu_time
        self._at, self._cpu = clock.monotonic(), cpu_time()
        """When the last look was, and what had been used of processors by then."""
        self._joined = 0
        """The smallest size since the heap was joined."""
        self._wanted: float | None = None
        """Since when joining is put off."""
        self._stopped = threading.Event()

    async def keep(self) -> None:
        """Look at the heap now and again and again. Returns at once where the system has no huge pages."""
        if not offered():
            return
        tasks = TaskOwner("huge-pages")
        tasks.start("ahead", self._keep_ahead(GrowingHeap()))
        try:
            while True:
                await self.look()
                await self._clock.sleep(INTERVAL)
        finally:
            self._stopped.set()
            await tasks.close()

    async def _keep_ahead(self, heap: GrowingHeap) -> None:
        quick = 0
        while True:
            quick = STILL_GROWING if heap.advise() else max(quick - 1, 0)
            await self._clock.sleep(GROWING_INTERVAL if quick else INTERVAL)

    async def look(self) -> None:
        """Join the heap's pages, in a thread, if it has grown by GROWTH since it was smallest after the last time.

        Not while the process is busy, for PATIENCE at most: who writes then would have to wait, for a processor and for
        the map of the memory.
        """
        at_rest = self._at_rest()
        size = _resident()
        if size < self._joined + GROWTH:
            self._joined = min(self._joined, size)
            self._wanted = None
            return
        if not at_rest and self._joined:
            if self._wanted is None:
                self._wanted = self._at
            if self._at < self._wanted + PATIENCE:
                return
        self._wanted = None
        await asyncio.to_thread(join_heap, self._stopped)
        self._joined = _resident()

    def _at_rest(self) -> bool:
        """Whether little was done since the last look."""
        now, cpu = self._clock.monotonic(), self._cpu_time()
        took, used = now - self._at, cpu - self._cpu
        self._at, self._cpu = now, cpu
        return used <= REST * took


def offered() -> bool:
    """Whether the system makes huge pages of 2 MiB for those who ask: Linux, unless it is set to `never`."""
    if sys.platform != "linux":
        return False
    try:
        return "[never]" not in _SETTING.read_text() and int(_SIZE.read_text()) == HUGE
    except (OSError, ValueError):
        return False


def _resident() -> int:
    """Bytes of this process that are in memory; 0 where /proc does not tell."""
    try:
        return int(_STATM.read_text().split()[1]) * mmap.PAGESIZE
    except OSError:
        return 0
