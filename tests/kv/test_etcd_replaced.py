"""What answers at an address is not what did: an etcd without its data, one restored, certificates exchanged."""

import asyncio
import contextlib
import shutil
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest
from etcd_fixtures import needs_etcd, run

from watchkeeper.kv.errors import Compacted, KVError, Timeout, Unavailable
from watchkeeper.kv.etcd import EtcdConfig, open_etcd
from watchkeeper.kv.etcd.store import EtcdKV
from watchkeeper.testing.etcd import EtcdCluster, EtcdMember, running_cluster
from watchkeeper.testing.kv_suite.case import eventually, next_batch, put, summary, take

pytestmark = needs_etcd

Scenario = Callable[[EtcdKV], Awaitable[None]]


def with_store(config: EtcdConfig, scenario: Scenario) -> None:
    async def play() -> None:
        kv = open_etcd(config)
        try:
            async with asyncio.timeout(60):
                await scenario(kv)
        finally:
            await kv.close()

    run(play())


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[EtcdCluster]:
    with running_cluster(tmp_path) as running:
        yield running


async def start_empty(member: EtcdMember) -> None:
    member.kill()
    shutil.rmtree(member._folder / member.name)
    member.restart()
    await asyncio.to_thread(member.wait_until_healthy)


async def write(config: EtcdConfig, count: int) -> int:
    """Let another client write; returns the revision of its last write."""
    other = open_etcd(config)
    revisions = [await put(other, b"/b/%d" % number) for number in range(count)]
    await other.close()
    return revisions[-1]


async def reads_again(kv: EtcdKV) -> None:
    async def reads() -> bool:
        with contextlib.suppress(Unavailable):
            await kv.get(b"/a/k")
            return True
        return False

    await eventually(reads, "it reads again")


async def is_noticed(kv: EtcdKV) -> None:
    async def said() -> bool:
        with pytest.raises(Unavailable) as failure:
            await kv.get(b"/a/k")
        return "has lost its data, or is of another cluster" in str(failure.value)

    await eventually(said, "it says what has happened")


def test_an_etcd_without_its_data_is_not_taken_for_the_one_it_was(cluster: EtcdCluster) -> None:
    config = EtcdConfig(cluster.urls, request_timeout=1)

    async def scenario(kv: EtcdKV) -> None:
        revision = 0
        for number in range(10):
            revision = await put(kv, b"/a/k", b"%d" % number, revision)
        watch = await kv.watch(b"/a/")
        await start_empty(cluster.members[0])
        await is_noticed(kv)
        for key in (b"/a/k", b"/a/l"):
            with pytest.raises(Unavailable):
                await kv.optimistic_put(key, b"v", 0)
        with pytest.raises(Unavailable):
            await kv.current_revision()
        assert watch.take_nowait() is None
        anew = open_etcd(config)
        assert (await anew.range(b"", b"\0")).kvs == []
        assert await put(anew, b"/a/k") == 2
        await anew.close()

    with_store(config, scenario)


def test_a_history_that_has_taken_the_place_of_another_is_read_anew(cluster: EtcdCluster) -> None:
    config = EtcdConfig(cluster.urls, request_timeout=1)

    async def scenario(kv: EtcdKV) -> None:
        await put(kv, b"/a/k")
        revision = await put(kv, b"/a/l")
        watch = await kv.watch(b"/a/", after_revision=revision)
        await start_empty(cluster.members[0])
        await is_noticed(kv)
        newest = await write(config, 10)
        assert newest > revision
        await reads_again(kv)
        assert (await kv.get(b"/a/k")).kv is None
        with pytest.raises(Compacted):
            while True:
                await next_batch(watch)
        again = await kv.watch(b"/a/", after_revision=newest)
        made = await put(kv, b"/a/k")
        assert [entry[3] for entry in summary(await take(again, 1))] == [made]

    with_store(config, scenario)


def test_an_endpoint_of_another_cluster_is_not_written_to(cluster: EtcdCluster, tmp_path: Path) -> None:
    with running_cluster(tmp_path / "other") as other:
        config = EtcdConfig((*cluster.urls, *other.urls), request_timeout=1)

        async def scenario(kv: EtcdKV) -> None:
            revision = await put(kv, b"/a/k", b"v")
            cluster.members[0].kill()
            with pytest.raises(Unavailable):
                await kv.get(b"/a/k")
            with pytest.raises(Unavailable):
                await kv.optimistic_put(b"/a/l", b"v", 0)
            cluster.members[0].restart()
            await asyncio.to_thread(cluster.members[0].wait_until_healthy)
            await reads_again(kv)
            found = await kv.get(b"/a/k")
            assert found.kv is not None and found.kv.mod_revision == revision

            strange = open_etcd(EtcdConfig(other.urls))
            assert (await strange.range(b"", b"\0")).count == 0
            await strange.close()

        with_store(config, scenario)


def test_a_write_that_met_an_etcd_without_its_data_may_have_been_done(cluster: EtcdCluster) -> None:
    async def scenario(kv: EtcdKV) -> None:
        await put(kv, b"/a/k")
        await put(kv, b"/a/l")
        await start_empty(cluster.members[0])

        async def tried() -> bool:
            try:
                await kv.optimistic_put(b"/a/m", b"v", 0)
            except Timeout as error:
                return "may have been done" in str(error)
            except KVError:
                return False
            raise AssertionError("it was written")

        await eventually(tried, "nobody knows")

    with_store(EtcdConfig(cluster.urls, request_timeout=1), scenario)


def test_certificates_that_change_on_disk_are_used_for_the_next_connection(tmp_path: Path) -> None:
    with running_cluster(tmp_path, tls=True) as cluster:
        made = cluster.certificates
        assert made is not None
        mine = tmp_path / "mine"
        mine.mkdir()

        def be(name: str) -> None:
            for suffix in ("crt", "key"):
                shutil.copy(made / f"{name}.{suffix}", mine / f"client.{suffix}")

        shutil.copy(made / "ca.crt", mine)
        be("stranger")
        config = EtcdConfig(
            cluster.urls,
            ca_file=mine / "ca.crt",
            cert_file=mine / "client.crt",
            key_file=mine / "client.key",
            request_timeout=2,
        )

        async def scenario(kv: EtcdKV) -> None:
            with pytest.raises(Unavailable):
                await kv.get(b"/a/k")
            be("client")
            first = await put_until_done(kv, b"/a/k")
            watch = await kv.watch(b"/a/", after_revision=first)
            be("stranger")
            cluster.members[0].kill()
            with pytest.raises(Unavailable):
                await kv.get(b"/a/k")
            cluster.members[0].restart()
            await asyncio.to_thread(cluster.members[0].wait_until_healthy)
            with pytest.raises(Unavailable):
                await kv.get(b"/a/k")
            (mine / "client.crt").unlink()  # in the midst of the exchange
            with pytest.raises(Unavailable):
                await kv.get(b"/a/k")
            be("client")
            await reads_again(kv)
            second = await put(kv, b"/a/l")
            assert [entry[3] for entry in summary(await take(watch, 1))] == [second]

        with_store(config, scenario)


async def put_until_done(kv: EtcdKV, key: bytes) -> int:
    async with asyncio.timeout(15):
        while True:
            with contextlib.suppress(Unavailable):
                return await put(kv, key)
