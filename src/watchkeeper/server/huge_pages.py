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
from collections.abc import Iterable, Iterator
from pathlib import Path

from watchkeeper.aio.clock import SYSTEM_CLOCK, Clock

HUGE = 2 << 20
"""Bytes of a huge page. Larger ones, of other architectures, are not asked for."""
GROWTH = 8 << 20
"""The heap is looked at again when it has become larger by so many bytes."""
INTERVAL = 2.0
"""Seconds between two looks at the size of the process."""

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

    __slots__ = ("_clock", "_size")

    def __init__(self, clock: Clock = SYSTEM_CLOCK) -> None:
        self._clock = clock
        self._size = 0

    async def keep(self) -> None:
        """Look at the heap now and again and again. Returns at once where the system has no huge pages."""
        if not offered():
            return
        while True:
            await self.look()
            await self._clock.sleep(INTERVAL)

    async def look(self) -> None:
        """Join the heap's pages, in a thread, if it has grown by GROWTH since it was smallest after the last time."""
        size = _resident()
        if size < self._size + GROWTH:
            self._size = min(self._size, size)
            return
        await asyncio.to_thread(join_heap)
        self._size = _resident()


def offered() -> bool:
    """Whether the system makes huge pages of 2 MiB for those who ask: Linux, unless it is set to `never`."""
    if sys.platform != "linux":
        return False
    try:
        return "[never]" not in _SETTING.read_text() and int(_SIZE.read_text()) == HUGE
    except (OSError, ValueError):
        return False


def join_heap() -> None:
    """Have the pages of the heap joined.

    Copies what is not joined yet, at about 1 GB/s and without the interpreter's lock. What the system refuses stays as
    it is: it may have no memory in pieces of that size.
    """
    import ctypes  # once the server has started

    madvise = ctypes.CDLL(None).madvise
    madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    with contextlib.suppress(OSError), _MAPS.open(errors="replace") as maps:
        for start, end in list(heap(maps)):
            madvise(start, end - start, _MADV_HUGEPAGE)
            madvise(start, end - start, _MADV_COLLAPSE)


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
