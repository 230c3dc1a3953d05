"""Compaction by one server and by several, on a clock of the test's."""

from __future__ import annotations

import asyncio

import pytest

from watchkeeper.kv.errors import Compacted
from watchkeeper.kv.memory import MemoryKV
from watchkeeper.storage.compactor import COMPACT_KEY, Compactor
from watchkeeper.testing.clock import ManualClock


async def put(kv: MemoryKV, key: bytes = b"/k") -> int:
    current = (await kv.get(key)).kv
    result = await kv.optimistic_put(key, b"x", current.mod_revision if current else 0)
    return result.revision


async def readable(kv: MemoryKV, revision: int) -> bool:
    try:
        await kv.get(b"/k", revision=revision)
    except Compacted:
        return False
    return True


def test_what_is_older_than_an_interval_is_forgotten() -> None:
    async def run() -> None:
        clock, kv = ManualClock(), MemoryKV()
        compactor = Compactor(kv, interval=300, clock=clock)
        task = asyncio.create_task(compactor.run())
        first = await put(kv)
        await clock.advance(299)
        assert (await kv.get(COMPACT_KEY)).kv is None
        await clock.advance(1)
        assert await readable(kv, first)
        second = await put(kv)
        await put(kv)
        await clock.advance(300)
        assert not await readable(kv, first)
        assert await readable(kv, second)
        assert first <= compactor.compact_revision < second
        await clock.advance(300)
        assert not await readable(kv, second)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(run())


def test_of_several_servers_one_compacts_and_another_takes_over() -> None:
    async def run() -> None:
        kv = MemoryKV()
        one, two = Compactor(kv), Compactor(kv)
        assert [await one.turn(), await two.turn()] == [False, False]
        old = await put(kv)
        await put(kv)
        assert [await one.turn(), await two.turn()] == [True, False]
        assert two.compact_revision == one.compact_revision
        await put(kv)
        assert await one.turn()
        # The first server is gone: the second sees once more that it was not the last, then it is.
        await put(kv)
        assert not await two.turn()
        await put(kv)
        assert await two.turn()
        assert not await readable(kv, old)

    asyncio.run(run())


def test_the_key_is_the_one_that_kube_apiserver_keeps() -> None:
    async def run() -> None:
        kv = MemoryKV()
        await kv.optimistic_put(COMPACT_KEY, b"1", 0)
        compactor = Compactor(kv)
        assert not await compactor.turn()
        assert compactor.compact_revision == 1
        revision = await put(kv)
        assert await compactor.turn()
        found = (await kv.get(COMPACT_KEY)).kv
        assert found is not None
        assert int(found.value) == compactor.compact_revision == revision - 1

    asyncio.run(run())


def test_no_interval_means_no_compaction() -> None:
    async def run() -> None:
        clock, kv = ManualClock(), MemoryKV()
        await asyncio.wait_for(Compactor(kv, interval=0, clock=clock).run(), 1)
        assert (await kv.get(COMPACT_KEY)).kv is None

    asyncio.run(run())


def test_a_failure_is_survived() -> None:
    async def run() -> None:
        clock, kv = ManualClock(), MemoryKV()
        task = asyncio.create_task(Compactor(kv, interval=300, clock=clock).run())
        await clock.advance(0)
        await kv.close()
        await clock.advance(900)
        assert not task.done()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())
