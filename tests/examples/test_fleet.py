"""The example control plane, as its users run it."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from examples.fleet.controller import run
from examples.fleet.kinds import GROUP_VERSION, registry
from tests.waiting import until

from watchkeeper.client.config import ClientConfig
from watchkeeper.client.dynamic import DynamicClient, ResourceClient
from watchkeeper.client.leader_election import LeaderTimes
from watchkeeper.client.rest import RestClient
from watchkeeper.meta.errors import ApiError
from watchkeeper.testing import Server
from watchkeeper.testing.handle import Handle

ROOT = Path(__file__).parents[2]
TIMES = LeaderTimes(lease=6, renew=5, retry=0.1)


@pytest.fixture(scope="module")
def server() -> Iterator[Handle]:
    with Server(insecure_http=True, app=registry) as handle:
        yield handle


def harbor(name: str) -> dict[str, Any]:
    """The fleet of the example, under another name."""
    fleet: dict[str, Any] = yaml.safe_load((ROOT / "examples/fleet/harbor.yaml").read_text())
    fleet["metadata"]["name"] = name
    return fleet


class World:
    """Clients of the test itself."""

    def __init__(self, client: DynamicClient, fleets: ResourceClient, servers: ResourceClient) -> None:
        self.client = client
        self.fleets = fleets
        self.servers = servers

    async def names(self) -> list[str]:
        """Of all game servers."""
        return sorted(s["metadata"]["name"] for s in (await self.servers.list())["items"])

    async def status(self, name: str) -> Any:
        """Of a fleet."""
        return (await self.fleets.get(name)).get("status")


@asynccontextmanager
async def world(handle: Handle) -> AsyncIterator[World]:
    async with RestClient(ClientConfig(url=handle.url, token=handle.token)) as rest:
        client = DynamicClient(rest)
        yield World(
            client,
            await client.of_kind(GROUP_VERSION, "Fleet", namespace="default"),
            await client.of_kind(GROUP_VERSION, "GameServer", namespace="default"),
        )


def test_a_fleet_gets_its_servers_grows_shrinks_and_goes_with_them(server: Handle) -> None:
    async def scenario() -> None:
        async with world(server) as w:
            task = asyncio.create_task(run(w.client, identity="one", times=TIMES))
            await w.fleets.create(harbor("a"))

            async def is_ready(count: int) -> bool:
                return bool(await w.status("a") == {"replicas": count, "ready": count})

            await until(lambda: is_ready(3))
            assert await w.names() == ["a-0", "a-1", "a-2"]
            ports = [s["status"]["port"] for s in (await w.servers.list())["items"]]
            assert len(set(ports)) == 3
            await w.fleets.patch("a", {"spec": {"replicas": 5}}, subresource="scale")
            await until(lambda: is_ready(5))
            await w.servers.delete("a-1")
            await until(lambda: is_ready(5))
            await w.fleets.patch("a", {"spec": {"replicas": 1}})
            await until(lambda: is_ready(1))
            events = await w.client.of_kind("v1", "Event", namespace="default")
            told = {e["message"] for e in (await events.list())["items"]}
            assert {"created server a-0", "deleted server a-4"} <= told
            await w.fleets.delete("a")

            async def are_gone() -> bool:
                return await w.names() == []

            await until(are_gone)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    asyncio.run(scenario())


def test_another_controller_takes_over(server: Handle) -> None:
    async def scenario() -> None:
        async with world(server) as w:
            first = asyncio.create_task(run(w.client, identity="one", times=TIMES))
            leases = await w.client.of_kind("coordination.k8s.io/v1", "Lease", namespace="default")

            async def leads(name: str) -> bool:
                found = (await leases.list())["items"]
                return any(lease["spec"].get("holderIdentity") == name for lease in found)

            await until(lambda: leads("one"))
            second = asyncio.create_task(run(w.client, identity="two", times=TIMES))
            first.cancel()
            await asyncio.gather(first, return_exceptions=True)
            await until(lambda: leads("two"))
            await w.fleets.create(harbor("b"))

            async def is_ready() -> bool:
                return bool(await w.status("b") == {"replicas": 3, "ready": 3})

            await until(is_ready)
            await w.fleets.delete("b")
            second.cancel()
            await asyncio.gather(second, return_exceptions=True)

    asyncio.run(scenario())


def test_what_the_classes_and_the_strategy_forbid_is_refused(server: Handle) -> None:
    async def scenario() -> None:
        async with world(server) as w:
            fleet = harbor("c")
            fleet["spec"]["map"] = "moon"
            with pytest.raises(ApiError, match='supported values: "harbor", "desert", "castle"'):
                await w.fleets.create(fleet)
            await w.fleets.create(harbor("c"))
            with pytest.raises(ApiError, match=r"spec\.map: Forbidden: cannot change while there are servers"):
                await w.fleets.patch("c", {"spec": {"map": "desert"}})
            await w.fleets.delete("c")

    asyncio.run(scenario())


def test_the_commands_of_the_readme_work(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-m", "watchkeeper", "serve", "--app", "examples.fleet.kinds:registry", "--port", "0"]
    options = ["--storage", "memory:", "--data-dir", str(tmp_path / "data")]
    served = subprocess.Popen([*command, *options], cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)
    controller = None
    try:
        assert served.stdout is not None
        lines = [served.stdout.readline() for _ in range(2)]
        environment["KUBECONFIG"] = lines[1].strip().partition("=")[2]
        controller = subprocess.Popen(
            [sys.executable, "-m", "examples.fleet.controller"], cwd=ROOT, env=environment, stderr=subprocess.DEVNULL
        )
        kubectl = str(Path(sys.executable).with_name("kubectl"))

        def call(*arguments: str) -> str:
            return subprocess.run(
                [kubectl, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, check=True, timeout=60
            ).stdout

        call("create", "-f", "examples/fleet/harbor.yaml")
        call("wait", "fleet/harbor", "--for=jsonpath={.status.ready}=3", "--timeout=30s")
        table = [line.split() for line in call("get", "fleets,gameservers").splitlines() if line]
        assert table[0] == ["NAME", "MAP", "WANTED", "READY"]
        assert table[1] == ["fleet.fleet.example.com/harbor", "harbor", "3", "3"]
        assert [row[:3] for row in table[3:]] == [
            [f"gameserver.fleet.example.com/harbor-{i}", "harbor", "Ready"] for i in range(3)
        ]
        call("scale", "fleet", "harbor", "--replicas=5")
        call("wait", "fleet/harbor", "--for=jsonpath={.status.ready}=5", "--timeout=30s")
        assert "replicas" in call("explain", "fleet.spec")
        assert "created server harbor-4" in call("describe", "fleet", "harbor")
        call("delete", "fleet", "harbor", "--cascade=foreground")
        assert call("get", "gameservers", "-o", "name") == ""
    finally:
        for process in (controller, served):
            if process is not None:
                process.terminate()
                process.wait(20)
