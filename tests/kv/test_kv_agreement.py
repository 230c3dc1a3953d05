"""All stores give the same answers, revisions and events to the same random programs."""

import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from etcd_fixtures import empty_store
from etcd_fixtures import run as run_on_shared_loop
from hypothesis import HealthCheck, given, settings
from kv_programs import Run, Side, Step, programs

from watchkeeper.kv.interface import KV
from watchkeeper.kv.memory import MemoryKV
from watchkeeper.kv.sqlite import SQLiteKV
from watchkeeper.kv.sqlite.maintenance import check
from watchkeeper.testing.etcd import find_etcd


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(programs)
def test_sqlite_agrees_with_memory(program: Sequence[Step]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.db"

        async def restart(kv: KV) -> KV:
            await kv.close()
            return SQLiteKV.open(path, synchronous="OFF")

        async def run() -> None:
            sides = [Side("memory", MemoryKV()), Side("sqlite", SQLiteKV.open(path, synchronous="OFF"), restart)]
            try:
                await Run(sides).play(program)
            finally:
                for side in sides:
                    await side.kv.close()

        asyncio.run(run())
        assert check(path) == []


@pytest.mark.etcd
@pytest.mark.skipif(find_etcd() is None, reason="there is no etcd here")
@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs)
def test_etcd_agrees_with_memory(program: Sequence[Step]) -> None:
    async def play() -> None:
        sides = [Side("memory", MemoryKV()), Side("etcd", await empty_store())]
        try:
            await Run(sides).play(program)
        finally:
            for side in sides:
                await side.kv.close()

    run_on_shared_loop(play())
