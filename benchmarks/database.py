"""Databases full of Pods, made without a server."""

from __future__ import annotations

import asyncio
from pathlib import Path

from benchmarks.pods import Object, codec, key, pod
from watchkeeper.kv.sqlite import SQLiteKV
from watchkeeper.storage.store import Store

_AT_ONCE = 256


def fill(path: Path, count: int) -> None:
    """Make a database with so many Pods of 7.7 KB, in 20 namespaces and on 1,000 nodes."""
    asyncio.run(_fill(path, count))


_MODEL = pod(0)


def _pod(i: int) -> Object:
    """As `pod`, sharing what all of them have in common."""
    meta = _MODEL["metadata"] | {
        "name": f"pod-{i:06}",
        "namespace": f"ns-{i % 20:02}",
        "uid": f"2f4c1c9e-5d3a-4f67-9b1e-{i:012}",
        "labels": {"app": f"app-{i % 100}", "tier": "backend", "pod-template-hash": f"{i % 100:08x}"},
    }
    status = {"phase": "Running", "podIP": f"10.{i >> 16}.{i >> 8 & 255}.{i & 255}"}
    return _MODEL | {"metadata": meta, "spec": _MODEL["spec"] | {"nodeName": f"node-{i % 1000}"}, "status": status}


async def _fill(path: Path, count: int) -> None:
    kv = SQLiteKV.open(path, synchronous="OFF")
    try:
        store = Store(kv, codec(), "/registry/pods")
        for start in range(0, count, _AT_ONCE):
            pods = [_pod(i) for i in range(start, min(start + _AT_ONCE, count))]
            await asyncio.gather(*(store.create(key(each), each) for each in pods))
    finally:
        await kv.close()
