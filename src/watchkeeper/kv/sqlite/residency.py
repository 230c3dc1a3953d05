"""Whether reading a file needs the disk, or only the memory that the system already keeps of it."""

from __future__ import annotations

import ctypes
import functools
import mmap
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

_CACHESTAT = 451
"""The number of cachestat(2) on every architecture of Linux, since 6.5."""

LASTING = 0.5
"""For so many seconds an answer is believed: what was read or written lately is the last that the system gives up."""


class _Range(ctypes.Structure):
    _fields_ = (("offset", ctypes.c_uint64), ("length", ctypes.c_uint64))


class _Pages(ctypes.Structure):
    _fields_ = tuple(
        (name, ctypes.c_uint64) for name in ("cached", "dirty", "writeback", "evicted", "recently_evicted")
    )


@functools.cache
def _syscall() -> Callable[..., int] | None:
    if sys.platform != "linux":
        return None
    call = ctypes.CDLL(None, use_errno=True).syscall
    call.restype = ctypes.c_long
    return call


def is_resident(paths: Iterable[Path]) -> bool:
    """Whether the system has every page of these files in memory; a file that does not exist has none.

    False also where the system cannot tell. Takes time in proportion to the files, some milliseconds for a gigabyte,
    but never waits for the disk's contents.
    """
    call = _syscall()
    return call is not None and all(_is_resident(call, path) for path in paths)


def _is_resident(call: Callable[..., int], path: Path) -> bool:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    try:
        pages = _Pages()
        size = os.fstat(descriptor).st_size
        everything = _Range(0, 0)  # a length of zero reaches to the end
        if call(_CACHESTAT, descriptor, ctypes.byref(everything), ctypes.byref(pages), 0):
            return False
        return int(pages.cached) >= -(-size // mmap.PAGESIZE)
    finally:
        os.close(descriptor)


class Residency:
    """What is known of the residency of a store's files. `look` may take a while; `holds` costs nothing."""

    __slots__ = ("_paths", "_until")

    def __init__(self, paths: Iterable[Path]) -> None:
        self._paths = tuple(paths)
        self._until = 0.0

    def look(self, now: float) -> None:
        """Find out, at `now` seconds of any clock that does not go back. For a thread that may wait."""
        self._until = now + LASTING if is_resident(self._paths) else 0.0

    def holds(self, now: float) -> bool:
        """Whether all of it was in memory when looked at lately."""
        return now < self._until
