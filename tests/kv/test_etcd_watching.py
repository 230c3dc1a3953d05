"""What befalls the streams of watches of an etcd, and that no watch goes quiet for it."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from aetcd.rpc import rpc_pb2
from etcd_fixtures import empty_store, needs_etcd, run, shared_cluster
from grpc.aio import EOF

from watchkeeper.kv.errors import Unavailable
from watchkeeper.kv.etcd.members import connect
from watchkeeper.kv.etcd.store import EtcdKV
from watchkeeper.kv.etcd.watching import EtcdWatch, WatchState
from watchkeeper.testing.kv_suite.case import next_batch, put, summary, take

pytestmark = needs_etcd

Scenario = Callable[[EtcdKV, EtcdWatch], Awaitable[None]]


def with_watch(scenario: Scenario) -> None:
    async def play() -> None:
        kv = await empty_store()
        assert isinstance(kv, EtcdKV)
        watch = await kv.watch(b"/a/")
        assert isinstance(watch, EtcdWatch)
        try:
            async with asyncio.timeout(30):
                await scenario(kv, watch)
        finally:
            await kv.close()

    run(play())


async def follows_again(watch: EtcdWatch, old: Any) -> None:
    while watch.state is not WatchState.FOLLOWING or watch._call is old:
        await asyncio.sleep(0.01)


def test_who_gives_up_asking_for_progress_does_not_end_the_watch() -> None:
    async def scenario(kv: EtcdKV, watch: EtcdWatch) -> None:
        await kv.request_progress(watch)
        stream = watch._call
        for turns in (0, 1, 2, 3):
            for _ in range(20):
                asking = asyncio.ensure_future(watch.request_progress())
                for _ in range(turns):
                    await asyncio.sleep(0)
                asking.cancel()
                await asyncio.gather(asking, return_exceptions=True)
        revision = await put(kv, b"/a/k", b"v")
        assert [entry[3] for entry in summary(await take(watch, 1))] == [revision]
        assert watch._call is stream

    with_watch(scenario)


def test_those_who_ask_for_progress_together_do_not_break_the_stream() -> None:
    async def scenario(kv: EtcdKV, watch: EtcdWatch) -> None:
        stream = watch._call
        for _ in range(10):
            await asyncio.gather(*(watch.request_progress() for _ in range(20)))
        revision = await put(kv, b"/a/k", b"v")
        assert [entry[3] for entry in summary(await take(watch, 1))] == [revision]
        assert watch._call is stream

    with_watch(scenario)


def test_nobody_waits_long_for_a_question_that_cannot_be_sent() -> None:
    async def scenario(kv: EtcdKV, watch: EtcdWatch) -> None:
        class Stuck:
            async def write(self, message: Any) -> None:
                await asyncio.sleep(60)

        stream, watch._call = watch._call, Stuck()
        start = asyncio.get_running_loop().time()
        await asyncio.gather(*(watch.request_progress() for _ in range(3)))
        assert asyncio.get_running_loop().time() - start < 5
        watch._call = stream

    with_watch(scenario)


def test_what_a_member_runs_is_not_waited_for_as_long_as_an_answer() -> None:
    async def scenario(kv: EtcdKV, watch: EtcdWatch) -> None:
        assert watch.member is not None
        watch.member.version = None
        shared_cluster().members[0].pause()
        start = asyncio.get_running_loop().time()
        try:
            with pytest.raises(Unavailable):
                await kv.request_progress(watch)
            assert asyncio.get_running_loop().time() - start < 6
        finally:
            shared_cluster().members[0].resume()

    with_watch(scenario)


def test_progress_is_asked_for_only_of_a_member_whose_version_is_known_to_tell_the_truth() -> None:
    """The stream goes over to an older member while the first one says what it runs."""

    async def scenario(kv: EtcdKV, watch: EtcdWatch) -> None:
        first, (older,) = watch.member, connect(kv._cluster.config)
        assert first is not None
        first.version, older.version = None, "3.5.1"

        async def status(request: Any, **options: Any) -> Any:
            watch.member = older
            return rpc_pb2.StatusResponse(version="3.6.0", header=rpc_pb2.ResponseHeader(cluster_id=kv._cluster.id))

        first.status = status
        try:
            assert not await kv.request_progress(watch)
            assert first.version == "3.6.0"
            assert watch._asking is None
        finally:
            await older.close()

    with_watch(scenario)


def test_a_stream_that_was_cancelled_is_resumed() -> None:
    async def scenario(kv: EtcdKV, watch: EtcdWatch) -> None:
        first = await put(kv, b"/a/k", b"one")
        stream = watch._call
        stream.cancel()
        second = await put(kv, b"/a/k", b"two", first)
        await follows_again(watch, stream)
        assert [entry[3] for entry in summary(await take(watch, 2))] == [first, second]

    with_watch(scenario)


def test_a_member_that_ended_a_stream_may_run_something_else_when_it_is_back() -> None:
    async def scenario(kv: EtcdKV, watch: EtcdWatch) -> None:
        stream, member = watch._call, watch.member
        await kv.request_progress(watch)
        assert member is not None
        assert member.version == (await kv.status()).version

        async def ended() -> Any:
            return EOF

        watch._call.read = ended
        first = await put(kv, b"/a/k", b"one")
        await follows_again(watch, stream)
        assert member.version is None
        second = await put(kv, b"/a/k", b"two", first)
        assert [entry[3] for entry in summary(await take(watch, 2))] == [first, second]

    with_watch(scenario)


def test_a_watch_that_fails_by_a_fault_of_its_own_says_so() -> None:
    async def scenario(kv: EtcdKV, watch: EtcdWatch) -> None:
        def spoilt(events: Any) -> None:
            raise LookupError("a fault")

        watch._deliver = spoilt  # type: ignore[method-assign]
        await put(kv, b"/a/k", b"v")
        with pytest.raises(Unavailable, match="a fault"):
            while True:
                await next_batch(watch)

    with_watch(scenario)
