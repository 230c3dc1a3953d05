"""What the operating system knows of this process, under the names that Prometheus clients use."""

from __future__ import annotations

import platform
import resource
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from watchkeeper.endpoints.metrics import Family, Sample
from watchkeeper.server.version import version_info

_STARTED = time.time()
_PROC = Path("/proc/self")
START_HEADER = (b"process-start-time-unix", b"%d" % _STARTED)
"""By which a scraper learns that a process is another one."""
_PAGE = resource.getpagesize()


def collect() -> Iterator[Family]:
    """CPU, memory, descriptors, start time, and which program this is. What the system does not tell is left out."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    yield _one("process_cpu_seconds_total", "counter", "User and system CPU time.", usage.ru_utime + usage.ru_stime)
    yield _one("process_start_time_seconds", "gauge", "When the process started, in Unix time.", _STARTED)
    memory = _memory()
    if memory is not None:
        yield _one("process_virtual_memory_bytes", "gauge", "Virtual memory.", memory[0])
        yield _one("process_resident_memory_bytes", "gauge", "Resident memory.", memory[1])
    descriptors = _open_descriptors()
    if descriptors is not None:
        yield _one("process_open_fds", "gauge", "Open file descriptors.", descriptors)
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    yield _one("process_max_fds", "gauge", "The most file descriptors that may be open.", float(limit))
    python = (("implementation", sys.implementation.name), ("version", platform.python_version()))
    yield Family("python_info", "gauge", "The Python that runs.", [Sample(1, python)])
    info = version_info()
    labels = tuple((_snake(name), info[name]) for name in ("major", "minor", "gitVersion", "platform", "compiler"))
    yield Family("kubernetes_build_info", "gauge", "The version that is served.", [Sample(1, labels)])


def _one(name: str, kind: str, text: str, value: float) -> Family:
    return Family(name, kind, text, [Sample(value)])


def _memory() -> tuple[int, int] | None:
    try:
        size, resident = (_PROC / "statm").read_text().split()[:2]
    except OSError:
        return None
    return int(size) * _PAGE, int(resident) * _PAGE


def _open_descriptors() -> int | None:
    try:
        return sum(1 for _ in (_PROC / "fd").iterdir())
    except OSError:
        return None


def _snake(name: str) -> str:
    return "".join(f"_{ch.lower()}" if ch.isupper() else ch for ch in name)
