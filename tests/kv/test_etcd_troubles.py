"""What operators do to an etcd, or write into the list of its endpoints, while it is in use."""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from aetcd.rpc import rpc_pb2, rpc_pb2_grpc
from etcd_fixtures import needs_etcd, run

from watchkeeper.kv.errors import Compacted, Unavailable
from watchkeeper.kv.etcd import EtcdConfig, open_etcd
from watchkeeper.kv.etcd.members import Member, connect
from watchkeeper.kv.etcd.store import EtcdKV
from watchkeeper.testing.etcd import EtcdCluster, EtcdMember, running_cluster
from watchkeeper.testing.kv_suite.case import eventually, next_batch, put, summary, take

pytestmark = needs_etcd

NOWHERE = "http://no-such-host.invalid:2379"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EtcdCluster]:
    with running_cluster(tmp_path_factory.mktemp("etcd")) as running:
        yield running


@contextlib.asynccontextmanager
async def operator(cluster: EtcdCluster) -> Any:
    """Somebody else who speaks to the first member."""
    member = connect(EtcdConfig(cluster.urls))[0]
    try:
        yield member
    finally:
        await member.close()


class Link:
    """A way to a member that breaks off after so many bytes from there. `address` is where it begins."""

    def __init__(self, target: str, limit: int) -> None:
        host, _, port = target.removeprefix("http://").partition(":")
        self._target = (host, int(port))
        self._limit = limit
        self.breaks = 0
        self.address = ""

    async def __aenter__(self) -> "Link":
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.address = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *error: object) -> None:
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, to_there = await asyncio.open_connection(*self._target)
        back = asyncio.ensure_future(self._pass(there, writer, self._limit))
        forth = asyncio.ensure_future(self._pass(reader, to_there, None))
        await asyncio.wait((back, forth), return_when=asyncio.FIRST_COMPLETED)
        for each in (back, forth):
            each.cancel()
        for stream in (writer, to_there):
            stream.transport.abort()

    async def _pass(self, source: asyncio.StreamReader, target: asyncio.StreamWriter, left: int | None) -> None:
        with contextlib.suppress(OSError):
            while data := await source.read(1 << 16):
                target.write(data)
                await target.drain()
                if left is not None and (left := left - len(data)) <= 0:
                    self.breaks += 1
                    return


def with_store(urls: tuple[str, ...], scenario: Callable[[EtcdKV], Awaitable[None]], timeout: float = 5.0) -> None:
    async def play() -> None:
        kv = open_etcd(EtcdConfig(urls, request_timeout=timeout))
        try:
            async with asyncio.timeout(60):
                await scenario(kv)
        finally:
            await kv.close()

    run(play())


@pytest.mark.parametrize("first", ["read", "write", "watch"])
def test_a_name_that_is_not_known_costs_nothing_but_time(cluster: EtcdCluster, first: str) -> None:
    async def scenario(kv: EtcdKV) -> None:
        key = f"/names/{first}".encode()
        start = time.monotonic()
        if first == "read":
            assert (await kv.get(key)).kv is None
        elif first == "watch":
            watch = await kv.watch(b"/names/")
            assert (await put(kv, key)) == summary(await take(watch, 1))[0][3]
            return
        await put(kv, key)
        assert time.monotonic() - start < 6

    with_store((NOWHERE, *cluster.urls), scenario)


def test_nothing_but_a_name_that_is_not_known_is_said_so_in_time() -> None:
    async def scenario(kv: EtcdKV) -> None:
        start = time.monotonic()
        for operation in (kv.get(b"/k"), kv.status(), kv.optimistic_put(b"/k", b"v", 0)):
            with pytest.raises(Unavailable, match=r"no-such-host\.invalid"):
                await operation
        with pytest.raises(Unavailable):
            await kv.watch(b"/k", after_revision=1)
        assert time.monotonic() - start < 20

    with_store((NOWHERE,), scenario, timeout=1.0)


def test_a_learner_is_left_for_a_member_that_may_answer(tmp_path: Path) -> None:
    with running_cluster(tmp_path) as cluster:
        leader = cluster.members[0]
        learner = EtcdMember("m2", tmp_path, cluster.program, None, ["--initial-cluster-state=existing"])
        try:
            run(add_learner(cluster, learner))

            async def scenario(kv: EtcdKV) -> None:
                revision = await put(kv, b"/a/k")
                watch = await kv.watch(b"/a/", after_revision=revision)
                assert (await kv.get(b"/a/k")).kv is not None
                second = await put(kv, b"/a/l")
                assert [entry[3] for entry in summary(await take(watch, 1))] == [second]
                assert kv._cluster.member.name in leader.client_url

            with_store((learner.client_url, leader.client_url), scenario)

            async def alone(kv: EtcdKV) -> None:
                with pytest.raises(Unavailable, match="learner"):
                    await kv.get(b"/a/k")

            with_store((learner.client_url,), alone, timeout=1.0)
        finally:
            learner.kill()


async def add_learner(cluster: EtcdCluster, learner: EtcdMember) -> None:
    """Add a member without a vote, and wait until it answers."""
    first = cluster.members[0]
    async with operator(cluster) as member:
        stub: Any = rpc_pb2_grpc.ClusterStub(member._channel)
        await stub.MemberAdd(rpc_pb2.MemberAddRequest(peerURLs=[learner.peer_url], isLearner=True))
    learner.start(f"{first.name}={first.peer_url},{learner.name}={learner.peer_url}")
    added = connect(EtcdConfig((learner.client_url,)))[0]

    async def answers() -> bool:
        with contextlib.suppress(Exception):
            return bool((await added.status(rpc_pb2.StatusRequest(), timeout=1)).isLearner)
        return False

    await eventually(answers, "the learner answers")
    await added.close()


def test_reads_writes_and_watches_go_on_while_it_is_defragmented(cluster: EtcdCluster) -> None:
    async def scenario(kv: EtcdKV) -> None:
        value = b"x" * 100_000
        await asyncio.gather(*(put(kv, b"/fat/%d" % number, value) for number in range(100)))
        watch = await kv.watch(b"/lean/")
        stopped = asyncio.Event()

        async def defragment(member: Member) -> None:
            stub: Any = rpc_pb2_grpc.MaintenanceStub(member._channel)
            for _ in range(3):
                await stub.Defragment(rpc_pb2.DefragmentRequest())
            stopped.set()

        revisions: list[int] = []
        async with operator(cluster) as member:
            task = asyncio.ensure_future(defragment(member))
            revision = 0
            while not stopped.is_set() or len(revisions) < 20:
                revision = await put(kv, b"/lean/k", b"v", revision)
                revisions.append(revision)
                found = (await kv.get(b"/lean/k")).kv
                assert found is not None and found.mod_revision == revision
            await task
        assert [entry[3] for entry in summary(await take(watch, len(revisions)))] == revisions

    with_store(cluster.urls, scenario)


def test_others_may_compact_under_watches_that_keep_up(cluster: EtcdCluster) -> None:
    async def scenario(kv: EtcdKV) -> None:
        watches = [await kv.watch(b"/often/", prev_kv=prev) for prev in (False, True)]
        quiet = await kv.watch(b"/never/")
        last = await put(
            kv, b"/never/k"
        )  # etcd reads history for a new watch a moment later, and may find it compacted
        assert [entry[3] for entry in summary(await take(quiet, 1))] == [last]
        revision, revisions = 0, []
        async with operator(cluster) as member:
            for number in range(30):
                revision = await put(kv, b"/often/k", b"%d" % number, revision)
                revisions.append(revision)
                for watch in watches:
                    assert [entry[3] for entry in summary(await take(watch, 1))] == [revision]
                await member.compact(rpc_pb2.CompactionRequest(revision=revision, physical=number % 2 == 0))
            behind = revisions[3]
            with pytest.raises(Compacted):
                await next_batch(await kv.watch(b"/often/", after_revision=behind))
            with pytest.raises(Compacted):
                await kv.get(b"/often/k", revision=behind)
        made = await put(kv, b"/never/k", b"v", last)
        assert [entry[3] for entry in summary(await take(quiet, 1))] == [made]

    with_store(cluster.urls, scenario)


def test_thousands_of_keys_that_go_in_one_revision_come_in_one_batch(cluster: EtcdCluster) -> None:
    async def scenario(kv: EtcdKV) -> None:
        value = b"x" * 2_000
        for first in range(0, 5_000, 500):
            await asyncio.gather(*(put(kv, b"/many/%05d" % (first + n), value) for n in range(500)))
        watch = await kv.watch(b"/many/", prev_kv=True)
        async with operator(cluster) as member:
            stub: Any = rpc_pb2_grpc.KVStub(member._channel)
            gone = await stub.DeleteRange(rpc_pb2.DeleteRangeRequest(key=b"/many/", range_end=b"/many0"))
        assert gone.deleted == 5_000
        batch = await next_batch(watch)
        while not batch.events:
            batch = await next_batch(watch)
        assert batch.revision == gone.header.revision
        assert [event.kv.key for event in batch.events] == [b"/many/%05d" % number for number in range(5_000)]
        assert all(event.prev is not None and event.prev.value == value for event in batch.events)

    with_store(cluster.urls, scenario)


def test_a_watch_gets_past_an_answer_that_is_longer_than_a_link_lasts(cluster: EtcdCluster) -> None:
    """etcd sends what happened meanwhile as one answer in pieces of 2 MB."""
    keys = [f"/backlog/{number:02}".encode() for number in range(40)]
    link = Link(cluster.urls[0], 5_000_000)

    async def fill(kv: EtcdKV) -> None:
        watch = await kv.watch(b"/backlog/")
        first = await put(kv, keys[0], b"x")
        await take(watch, 1)
        revisions = [await put(kv, key, b"x" * 300_000) for key in keys[1:]]
        async with link:
            slow = open_etcd(EtcdConfig((link.address,), request_timeout=30))
            try:
                behind = await slow.watch(b"/backlog/", after_revision=first)
                found = summary(await take(behind, len(revisions)))
            finally:
                await slow.close()
        assert [(entry[1], entry[3]) for entry in found] == list(zip(keys[1:], revisions, strict=True))
        assert link.breaks >= 2

    with_store(cluster.urls, fill)


def test_pieces_of_an_answer_never_part_what_one_transaction_wrote(cluster: EtcdCluster) -> None:
    async def scenario(kv: EtcdKV) -> None:
        watch = await kv.watch(b"/parted/")
        first = await put(kv, b"/parted/first")
        await take(watch, 1)
        async with operator(cluster) as member:
            stub: Any = rpc_pb2_grpc.KVStub(member._channel)
            for number in range(8):
                puts = [
                    rpc_pb2.PutRequest(key=b"/parted/%d/%d" % (number, part), value=b"x" * 290_000) for part in range(4)
                ]
                await stub.Txn(rpc_pb2.TxnRequest(success=[rpc_pb2.RequestOp(request_put=each) for each in puts]))
        behind = await kv.watch(b"/parted/", after_revision=first)
        batches = []
        while sum(map(len, batches)) < 32:
            batch = await next_batch(behind)
            batches.append([event.kv.mod_revision for event in batch.events])
        assert len(batches) > 2
        found = [revision for batch in batches for revision in sorted(set(batch))]
        assert found == sorted(set(found))
        assert all(batch.count(revision) == 4 for batch in batches for revision in batch)

    with_store(cluster.urls, scenario)
