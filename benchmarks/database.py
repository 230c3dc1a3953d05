"""Databases full of Pods, made without a server."""

from __future__ import annotations

import asyncio
from pathlib import Path

from benchmarks.pods import codec, key, pod
from watchkeeper.kv.sqlite import SQLiteKV
from watchkeeper.storage.store import Store

_AT_ONCE = 256


def fill(path: Path, count: int) -> None:
    """Make a database with so many Pods of 7.7 KB, in 20 namespaces and on 1,000 nodes."""
    asyncio.run(_fill(path, count))


async def _fill(path: Path, count: int) -> None:
    kv = SQLiteKV.open(path, synchronous="OFF")
    try:
        store = Store(kv, codec(), "/registry/pods")
        for start in range(0, count, _AT_ONCE):
            pods = [pod(i) for i in range(start, min(start + _AT_ONCE, count))]
            await asyncio.gather(*(store.create(key(each), each) for each in pods))
    finally:
        await kv.close()
