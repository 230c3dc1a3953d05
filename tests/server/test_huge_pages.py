"""The heap of a server in huge pages, as far as the system makes them."""

import asyncio
import platform
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from watchkeeper.server import heap, huge_pages
from watchkeeper.server.heap import HUGE, RESERVE
from watchkeeper.server.huge_pages import GROWTH, INTERVAL, PATIENCE, HugePages
from watchkeeper.testing.clock import ManualClock

MAPS = """\
00400000-0041f000 r--p 00000000 fe:00 260811                             /usr/bin/python3.11
00946000-00c85000 rw-p 00545000 fe:00 260811                             /usr/bin/python3.11
01a00000-02e51000 rw-p 00000000 00:00 0                                  [heap]
7f0000000000-7f0000021000 rw-p 00000000 00:00 0
7f0000021000-7f0004000000 ---p 00000000 00:00 0
7f0004000000-7f0004500000 rw-p 00000000 00:00 0
7f0004600000-7f0004601000 ---p 00000000 00:00 0
7f0004601000-7f0004e01000 rw-p 00000000 00:00 0
7f0004f00000-7f0005400000 rw-s 00000000 00:01 77                         /dev/shm/data.db-shm
7f0005500000-7f0005b00000 rw-p 00000000 00:00 0                          [anon:arena]
7f0005b00000-7f0005f00000 r-xp 00000000 00:00 0
7ffc00000000-7ffc00800000 rw-p 00000000 00:00 0                          [stack]
"""

needs_huge_pages = pytest.mark.skipif(not huge_pages.offered(), reason="the system makes no huge pages of 2 MiB")


def test_the_heap_is_the_whole_huge_pages_of_writable_memory_without_a_name_and_no_stack() -> None:
    assert list(heap.heap(MAPS.splitlines())) == [
        (0x01A00000, 0x02E00000),
        (0x7F0004000000, 0x7F0004400000),
    ]


def test_a_mapping_without_a_whole_huge_page_is_left_alone() -> None:
    assert list(heap.heap([f"{HUGE - 4096:x}-{2 * HUGE - 4096:x} rw-p 00000000 00:00 0 "])) == []


@pytest.mark.parametrize(
    ("setting", "size", "expected"),
    [
        ("always [madvise] never\n", "2097152\n", True),
        ("[always] madvise never\n", "2097152\n", True),
        ("always madvise [never]\n", "2097152\n", False),
        ("always [madvise] never\n", "536870912\n", False),
        (None, "2097152\n", False),
    ],
)
@pytest.mark.skipif(sys.platform != "linux", reason="these are settings of Linux")
def test_the_setting_of_the_system_is_respected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting: str | None, size: str, expected: bool
) -> None:
    monkeypatch.setattr(huge_pages, "_SETTING", tmp_path / "enabled")
    monkeypatch.setattr(huge_pages, "_SIZE", tmp_path / "hpage_pmd_size")
    if setting is not None:
        (tmp_path / "enabled").write_text(setting)
    (tmp_path / "hpage_pmd_size").write_text(size)
    assert huge_pages.offered() is expected


def joined_at(monkeypatch: pytest.MonkeyPatch, looks: Sequence[tuple[float, float]]) -> list[int]:
    """In which of several looks the heap is joined.

    Each look has the size of the process, in units of GROWTH, and the share of a processor that it used before.
    """
    joined: list[int] = []
    clock = ManualClock(start=0.0)
    at, size, used = 0, 0.0, 0.0

    async def run() -> None:
        nonlocal at, size, used
        pages = HugePages(clock, cpu_time=lambda: used)
        for look, busy in looks:
            size = look
            await clock.advance(INTERVAL)
            used += busy * INTERVAL
            await pages.look()
            at += 1

    monkeypatch.setattr(huge_pages, "_resident", lambda: int(size * GROWTH))
    monkeypatch.setattr(huge_pages, "join_heap", lambda stopped: joined.append(at))
    asyncio.run(run())
    return joined


def test_the_heap_is_joined_at_first_and_when_it_has_grown(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = (5.0, 5.9, 5.95, 6.0, 6.5, 6.5, 4.0, 4.9, 5.0)
    assert joined_at(monkeypatch, [(size, 0.001) for size in sizes]) == [0, 3, 8]


def test_it_is_joined_when_the_server_has_come_to_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    assert joined_at(monkeypatch, [(5, 0.9), (7, 0.9), (9, 0.2), (9, 0.02), (9, 0.005), (9, 0.005)]) == [0, 4]


def test_what_never_comes_to_rest_is_joined_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    put_off = int(PATIENCE / INTERVAL)
    joined = joined_at(monkeypatch, [(5.0 + look, 0.9) for look in range(3 * put_off + 4)])
    assert joined == [0, put_off + 1, 2 * put_off + 2, 3 * put_off + 3]


@pytest.mark.skipif(sys.platform != "linux", reason="maps are there in Linux")
def test_names_of_files_need_not_be_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "maps").write_bytes(b"7f0000000000-7f0000400000 r--s 00000000 fe:00 7       /tmp/\xff\n")
    monkeypatch.setattr(heap, "_MAPS", tmp_path / "maps")
    heap.join_heap(threading.Event())
    assert list(heap.heap((tmp_path / "maps").read_text(errors="replace").splitlines())) == []


@needs_huge_pages
def test_memory_of_a_process_is_joined_and_keeps_what_it_held() -> None:
    program = """
import re, threading
from watchkeeper.server.heap import join_heap
held = [str(number) * 20 for number in range(300_000)]
join_heap(threading.Event())
assert held == [str(number) * 20 for number in range(300_000)]
print(re.search(r"AnonHugePages: *([0-9]+) kB", open("/proc/self/smaps_rollup").read())[1])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert int(done.stdout) * 1024 >= 8 * HUGE


@needs_huge_pages
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries have other heaps")
def test_what_a_heap_grows_by_is_in_huge_pages_from_its_first_use() -> None:
    program = """
import re
from watchkeeper.server.heap import RESERVE, GrowingHeap
heap = GrowingHeap()
grown, held = [], []
for _ in range(4):
    held += [bytes(8000) for _ in range(RESERVE // 16000)]
    grown.append(heap.advise())
    grown.append(heap.advise())
assert grown[1::2] == [False] * 4, grown
print(sum(grown), re.search(r"AnonHugePages: *([0-9]+) kB", open("/proc/self/smaps_rollup").read())[1])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    grown, huge = done.stdout.split()
    assert 2 <= int(grown) <= 3
    # The first half of each piece of addresses was used before it was told of, or not.
    assert int(huge) * 1024 >= RESERVE // 2


@needs_huge_pages
def test_a_server_that_stops_does_not_wait_for_what_is_left_to_join() -> None:
    program = """
import asyncio, threading, time
from watchkeeper.server import heap, huge_pages
heap._PAUSES = 200
held = [str(number) * 20 for number in range(500_000)]
async def run():
    task = asyncio.create_task(huge_pages.HugePages().keep())
    await asyncio.sleep(0.5)
    task.cancel()
began = time.monotonic()
asyncio.run(run())
print(time.monotonic() - began)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert float(done.stdout) < 2.0
