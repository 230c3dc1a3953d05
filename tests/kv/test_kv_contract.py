"""The KV contract, case by case, over every backend."""

import asyncio
from pathlib import Path

import pytest

from watchkeeper.kv.interface import KV
from watchkeeper.kv.memory import MemoryKV
from watchkeeper.kv.sqlite import SQLiteKV
from watchkeeper.testing.clock import FastClock
from watchkeeper.testing.kv_suite import CASES, Case, case_name


async def prove(case: Case, kv: KV) -> None:
    try:
        await case(kv)
    finally:
        await kv.close()


@pytest.mark.parametrize("case", CASES, ids=case_name)
def test_memory(case: Case) -> None:
    async def run() -> None:
        await prove(case, MemoryKV(clock=FastClock(speed=20)))

    asyncio.run(run())


@pytest.mark.parametrize("case", CASES, ids=case_name)
def test_sqlite(case: Case, tmp_path: Path) -> None:
    async def run() -> None:
        await prove(case, SQLiteKV.open(tmp_path / "store.db", synchronous="OFF", clock=FastClock(speed=20)))

    asyncio.run(run())
