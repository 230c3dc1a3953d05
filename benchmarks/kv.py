"""What the key-value layer costs over the bare engine, in CPU microseconds. Run: python -m benchmarks.kv

The floor of etcd is its own calls over gRPC, with requests and answers of the same content; that of SQLite the same
statements' work on one connection, in the thread that asks. Every column does the same work: conditional writes of a
Pod's size, reads, a list of 500, and events of a watch. Shown is the smallest of three rounds.
"""

from __future__ import annotations

import sqlite3
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import uvloop

from watchkeeper.kv.etcd import EtcdConfig, open_etcd
from watchkeeper.kv.interface import KV, prefix_end
from watchkeeper.kv.memory import MemoryKV
from watchkeeper.kv.sqlite import SQLiteKV
from watchkeeper.testing.etcd import find_etcd, running_cluster

OPERATIONS = 1000
LISTS = 30
ROUNDS = 3
VALUE = b"v" * 7700
PREFIX = b"/bench/"
ROWS = ("put", "get, written lately", "get, first since start", "list of 500", "watch, per event")


def name(i: int) -> bytes:
    return b"%b%06d" % (PREFIX, i)


async def timed(work: Callable[[int], Awaitable[object]], count: int = OPERATIONS) -> float:
    """CPU microseconds of one call, all threads of this process included."""
    start = time.process_time()
    for i in range(count):
        await work(i)
    return (time.process_time() - start) / count * 1e6


async def layer(open_kv: Callable[[], KV]) -> list[float]:
    kv = open_kv()

    async def put(i: int) -> None:
        await kv.optimistic_put(name(i), VALUE, 0)

    async def get(i: int) -> None:
        await kv.get(name(i))

    async def page(i: int) -> None:
        await kv.range(PREFIX, prefix_end(PREFIX), limit=500)

    after = await kv.current_revision()
    results = [await timed(put), await timed(get)]
    if isinstance(kv, MemoryKV):
        results.append(results[-1])
    else:
        await kv.close()
        kv = open_kv()
        await kv.current_revision()
        results.append(await timed(get))
    results.append(await timed(page, LISTS))
    watch = await kv.watch(PREFIX, after_revision=after)
    start = time.process_time()
    seen = 0
    while seen < OPERATIONS:
        seen += len((await watch.__anext__()).events)
    results.append((time.process_time() - start) / OPERATIONS * 1e6)
    await watch.close()
    await kv.close()
    return results


async def bare_etcd(url: str) -> list[float]:
    import grpc.aio
    from aetcd.rpc import rpc_pb2 as pb
    from aetcd.rpc import rpc_pb2_grpc

    channel = grpc.aio.insecure_channel(url.removeprefix("http://"), options=[("grpc.max_receive_message_length", -1)])
    stub: Any = rpc_pb2_grpc.KVStub(channel)
    after = (await stub.Range(pb.RangeRequest(key=b"\0"))).header.revision

    async def put(i: int) -> None:
        key = name(i)
        compare = pb.Compare(result=pb.Compare.EQUAL, target=pb.Compare.MOD, key=key, mod_revision=0)
        write = pb.RequestOp(request_put=pb.PutRequest(key=key, value=VALUE))
        assert (await stub.Txn(pb.TxnRequest(compare=[compare], success=[write]))).succeeded

    async def get(i: int) -> None:
        assert (await stub.Range(pb.RangeRequest(key=name(i)))).kvs[0].value

    async def page(i: int) -> None:
        answer = await stub.Range(pb.RangeRequest(key=PREFIX, range_end=prefix_end(PREFIX), limit=500))
        assert len([(kv.key, kv.value, kv.mod_revision) for kv in answer.kvs]) == 500

    results = [await timed(put), await timed(get), await timed(get), await timed(page, LISTS)]
    call = rpc_pb2_grpc.WatchStub(channel).Watch()
    create = pb.WatchCreateRequest(key=PREFIX, range_end=prefix_end(PREFIX), start_revision=after + 1, fragment=True)
    await call.write(pb.WatchRequest(create_request=create))
    assert (await call.read()).created
    start = time.process_time()
    seen = 0
    while seen < OPERATIONS:
        answer = await call.read()
        seen += len([(event.kv.key, event.kv.value, event.kv.mod_revision) for event in answer.events])
    results.append((time.process_time() - start) / OPERATIONS * 1e6)
    call.cancel()
    await channel.close()
    return results


async def bare_sqlite(path: Path) -> list[float]:
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA journal_mode=WAL")
    db.execute("PRAGMA synchronous=FULL")
    db.execute("CREATE TABLE log (revision INTEGER PRIMARY KEY, key BLOB, value BLOB, previous INTEGER)")
    db.execute("CREATE TABLE current (key BLOB PRIMARY KEY, revision INTEGER) WITHOUT ROWID")

    async def put(i: int) -> None:
        db.execute("BEGIN IMMEDIATE")
        assert db.execute("SELECT revision FROM current WHERE key = ?", (name(i),)).fetchone() is None
        done = db.execute("INSERT INTO log (key, value, previous) VALUES (?, ?, 0)", (name(i), VALUE))
        db.execute("INSERT OR REPLACE INTO current VALUES (?, ?)", (name(i), done.lastrowid))
        db.execute("COMMIT")

    one = "SELECT l.value, l.revision FROM current c JOIN log l USING (revision) WHERE c.key = ?"
    many = "SELECT l.key, l.value, l.revision FROM current c JOIN log l USING (revision) WHERE c.key >= ? LIMIT 500"

    async def get(i: int) -> None:
        assert db.execute(one, (name(i),)).fetchone()

    async def page(i: int) -> None:
        assert len(db.execute(many, (PREFIX,)).fetchall()) == 500

    results = [await timed(put), await timed(get), await timed(get), await timed(page, LISTS)]
    start = time.process_time()
    seen = db.execute("SELECT key, value, revision FROM log WHERE revision > 0").fetchall()
    results.append((time.process_time() - start) / len(seen) * 1e6)
    db.close()
    return results


def table(backend: str, floor: list[float] | None, found: list[float]) -> None:
    print(f"\n{backend:24}{'bare':>12}{'layer':>12}{'ratio':>8}")
    for i, what in enumerate(ROWS):
        bare = f"{floor[i]:12.1f}" if floor is not None else f"{'':12}"
        ratio = f"{found[i] / floor[i]:8.2f}" if floor is not None else ""
        print(f"{what:24}{bare}{found[i]:12.1f}{ratio}")


async def best(measure: Callable[[int], Awaitable[list[float]]]) -> list[float]:
    """The smallest of several rounds, each against a store of its own."""
    rounds = [await measure(i) for i in range(ROUNDS)]
    return [min(values) for values in zip(*rounds, strict=True)]


async def main() -> None:
    table("memory", None, await best(lambda i: layer(MemoryKV)))
    with tempfile.TemporaryDirectory() as name_of_folder:
        folder = Path(name_of_folder)
        floor = await best(lambda i: bare_sqlite(folder / f"bare{i}.db"))
        table("sqlite", floor, await best(lambda i: layer(lambda: SQLiteKV.open(folder / f"layer{i}.db"))))
        if find_etcd() is None:
            print("\nthere is no etcd here")
            return

        async def bare(i: int) -> list[float]:
            with running_cluster(folder / f"bare{i}") as cluster:
                return await bare_etcd(cluster.urls[0])

        async def etcd(i: int) -> list[float]:
            with running_cluster(folder / f"layer{i}") as cluster:
                return await layer(lambda: open_etcd(EtcdConfig(cluster.urls)))

        table("etcd", await best(bare), await best(etcd))


if __name__ == "__main__":
    uvloop.run(main())
