"""What storage costs over the bare key-value store, in CPU microseconds. Run: python -m benchmarks.storage [pods]

For each backend: the same operations on the KV itself (the floor), through the Store, and through the Cacher; then a
cold start of a cache over that many pods.
"""

from __future__ import annotations

import asyncio
import resource
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import uvloop

from benchmarks.pods import ROOT, codec, key, pod
from watchkeeper.kv.etcd import EtcdConfig, open_etcd
from watchkeeper.kv.interface import KV, prefix_end
from watchkeeper.kv.memory import MemoryKV
from watchkeeper.kv.sqlite import SQLiteKV
from watchkeeper.storage.cacher.cacher import Cacher
from watchkeeper.storage.interface import Interface, ListOptions, Object, StoredObject, Watcher, WatchOptions
from watchkeeper.storage.store import Store
from watchkeeper.testing.etcd import find_etcd, running_cluster

OPERATIONS = 1000
"""Not more: a watcher that does not read meanwhile would count as slow."""


def row(what: str, *values: float) -> None:
    print(f"{what:34}" + "".join(f"{value:12.1f}" for value in values))


async def timed(work: Callable[[int], Awaitable[object]], count: int = OPERATIONS) -> float:
    """CPU microseconds of one call, all threads of the process included."""
    start = time.process_time()
    for i in range(count):
        await work(i)
    return (time.process_time() - start) / count * 1e6


async def floor(kv: KV, values: list[bytes]) -> list[float]:
    revisions: list[int] = []

    async def create(i: int) -> None:
        revisions.append((await kv.optimistic_put(b"/floor/%06d" % i, values[i], 0)).revision)

    async def update(i: int) -> None:
        revisions[i] = (await kv.optimistic_put(b"/floor/%06d" % i, values[i], revisions[i])).revision

    async def get(i: int) -> None:
        await kv.get(b"/floor/%06d" % i)

    async def page(i: int) -> None:
        await kv.range(b"/floor/", prefix_end(b"/floor/"), limit=500)

    async def delete(i: int) -> None:
        await kv.optimistic_delete(b"/floor/%06d" % i, revisions[i])

    return [await timed(create), await timed(update), await timed(get), await timed(page, 50), await timed(delete)]


async def through(storage: Interface, pods: list[Object]) -> list[float]:
    def touch(i: int) -> Callable[[StoredObject | None], Object]:
        def update(stored: StoredObject | None) -> Object:
            return {**pods[i], "spec": {**pods[i]["spec"], "priority": 1}}

        return update

    async def create(i: int) -> None:
        await storage.create(key(pods[i]), pods[i])

    async def update(i: int) -> None:
        await storage.guaranteed_update(key(pods[i]), touch(i))

    async def get(i: int) -> None:
        if storage.get_nowait(key(pods[i])) is None:
            await storage.get(key(pods[i]))

    async def page(i: int) -> None:
        await storage.get_list(ROOT, ListOptions(limit=500))

    async def delete(i: int) -> None:
        await storage.delete(key(pods[i]))

    now = await storage.current_resource_version()
    watcher = await storage.watch(ROOT, WatchOptions(resource_version=str(now)))
    watching = 0.0
    results = []
    for work, count, changes in (
        (create, OPERATIONS, True),
        (update, OPERATIONS, True),
        (get, OPERATIONS, False),
        (page, 50, False),
        (delete, OPERATIONS, True),
    ):
        results.append(await timed(work, count))
        if changes:
            watching += await drain(watcher, count)
    watcher.close()
    return [*results, watching / 3]


async def drain(watcher: Watcher, count: int) -> float:
    """CPU microseconds per event."""
    start = time.process_time()
    seen = 0
    while seen < count:
        batch = await watcher.next_batch()
        assert batch, "the watch has ended"
        seen += len(batch)
    return (time.process_time() - start) / count * 1e6


async def compare(name: str, open_kv: Callable[[], KV]) -> None:
    pods = [pod(i) for i in range(OPERATIONS)]
    values = [codec().encode(obj) for obj in pods]
    columns = []
    kv = open_kv()
    columns.append([*await floor(kv, values), 0.0])
    store = Store(kv, codec(), ROOT)
    columns.append(await through(store, pods))
    cacher = Cacher(Store(kv, codec(), ROOT), index_fields=("spec.nodeName",))
    await cacher.wait_until_ready(60)
    columns.append(await through(cacher, pods))
    await store.close()
    await cacher.close()
    await kv.close()
    print(f"\n{name:34}{'KV':>12}{'store':>12}{'cacher':>12}")
    names = ("create", "update", "get", "page of 500", "delete", "watch, per event")
    for i, what in enumerate(names):
        row(what, *(column[i] for column in columns))


async def cold_start(backend: str, filling: KV, open_kv: Callable[[], KV], count: int) -> None:
    store = Store(filling, codec(), ROOT)
    for i in range(0, count, 200):
        await asyncio.gather(*(store.create(key(obj), obj) for obj in map(pod, range(i, min(i + 200, count)))))
    await filling.close()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started, cpu = time.perf_counter(), time.process_time()
    kv = open_kv()
    cacher = Cacher(Store(kv, codec(), ROOT), index_fields=("spec.nodeName",))
    await cacher.wait_until_ready(600)
    took, used = time.perf_counter() - started, time.process_time() - cpu
    print(f"\n{backend}: cold start over {count} pods: {took:.2f} s, {used:.2f} s CPU of this process")
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(f"memory for them: {grown:.0f} MiB, {grown * 1024 * 1024 / count:.0f} bytes per pod, at most")
    await cacher.close()
    await kv.close()


async def main(count: int) -> None:
    with tempfile.TemporaryDirectory() as directory:
        cold = Path(directory) / "cold.db"
        await compare("memory", MemoryKV)
        await compare("sqlite", lambda: SQLiteKV.open(Path(directory) / "store.db"))
        if find_etcd() is None:
            await cold_start("sqlite", SQLiteKV.open(cold, synchronous="OFF"), lambda: SQLiteKV.open(cold), count)
            return
        with running_cluster(Path(directory) / "etcd") as cluster:
            config = EtcdConfig(cluster.urls)
            await compare("etcd", lambda: open_etcd(config))
            await cold_start("etcd", open_etcd(config), lambda: open_etcd(config), count)
        await cold_start("sqlite", SQLiteKV.open(cold, synchronous="OFF"), lambda: SQLiteKV.open(cold), count)


if __name__ == "__main__":
    uvloop.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000))
