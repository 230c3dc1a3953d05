"""What a cluster cannot do without comes back when somebody has deleted it."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest

from watchkeeper.registry.rest import Context, DeleteOptions
from watchkeeper.request.user import LOOPBACK
from watchkeeper.server.options import ServeOptions
from watchkeeper.server.server import Server
from watchkeeper.server.upkeep import Upkeep
from watchkeeper.storage.errors import KeyNotFound, StorageError
from watchkeeper.testing.clock import ManualClock


def test_a_failure_is_told_and_the_next_time_comes_all_the_same(caplog: pytest.LogCaptureFixture) -> None:
    calls: list[float] = []

    async def run() -> None:
        clock = ManualClock(start=0.0)

        async def put_right() -> None:
            calls.append(clock.time())
            if len(calls) == 1:
                raise StorageError("no answer")

        upkeep = Upkeep("namespaces", put_right, every=60.0, clock=clock)
        upkeep.start()
        await clock.advance(150)
        await upkeep.close()
        await clock.advance(150)

    with caplog.at_level(logging.WARNING):
        asyncio.run(run())
    assert calls == [60.0, 120.0]
    assert [record.getMessage() for record in caplog.records] == ["cannot put the namespaces right: no answer"]


def test_it_can_be_done_at_once() -> None:
    calls: list[float] = []

    async def run() -> None:
        clock = ManualClock(start=0.0)

        async def put_right() -> None:
            calls.append(clock.time())

        upkeep = Upkeep("trust", put_right, every=60.0, clock=clock)
        upkeep.start()
        await clock.advance(5)
        upkeep.now()
        await clock.advance(60)
        await upkeep.close()

    asyncio.run(run())
    assert calls == [5.0, 60.0]


async def uid_of(server: Server, resource: str, namespace: str, name: str) -> str:
    """The uid of what is there, "" when nothing is."""
    store = server.assembly.store("", resource)
    try:
        return str((await store.storage.get(store.key(namespace, name))).data()["metadata"]["uid"])
    except KeyNotFound:
        return ""


@pytest.mark.parametrize(
    ("resource", "namespace", "name"), [("services", "default", "kubernetes"), ("namespaces", "", "kube-node-lease")]
)
def test_what_a_cluster_begins_with_comes_back(
    resource: str, namespace: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("watchkeeper.server.server._OWN_SERVICE_SECONDS", 0.02)
    monkeypatch.setattr("watchkeeper.server.server._NAMESPACES_SECONDS", 0.02)
    options = ServeOptions(data_dir=tmp_path, storage="memory:", port=0, controllers=("namespace",))

    async def run() -> None:
        async with Server(options) as server:
            first = await uid_of(server, resource, namespace, name)
            context = Context(user=LOOPBACK, namespace=namespace)
            await server.assembly.store("", resource).delete(context, name, DeleteOptions())
            async with asyncio.timeout(10):
                while await uid_of(server, resource, namespace, name) in ("", first):
                    await asyncio.sleep(0.02)

    asyncio.run(run())
