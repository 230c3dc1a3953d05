"""Every storage and watch case, over every key-value store, with and without the cache."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from watchkeeper.kv.memory import MemoryKV
from watchkeeper.kv.sqlite import SQLiteKV
from watchkeeper.testing import storage_suite, watch_suite
from watchkeeper.testing.clock import FastClock
from watchkeeper.testing.storage_suite import Case, Rig, case_name, prove

CASES = storage_suite.CASES + watch_suite.CASES


@pytest.mark.parametrize("case", CASES, ids=case_name)
@pytest.mark.parametrize("cached", [False, True], ids=["store", "cacher"])
def test_memory(case: Case, cached: bool) -> None:
    async def run() -> None:
        clock = FastClock(speed=20)
        await prove(case, Rig(MemoryKV(clock=clock), cached=cached, clock=clock))

    asyncio.run(run())


@pytest.mark.parametrize("case", CASES, ids=case_name)
@pytest.mark.parametrize("cached", [False, True], ids=["store", "cacher"])
def test_sqlite(case: Case, cached: bool, tmp_path: Path) -> None:
    async def run() -> None:
        clock = FastClock(speed=20)
        kv = SQLiteKV.open(tmp_path / "store.db", synchronous="OFF", clock=clock)
        await prove(case, Rig(kv, cached=cached, clock=clock))

    asyncio.run(run())
