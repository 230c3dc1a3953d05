"""What the watch cache costs, part by part, in CPU microseconds, on uvloop. Run: python -m benchmarks.cacher [pods]"""

from __future__ import annotations

import asyncio
import gc
import resource
import sys
import time
from collections.abc import Awaitable, Callable

import uvloop

from benchmarks.pods import ROOT, codec, key, pod
from watchkeeper.kv.memory import MemoryKV
from watchkeeper.meta import fields, labels
from watchkeeper.storage.cacher.cacher import Cacher
from watchkeeper.storage.interface import ListOptions, Match, Object, StoredObject, WatchOptions
from watchkeeper.storage.predicate import SelectionPredicate
from watchkeeper.storage.store import Store


def show(what: str, seconds: float, count: int, unit: str = "") -> None:
    print(f"{what:58} {seconds / count * 1e6:12.2f} µs {unit}")


async def measure(what: str, work: Callable[[], Awaitable[object]], count: int, unit: str = "") -> None:
    """Show the best of five rounds, so that other work on the machine matters less."""
    await work()
    gc.collect()
    best = float("inf")
    for _ in range(5):
        start = time.process_time()
        for _ in range(count):
            await work()
        best = min(best, time.process_time() - start)
    show(what, best, count, unit)


def touch(number: int) -> Callable[[StoredObject | None], Object]:
    def update(stored: StoredObject | None) -> Object:
        assert stored is not None
        obj = stored.data()
        obj["metadata"].setdefault("annotations", {})["touched"] = str(number)
        return obj

    return update


async def filled(count: int) -> tuple[MemoryKV, Cacher]:
    kv = MemoryKV()
    store = Store(kv, codec(), ROOT.rstrip("/"))
    for i in range(count):
        obj = pod(i)
        await store.create(key(obj), obj)
    cacher = Cacher(store, index_fields=("spec.nodeName",))
    start = time.process_time()
    await cacher.wait_until_ready(300)
    show(f"start over {count} pods", time.process_time() - start, count, "per pod")
    return kv, cacher


async def reads(cacher: Cacher, count: int) -> None:
    one = key(pod(7))
    for version, what in (("", "consistent"), ("0", "any version")):
        best = float("inf")
        for _ in range(10):
            start = time.process_time()
            for _ in range(10_000):
                cacher.get_nowait(one, resource_version=version)
            best = min(best, time.process_time() - start)
        show(f"get_nowait, {what}", best, 10_000)

    def by_label(text: str) -> ListOptions:
        return ListOptions(predicate=SelectionPredicate(label=labels.parse(text)))

    await measure(f"list all {count}", lambda: cacher.get_list(ROOT, ListOptions()), 20)
    await measure("list a namespace (5 %)", lambda: cacher.get_list(f"{ROOT}ns-03/", ListOptions()), 200)
    await measure("list 1 % by label", lambda: cacher.get_list(ROOT, by_label("app=app-7")), 200)
    await measure(
        "list 1 % by label in a namespace", lambda: cacher.get_list(f"{ROOT}ns-07/", by_label("app=app-7")), 200
    )
    await measure("list 1 % by label, not indexed", lambda: cacher.get_list(ROOT, by_label("app in (app-7,x)")), 10)
    node = ListOptions(predicate=SelectionPredicate(field=fields.parse("spec.nodeName=node-7")))
    await measure("list one node's", lambda: cacher.get_list(ROOT, node), 1000)
    await measure("one page of 500", lambda: cacher.get_list(ROOT, ListOptions(limit=500)), 200)


async def writes(cacher: Cacher, count: int) -> None:
    number = 0

    async def create() -> None:
        nonlocal number
        number += 1
        obj = pod(count + number)
        await cacher.create(key(obj), obj)

    async def update() -> None:
        nonlocal number
        number += 1
        await cacher.guaranteed_update(key(pod(number % count)), touch(number))

    empty = time.process_time()
    for i in range(1000):
        key(pod(i))
    empty = time.process_time() - empty
    show("(making a pod)", empty, 1000)
    await measure("create (with making a pod)", create, 1000)
    await measure("update, cache included (with making a pod)", update, 3000)


async def ingest(cacher: Cacher) -> None:
    one = key(pod(11))
    for own in (True, False):
        best = float("inf")
        if not own:
            cacher.store.own_writes = None
        for i in range(2000):
            await cacher.store.guaranteed_update(one, touch(i))
            start = time.perf_counter()
            cacher.feed.catch_up()
            best = min(best, time.perf_counter() - start)
        show(f"ingest one event, {'own write' if own else 'of another server'}", best, 1)


async def dispatch(cacher: Cacher, watchers: int, predicate: Callable[[int], SelectionPredicate], what: str) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    opened = [
        await cacher.watch(
            ROOT,
            WatchOptions(resource_version=str(cacher.feed.freshness.revision), bookmarks=True, predicate=predicate(i)),
        )
        for i in range(watchers)
    ]
    show(f"open one of {watchers} watches, {what}", time.process_time() - start, watchers)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(f"{'':58} {grown * 1024 / watchers:12.0f} bytes each, at most")
    seen = 0

    async def consume(watcher: object) -> None:
        nonlocal seen
        while batch := await watcher.next_batch():  # type: ignore[attr-defined]
            seen += len(batch)

    tasks = [asyncio.create_task(consume(w)) for w in opened]
    await asyncio.sleep(0)
    spent = total = float("inf")
    one = key(pod(13))
    for i in range(200):
        await cacher.store.guaranteed_update(one, touch(i))
        start = time.perf_counter()
        cacher.feed.catch_up()
        spent = min(spent, time.perf_counter() - start)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        total = min(total, time.perf_counter() - start)
    show(f"one event to {watchers} watchers, {what}: ingest and dispatch", spent, 1)
    show("    the same with the watchers' tasks", total, 1, f"({seen // 200} watchers told)")
    for w in opened:
        w.close()
    await asyncio.gather(*tasks)


async def watch_list(cacher: Cacher, count: int) -> None:
    options = WatchOptions(send_initial_events=True, match=Match.NOT_OLDER_THAN, bookmarks=True)

    async def run() -> None:
        watcher = await cacher.watch(ROOT, options)
        left = count
        while left > 0:
            left -= len(await watcher.next_batch())
        watcher.close()

    await measure(f"watch-list of {count}", run, 5)


async def main(count: int) -> None:
    kv, cacher = await filled(count)
    await reads(cacher, count)
    await watch_list(cacher, count)
    await writes(cacher, count)
    everything = SelectionPredicate()
    await dispatch(cacher, 500, lambda i: everything, "of everything")
    await dispatch(
        cacher,
        1000,
        lambda i: SelectionPredicate(field=fields.parse(f"spec.nodeName=node-{i}")),
        "each of one node",
    )
    await dispatch(
        cacher,
        500,
        lambda i: SelectionPredicate(label=labels.parse(f"app notin (x{i})")),
        "with selectors of their own",
    )
    await dispatch(cacher, 5000, lambda i: SelectionPredicate(label=labels.parse(f"no=x{i}")), "idle")
    await ingest(cacher)
    await cacher.close()
    await kv.close()


if __name__ == "__main__":
    uvloop.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000))
