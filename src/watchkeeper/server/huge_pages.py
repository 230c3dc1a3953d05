"""The heap of a server in huge pages.

A server's memory is many small objects, of which a request needs a few, wherever they are. With pages of 4 KiB nearly
every one of them needs an entry that the processor's buffer of addresses does not hold; in a virtual machine looking it
up costs more than the reading. Python asks for memory by the mebibyte, too little for the system to make huge pages by
itself, so it is told to join them (madvise(2), MADV_COLLAPSE, since Linux 6.1; before that MADV_HUGEPAGE lets it do so
when it finds time).
"""

from __future__ import annotations

import asyncio
import contextlib
import mmap
import re
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from watchkeeper.aio.clock import SYSTEM_CLOCK, Clock

HUGE = 2 << 20
"""Bytes of a huge page. Larger ones, of other architectures, are not asked for."""
GROWTH = 8 << 20
"""The heap is looked at again when it has become larger by so many bytes."""
INTERVAL = 2.0
"""Seconds between two looks at the size of the process."""
QUIET = 1 << 20
"""Who grows by no more than that from one look to the next is not busy with what joining pages would hold up."""
PATIENCE = 15
"""So many looks in a row joining is put off at most."""

_PAUSES = 9
"""So many times as long as a page has taken others have the processor: a gibibyte takes some ten seconds."""
_WORTH_A_PAUSE = 0.0002
"""Seconds that it takes to join a page, and not those that are joined already."""
_MADV_HUGEPAGE = 14
_MADV_COLLAPSE = 25
_LARGEST_GUARD = 1 << 16
_SETTING = Path("/sys/kernel/mm/transparent_hugepage/enabled")
_SIZE = Path("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size")
_STATM = Path("/proc/self/statm")
_MAPS = Path("/proc/self/maps")
_MAPPING = re.compile(r"([0-9a-f]+)-([0-9a-f]+) (\S+) \S+ \S+ (\d+)\s*(\S*)")


class HugePages:
    """Keeps the heap of this process in huge pages while it grows.

    Freed memory is given back as before. What is resident grows by the holes between what is used: some mebibytes.
    """

    __slots__ = ("_clock", "_joined", "_put_off", "_seen", "_stopped")

    def __init__(self, clock: Clock = SYSTEM_CLOCK) -> None:
        self._clock = clock
        self._seen: int | None = None
        """The size at the last look."""
        self._joined = 0
        """The smallest size since the heap was joined."""
        self._put_off = 0
        self._stopped = threading.Event()

    async def keep(self) -> None:
        """Look at the heap now and again and again. Returns at once where the system has no huge pages."""
        if not offered():
            return
        try:
            while True:
                await self.look()
                await self._clock.sleep(INTERVAL)
        finally:
            self._stopped.set()

    async def look(self) -> None:
        """Join the heap's pages, in a thread, if it has grown by GROWTH since it was smallest after the last time.

        Not while it grows: whoever writes then would have to wait, for a processor and for the map of the memory.
        """
        size = _resident()
        grown = size - self._seen if self._seen is not None else 0
        self._seen = size
        if size < self._joined + GROWTH:
            self._joined = min(self._joined, size)
            self._put_off = 0
            return
        if grown > QUIET and self._put_off < PATIENCE:
            self._put_off += 1
            return
        self._put_off = 0
        await asyncio.to_thread(join_heap, self._stopped)
        self._joined = self._seen = _resident()


def offered() -> bool:
    """Whether the system makes huge pages of 2 MiB for those who ask: Linux, unless it is set to `never`."""
    if sys.platform != "linux":
        return False
    try:
        return "[never]" not in _SETTING.read_text() and int(_SIZE.read_text()) == HUGE
    except (OSError, ValueError):
        return False


def join_heap(stopped: threading.Event) -> None:
    """Have the pages of the heap joined, until `stopped`.

    Copies what is not joined yet, without the interpreter's lock, a tenth of the time.
    What the system refuses stays as it is: it may have no memory in pieces of that size.
    """
    import ctypes  # once the server has started

    madvise = ctypes.CDLL(None).madvise
    madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    with contextlib.suppress(OSError), _MAPS.open(errors="replace") as maps:
        for start, end in list(heap(maps)):
            madvise(start, end - start, _MADV_HUGEPAGE)
            for page in range(start, end, HUGE):
                began = time.monotonic()
                madvise(page, HUGE, _MADV_COLLAPSE)
                took = time.monotonic() - began
                if took > _WORTH_A_PAUSE and stopped.wait(took * _PAUSES):
                    return


def heap(maps: Iterable[str]) -> Iterator[tuple[int, int]]:
    """The addresses of whole huge pages of memory that holds objects, from the lines of /proc/self/maps.

    Stacks of threads are left out: they lie above a small guard page, and are mostly unused.
    """
    guard = 0
    for line in maps:
        mapping = _MAPPING.match(line)
        if mapping is None:
            continue
        start, end = int(mapping[1], 16), int(mapping[2], 16)
        if mapping[3].startswith("---"):
            guard = end if end - start <= _LARGEST_GUARD else 0
            continue
        if mapping[3] == "rw-p" and mapping[4] == "0" and mapping[5] in ("", "[heap]") and start != guard:
            first, last = -(-start // HUGE) * HUGE, end // HUGE * HUGE
            if first < last:
                yield first, last


def _resident() -> int:
    """Bytes of this process that are in memory; 0 where /proc does not tell."""
    try:
        return int(_STATM.read_text().split()[1]) * mmap.PAGESIZE
    except OSError:
        return 0
