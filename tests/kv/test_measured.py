"""What is asked of a store is counted and timed."""

from __future__ import annotations

import asyncio

import pytest

from watchkeeper.kv.errors import FutureRevision
from watchkeeper.kv.measured import MeasuredKV, Measurements
from watchkeeper.kv.memory import MemoryKV


def test_operations_have_the_names_of_kube_apiserver() -> None:
    measured: Measurements = {}

    async def run() -> None:
        kv = MeasuredKV(MemoryKV(), measured)
        made = await kv.optimistic_put(b"/a", b"1", 0)
        assert not (await kv.optimistic_put(b"/a", b"1", 0)).succeeded
        await kv.optimistic_put(b"/a", b"2", made.revision, get_on_failure=True)
        await kv.optimistic_put(b"/b", b"2", 0, get_on_failure=True)
        await kv.get(b"/a")
        await kv.range(b"/", b"0")
        await kv.range(b"/", b"0", count_only=True)
        await kv.range(b"/", b"0", keys_only=True)
        await kv.current_revision()
        await kv.optimistic_delete(b"/a", made.revision + 1)
        with pytest.raises(FutureRevision):
            await kv.get(b"/a", revision=1000)
        await kv.close()

    asyncio.run(run())
    assert {name: (sum(each.latency.counts), each.errors) for name, each in measured.items()} == {
        "create": (2, 0),
        "update": (2, 0),
        "get": (2, 1),
        "list": (2, 0),
        "listWithCount": (1, 0),
        "listOnlyKeys": (1, 0),
        "delete": (1, 0),
    }


def test_a_request_that_is_broken_off_failed() -> None:
    measured: Measurements = {}

    class Slow(MemoryKV):
        async def current_revision(self) -> int:
            await asyncio.sleep(60)
            return 0

    async def run() -> None:
        task = asyncio.create_task(MeasuredKV(Slow(), measured).current_revision())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())
    assert measured["list"].errors == 1
