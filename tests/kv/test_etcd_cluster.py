"""A cluster of three with TLS, and what can happen to it: members killed, stopped, cut off and started again."""

import asyncio
import contextlib
import random
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aetcd.rpc import rpc_pb2, rpc_pb2_grpc
from etcd_fixtures import needs_etcd, run
from grpc import StatusCode
from grpc.aio import AioRpcError

from watchkeeper.kv.errors import Compacted, KVError, Timeout, Unavailable
from watchkeeper.kv.etcd import EtcdConfig, open_etcd
from watchkeeper.kv.etcd.members import Member
from watchkeeper.kv.etcd.store import EtcdKV
from watchkeeper.kv.interface import Watch
from watchkeeper.testing.etcd import EtcdCluster, EtcdMember, running_cluster
from watchkeeper.testing.kv_suite import CASES, Case, case_name
from watchkeeper.testing.kv_suite.case import eventually, next_batch, put, summary, take

pytestmark = needs_etcd


DISTRUSTED: list[EtcdCluster] = []
"""Clusters whose members hold different histories: etcd 3.5.0 to 3.5.2 can end so when they are killed under load."""


class Clusters:
    """The cluster that the tests share, until its members no longer agree."""

    def __init__(self, folders: pytest.TempPathFactory) -> None:
        self._folders = folders
        self._running = contextlib.ExitStack()
        self._cluster: EtcdCluster | None = None

    def sound(self) -> EtcdCluster:
        if self._cluster is None:
            running = running_cluster(self._folders.mktemp("etcd"), size=3, tls=True)
            self._cluster = self._running.enter_context(running)
        return self._cluster

    def give_up(self) -> None:
        self._running.close()
        self._cluster = None


@pytest.fixture(scope="module")
def clusters(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clusters]:
    clusters = Clusters(tmp_path_factory)
    yield clusters
    clusters.give_up()


@pytest.fixture
def cluster(clusters: Clusters) -> EtcdCluster:
    return clusters.sound()


@pytest.fixture(autouse=True)
def all_members_serve(clusters: Clusters, cluster: EtcdCluster) -> Iterator[None]:
    yield
    if cluster in DISTRUSTED:
        clusters.give_up()
        return
    for member in cluster.members:
        member.resume()
        if not member.running:
            member.restart()
    for member in cluster.members:
        member.wait_until_healthy()


def config(cluster: EtcdCluster, *, identity: str = "client", timeout: float = 5.0) -> EtcdConfig:
    assert cluster.certificates is not None
    return EtcdConfig(
        cluster.urls,
        ca_file=cluster.certificates / "ca.crt",
        cert_file=cluster.certificates / f"{identity}.crt",
        key_file=cluster.certificates / f"{identity}.key",
        request_timeout=timeout,
    )


def with_store(cluster: EtcdCluster, scenario: Callable[[EtcdKV], Awaitable[None]], timeout: float = 5.0) -> None:
    async def play() -> None:
        kv = open_etcd(config(cluster, timeout=timeout))
        for found in (await kv.range(b"", b"\0", keys_only=True)).kvs:
            await kv.optimistic_delete(found.key, found.mod_revision)
        try:
            await scenario(kv)
        except (AssertionError, TimeoutError):
            if await members_agree(kv):
                raise
            DISTRUSTED.append(cluster)
            pytest.skip("the members of this etcd no longer agree on what happened")
        finally:
            await kv.close()

    run(play())


async def members_agree(kv: EtcdKV) -> bool:
    """Whether all members have the same history up to the present revision."""
    revision = await kv.current_revision()
    return len({await history_hash(member, revision) for member in kv._cluster._members}) == 1


async def history_hash(member: Member, revision: int) -> int | None:
    """A hash of all that a member knows of up to a revision, once it has come so far; None when it never does."""
    stub: Any = rpc_pb2_grpc.MaintenanceStub(member._channel)
    deadline = time.monotonic() + 15
    while True:
        try:
            answer = await stub.HashKV(rpc_pb2.HashKVRequest(revision=revision), timeout=5, wait_for_ready=True)
        except AioRpcError as error:
            if error.code() is not StatusCode.OUT_OF_RANGE:
                raise
            if time.monotonic() > deadline:
                return None
            await asyncio.sleep(0.05)
        else:
            return int(answer.hash)


def used(kv: EtcdKV, cluster: EtcdCluster) -> EtcdMember:
    """The member that the store talks to now."""
    name = kv._cluster.member.name
    return next(member for member in cluster.members if member.client_url.endswith(name))


SLOW = {
    "a_range_of_many_megabytes_is_complete",
    "a_range_of_thousands_of_keys_is_complete",
    "a_watch_that_reads_nothing_holds_up_nobody_and_misses_nothing",
    "a_lagging_watch_gets_everything_or_is_told_that_it_is_compacted",
    "history_after_compaction_reads_exactly_as_before",
}
"""Proved on a single member; here they would only take long."""


@pytest.mark.parametrize("case", [case for case in CASES if case_name(case) not in SLOW], ids=case_name)
def test_three_members_with_tls(case: Case, cluster: EtcdCluster) -> None:
    with_store(cluster, case)


def test_a_certificate_of_another_authority_is_refused(cluster: EtcdCluster) -> None:
    async def play() -> None:
        kv = open_etcd(config(cluster, identity="stranger", timeout=1.0))
        with pytest.raises(Unavailable, match="etcd 127"):
            await kv.get(b"/k")
        await kv.close()

    run(play())
    with pytest.raises(Unavailable, match=r"missing\.crt: No such file"):
        run(open_missing())


async def open_missing() -> None:
    open_etcd(EtcdConfig(("https://127.0.0.1:1",), ca_file=Path("/missing.crt")))


@dataclass
class Witness:
    """Writes all the time, watches all the time, and compares in the end."""

    kv: EtcdKV
    acknowledged: dict[int, tuple[bytes, bytes]] = field(default_factory=dict)
    doubtful: int = 0
    events: list[tuple[str, bytes, bytes, int]] = field(default_factory=list)
    stop: bool = False

    async def write(self, worker: int) -> None:
        number, revision = 0, 0
        key = b"/w/%d" % worker
        while not self.stop:
            number += 1
            value = b"%d-%d" % (worker, number)
            try:
                result = await self.kv.optimistic_put(key, value, revision, get_on_failure=True)
            except Unavailable:
                self.doubtful += 1
                await asyncio.sleep(0.02)
                continue
            if result.succeeded:
                revision = result.revision
                self.acknowledged[revision] = (key, value)
            else:  # an earlier attempt took effect after all
                revision = result.kv.mod_revision if result.kv is not None else 0
            await asyncio.sleep(0)

    async def follow(self, watch: Watch) -> None:
        async for batch in watch:
            self.events.extend(summary(list(batch.events)))

    async def during(self, trouble: Callable[[], Awaitable[None]]) -> None:
        """Write and watch while trouble is made; then assert that nothing was lost, repeated or out of order."""
        base = await self.kv.current_revision()
        watch = await self.kv.watch(b"/w/")
        follower = asyncio.ensure_future(self.follow(watch))
        writers = [asyncio.ensure_future(self.write(worker)) for worker in range(4)]
        try:
            await asyncio.sleep(0.2)
            await trouble()
            await self.writes_again()
            self.stop = True
            await asyncio.gather(*writers)
            await self.compare(base)
        finally:
            await watch.close()
            for task in (follower, *writers):
                task.cancel()
            await asyncio.gather(follower, *writers, return_exceptions=True)

    async def writes_again(self) -> None:
        before = len(self.acknowledged)

        async def has_written() -> bool:
            return len(self.acknowledged) > before + 20

        await eventually(has_written, "writes succeed again")

    async def compare(self, base: int) -> None:
        newest = (await self.kv.range(b"/w/", b"/w0")).revision
        history = await self.history(base, newest)

        async def has_come() -> bool:
            return len(self.events) >= len(history)

        await eventually(has_come, "the watch has everything")
        assert self.events == history
        found = {entry[3]: entry[1:3] for entry in history}
        for revision, change in self.acknowledged.items():
            assert found.get(revision) == change, f"acknowledged at {revision}, but not there"

    async def history(self, after: int, newest: int) -> list[tuple[str, bytes, bytes, int]]:
        """What a watch that begins now is told of the past."""
        last = max(found.mod_revision for found in (await self.kv.range(b"/w/", b"/w0")).kvs)
        watch = await self.kv.watch(b"/w/", after_revision=after)
        found: list[tuple[str, bytes, bytes, int]] = []
        while not found or found[-1][3] < last:
            found.extend(summary(list((await next_batch(watch)).events)))
        await watch.close()
        assert last <= newest
        return found


def test_the_member_in_use_is_killed_and_comes_back(cluster: EtcdCluster) -> None:
    async def scenario(kv: EtcdKV) -> None:
        async def trouble() -> None:
            for _ in range(3):
                victim = used(kv, cluster)
                victim.kill()
                await asyncio.sleep(random.random() * 0.3)
                victim.restart()
                await asyncio.to_thread(victim.wait_until_healthy)

        await Witness(kv).during(trouble)

    with_store(cluster, scenario)


def test_the_leader_is_killed(cluster: EtcdCluster) -> None:
    async def scenario(kv: EtcdKV) -> None:
        async def trouble() -> None:
            leader = await asyncio.to_thread(cluster.leader)
            leader.kill()
            await asyncio.sleep(0.5)
            leader.restart()

        await Witness(kv).during(trouble)

    with_store(cluster, scenario)


def test_the_member_in_use_stands_still(cluster: EtcdCluster) -> None:
    async def scenario(kv: EtcdKV) -> None:
        async def trouble() -> None:
            victim = used(kv, cluster)
            victim.pause()
            await asyncio.wait_for(kv.get(b"/w/0"), 5)  # another member answers a read within its deadline
            assert used(kv, cluster) is not victim
            await asyncio.sleep(1)
            victim.resume()

        await Witness(kv).during(trouble)

    # It may have been the leader: a read then waits for another to be elected, a second or two on a busy machine.
    with_store(cluster, scenario, timeout=4)


def test_a_watch_on_a_member_that_loses_its_leader_goes_elsewhere(cluster: EtcdCluster) -> None:
    async def scenario(kv: EtcdKV) -> None:
        async def trouble() -> None:
            mine = used(kv, cluster)
            for member in cluster.members:
                if member is not mine:
                    member.kill()
            with pytest.raises(Unavailable):
                await kv.get(b"/w/0")
            with pytest.raises(Unavailable):
                await kv.optimistic_put(b"/w/x", b"v", 0)
            for member in cluster.members:
                if member is not mine:
                    member.restart()

        await Witness(kv).during(trouble)

    with_store(cluster, scenario, timeout=2)


def test_the_whole_cluster_is_away_for_a_while(cluster: EtcdCluster) -> None:
    async def scenario(kv: EtcdKV) -> None:
        async def trouble() -> None:
            for member in cluster.members:
                member.kill()
            start = asyncio.get_running_loop().time()
            for operation in (kv.get(b"/w/0"), kv.current_revision(), kv.optimistic_delete(b"/w/none", 5), kv.status()):
                with pytest.raises(Unavailable):
                    await operation
            assert asyncio.get_running_loop().time() - start < 8
            with pytest.raises(Unavailable):
                await kv.watch(b"/w/", after_revision=1)
            for member in cluster.members:
                member.restart()

        await Witness(kv).during(trouble)

    with_store(cluster, scenario, timeout=1)


def test_what_was_compacted_while_a_watch_was_away_is_told(cluster: EtcdCluster) -> None:
    async def scenario(kv: EtcdKV) -> None:
        first = await put(kv, b"/a/k", b"one")
        watch = await kv.watch(b"/a/", after_revision=first)
        other = open_etcd(config(cluster))
        await asyncio.sleep(0.3)
        for member in cluster.members:
            member.kill()
        for member in cluster.members:
            member.restart()
        # The watch waits before it comes back; meanwhile its place in history goes.
        for member in cluster.members:
            await asyncio.to_thread(member.wait_until_healthy)
        second = await put(other, b"/a/k", b"two", first)
        third = await put(other, b"/a/k", b"three", second)
        with contextlib.suppress(KVError):
            await other.compact(third)
        seen: list[int] = []
        with contextlib.suppress(Compacted):
            while len(seen) < 2:
                seen.extend(event.kv.mod_revision for event in (await next_batch(watch)).events)
        assert seen in ([], [second], [second, third])
        await other.close()

    with_store(cluster, scenario)


def test_a_write_without_an_answer_is_not_repeated(cluster: EtcdCluster) -> None:
    async def scenario(kv: EtcdKV) -> None:
        await put(kv, b"/k")
        leader = await asyncio.to_thread(cluster.leader)
        while used(kv, cluster) is not leader:
            kv._cluster.leave(kv._cluster.member)
        revision = await put(kv, b"/l")
        for member in cluster.members:
            if member is not leader:
                member.pause()
        with pytest.raises((Timeout, Unavailable)):
            await kv.optimistic_put(b"/k2", b"v", 0)
        for member in cluster.members:
            member.resume()

        async def answered() -> bool:
            with contextlib.suppress(Unavailable):
                found = (await kv.get(b"/k2")).kv
                return found is None or (found.version, found.create_revision) == (1, revision + 1)
            return False

        await eventually(answered, "it was done once or not at all")

    with_store(cluster, scenario, timeout=1)


def test_events_larger_than_a_message_come_whole(cluster: EtcdCluster) -> None:
    async def scenario(kv: EtcdKV) -> None:
        base = await kv.current_revision()
        values = [bytes([number]) * 1_200_000 for number in range(6)]
        for number, value in enumerate(values):
            await put(kv, b"/a/%d" % number, value)
        watch = await kv.watch(b"/a/", after_revision=base, prev_kv=True)
        events = await take(watch, 6)
        assert [event.kv.value for event in events] == values

    with_store(cluster, scenario)


def test_members_of_a_sound_cluster_agree(cluster: EtcdCluster) -> None:
    async def scenario(kv: EtcdKV) -> None:
        await put(kv, b"/agreed", b"1")
        assert await members_agree(kv)

    with_store(cluster, scenario)
