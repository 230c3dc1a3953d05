"""A server that has stopped, or could not start, leaves no task, thread, socket or file lock behind."""

from __future__ import annotations

import asyncio
import gc
import socket
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from fault_client import Client

from watchkeeper.kv.sqlite import SQLiteKV
from watchkeeper.server.errors import StartupError
from watchkeeper.server.options import ServeOptions
from watchkeeper.server.server import Server, State

KIND = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "leftovers.rest.example"},
    "spec": {
        "group": "rest.example",
        "names": {"plural": "leftovers", "kind": "Leftover"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}


def options(folder: Path, storage: str, **more: Any) -> ServeOptions:
    return ServeOptions(
        data_dir=folder, storage=storage, port=more.pop("port", 0), insecure_http=True, admin_token="t", **more
    )


def left_after(work: Callable[[], Coroutine[Any, Any, None]]) -> tuple[list[str], list[str]]:
    """The tasks and threads that were not there before and still are."""
    threads = set(threading.enumerate())

    async def run() -> list[str]:
        await work()
        gc.collect()
        await asyncio.sleep(0)
        return [task.get_name() for task in asyncio.all_tasks() - {asyncio.current_task()}]

    tasks = asyncio.run(run())
    return tasks, [thread.name for thread in set(threading.enumerate()) - threads if "asyncio" not in thread.name]


async def use(server: Server) -> list[asyncio.Task[Any]]:
    """Keep all parts of a server busy; the tasks are watches that the server has to end."""
    port = int(server.urls[0].rpartition(":")[2])
    client = Client(port, "t")
    await client.call("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", KIND)
    await client.call("POST", "/api/v1/namespaces", {"metadata": {"name": "gone"}})
    await client.call("DELETE", "/api/v1/namespaces/gone")
    path = "/apis/rest.example/v1/namespaces/default/leftovers"
    while (await client.call("GET", path))[0] != 200:
        await asyncio.sleep(0.01)
    client.close()

    async def watch(path: str) -> int:
        return len([event async for event in Client(port, "t").stream(f"{path}?watch=1&allowWatchBookmarks=1")])

    paths = [path, "/api/v1/namespaces", "/api/v1/pods", "/apis/apps/v1/deployments"]
    watches = [asyncio.create_task(watch(path)) for path in paths * 3]
    await asyncio.sleep(0.2)
    assert not any(watch.done() for watch in watches)
    return watches


@pytest.mark.parametrize("storage", ["memory:", "sqlite"])
def test_a_stopped_server_has_ended_everything(tmp_path: Path, storage: str) -> None:
    path = tmp_path / "store.db"

    async def work() -> None:
        server = Server(options(tmp_path, f"sqlite:{path}" if storage == "sqlite" else storage))
        await server.start()
        watches = await use(server)
        await server.stop()
        assert server.state is State.STOPPED
        # A watch that broke off would raise.
        assert len(await asyncio.wait_for(asyncio.gather(*watches), 10)) == len(watches)

    assert left_after(work) == ([], [])
    if storage == "sqlite":

        async def open_again() -> None:
            await SQLiteKV.open(path).close()

        asyncio.run(open_again())


def test_a_server_that_cannot_start_has_ended_what_it_began(tmp_path: Path) -> None:
    (tmp_path / "crds").write_text("kind: [")

    async def work() -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(StartupError, match="in use"):
            await Server(options(tmp_path, "memory:", port=taken.getsockname()[1])).start()
        with pytest.raises(StartupError):
            await Server(options(tmp_path, f"sqlite:{tmp_path}/store.db", crds=tmp_path / "crds")).start()

    assert left_after(work) == ([], [])


def test_a_start_that_is_canceled_has_ended_what_it_began(tmp_path: Path) -> None:
    async def work() -> None:
        for delay in (0.0, 0.05, 0.15, 0.3):
            server = Server(options(tmp_path, f"sqlite:{tmp_path}/store.db"))
            start = asyncio.create_task(server.start())
            await asyncio.sleep(delay)
            start.cancel()
            await asyncio.gather(start, return_exceptions=True)
            await server.stop()
            assert server.state is State.STOPPED

    assert left_after(work) == ([], [])
