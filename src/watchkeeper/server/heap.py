"""What the system is told of the memory of this process, by ctypes: madvise(2), mallopt(3). Linux."""

from __future__ import annotations

import contextlib
import mmap
import re
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ctypes import CDLL

HUGE = 2 << 20
"""Bytes of a huge page. Larger ones, of other architectures, are not asked for."""
RESERVE = 32 << 20
"""So many bytes of addresses the C library asks for at a time. They cost memory when they are used."""

_PAUSES = 9
"""So many times as long as a page has taken others have the processor: a gibibyte takes some ten seconds."""
_WORTH_A_PAUSE = 0.0002
"""Seconds that it takes to join a page, and not those that are joined already."""
_LARGEST_BLOCK = 4 << 20
"""Larger blocks are mappings of their own, given back as a whole."""
_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_THRESHOLD = -1, -2, -3
_MADV_HUGEPAGE = 14
_MADV_COLLAPSE = 25
_LARGEST_GUARD = 1 << 16
_MAPS = Path("/proc/self/maps")
_MAPPING = re.compile(r"([0-9a-f]+)-([0-9a-f]+) (\S+) \S+ \S+ (\d+)\s*(\S*)")


class GrowingHeap:
    """The C library's heap, which is in huge pages from its first use where this is ahead of it.

    Its first use costs less so, and nothing is copied later. Of what is freed, RESERVE may stay with the process at the
    heap's end. Other C libraries than glibc have other heaps: these are left as they are.
    """

    __slots__ = ("_advised", "_c")

    def __init__(self) -> None:
        library = _c_library()
        self._c = library if hasattr(library, "gnu_get_libc_version") else None
        self._advised = 0
        """The heap's end at the last look."""
        if self._c is None:
            return
        # Whoever sets one of them fixes the others, which the library has adapted to what is freed before.
        self._c.mallopt(_M_TOP_PAD, RESERVE)
        self._c.mallopt(_M_TRIM_THRESHOLD, 2 * RESERVE)
        self._c.mallopt(_M_MMAP_THRESHOLD, _LARGEST_BLOCK)
        self._advised = self._end()

    def advise(self) -> bool:
        """Ask for huge pages where the heap has grown since the last look; whether it has."""
        if self._c is None:
            return False
        end = self._end()
        grown = end - self._advised
        if grown > 0:
            self._c.madvise(self._advised, grown, _MADV_HUGEPAGE)
        self._advised = end
        return grown > 0

    def _end(self) -> int:
        assert self._c is not None
        return int(self._c.sbrk(0)) // mmap.PAGESIZE * mmap.PAGESIZE


def join_heap(stopped: threading.Event) -> None:
    """Have the pages of the heap joined, until `stopped`.

    Copies what is not joined yet, without the interpreter's lock, a tenth of the time.
    What the system refuses stays as it is: it may have no memory in pieces of that size.
    """
    madvise = _c_library().madvise
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


def _c_library() -> CDLL:
    import ctypes  # once the server has started

    library = ctypes.CDLL(None)
    library.madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    library.sbrk.argtypes, library.sbrk.restype = (ctypes.c_ssize_t,), ctypes.c_void_p
    return library
