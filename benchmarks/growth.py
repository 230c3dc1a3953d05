"""How figures grow with objects, watchers and object size. Run: python -m benchmarks.growth [folder for the plots]

CPU time of a server on a SQLite file, plain HTTP, one client. Writes plots (SVG) and prints tables.
"""

from __future__ import annotations

import socket
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import orjson

from benchmarks.crd import Client
from benchmarks.database import fill
from benchmarks.memory import wait_until_cached
from benchmarks.plot import Series, plot
from watchkeeper.testing import ServerProcess
from watchkeeper.testing.handle import Handle

OBJECTS = (1_000, 3_000, 10_000, 30_000)
WATCHERS = (1, 10, 100, 1_000)
SIZES = (1, 4, 16, 64, 256)
"""KiB of a ConfigMap."""
_ROUNDS = 3
_MERGE = "application/merge-patch+json"


def cost(client: Client, work: Callable[[int], object], repeats: int) -> float:
    """CPU milliseconds of the server per call: the best of some rounds, so that other work matters less."""
    best = float("inf")
    for _ in range(_ROUNDS):
        before = client.cpu()
        for i in range(repeats):
            work(i)
        best = min(best, (client.cpu() - before) / repeats * 1000)
    return best


def getter(client: Client, path: str) -> Callable[[int], object]:
    """Reads a path."""
    return lambda _i: client.send("GET", path)


def by_objects() -> list[Series]:
    """Requests on one server after another, each with more Pods."""
    paths = {
        "get one Pod": ("/api/v1/namespaces/ns-07/pods/pod-000007", 600),
        "list one node's Pods": ("/api/v1/pods?resourceVersion=0&fieldSelector=spec.nodeName%3Dnode-7", 300),
        "list the Pods of an application (1 %)": ("/api/v1/pods?resourceVersion=0&labelSelector=app%3Dapp-7", 30),
        "one page of 500": ("/api/v1/pods?limit=500", 20),
        "list all": ("/api/v1/pods?resourceVersion=0", 2),
    }
    found = {name: Series(name, []) for name in (*paths, "patch one Pod")}
    for count in OBJECTS:
        with tempfile.TemporaryDirectory(prefix="watchkeeper-") as directory:
            path = Path(directory) / "pods.db"
            fill(path, count)
            process = ServerProcess(insecure_http=True, storage=f"sqlite:{path}")
            with process as handle:
                client = Client(handle, process.pid)
                wait_until_cached(client)
                for name, (target, repeats) in paths.items():
                    found[name].points.append((count, cost(client, getter(client, target), repeats)))
                found["patch one Pod"].points.append((count, cost(client, partial(patch, client), 100)))
    return list(found.values())


def patch(client: Client, number: int) -> None:
    """Change a label of one of 20 Pods."""
    place = number % 20
    body = orjson.dumps({"metadata": {"labels": {"round": f"{time.monotonic_ns()}"}}})
    client.send("PATCH", f"/api/v1/namespaces/ns-{place:02}/pods/pod-{place:06}", body, _MERGE)


class Watchers:
    """Watches on connections of their own. What they are sent is thrown away."""

    def __init__(self, handle: Handle, version: str, queries: list[str]) -> None:
        host, _, port = handle.url.rpartition("/")[2].partition(":")
        self.sockets = []
        for query in queries:
            path = f"/api/v1/pods?watch=true&resourceVersion={version}&timeoutSeconds=600{query}"
            each = socket.create_connection((host, int(port)))
            each.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {handle.token}\r\n\r\n".encode())
            if b" 200 " not in each.recv(4096).partition(b"\r\n")[0]:
                raise RuntimeError("a watch was refused")
            each.setblocking(False)
            self.sockets.append(each)

    def drain(self) -> None:
        """Take what has come."""
        for each in self.sockets:
            try:
                while each.recv(1 << 20):
                    pass
            except BlockingIOError:
                continue

    def close(self) -> None:
        """End all."""
        for each in self.sockets:
            each.close()


def by_watchers() -> list[Series]:
    """One patch among so many watchers: all see it, or one does."""
    every, one = Series("patch that all watchers see", []), Series("patch that one watcher sees", [])
    with tempfile.TemporaryDirectory(prefix="watchkeeper-") as directory:
        path = Path(directory) / "pods.db"
        fill(path, 1_000)
        process = ServerProcess(insecure_http=True, storage=f"sqlite:{path}")
        with process as handle:
            client = Client(handle, process.pid)
            wait_until_cached(client)
            for count in WATCHERS:
                for series, node in ((every, False), (one, True)):
                    listed = handle.request("GET", "/api/v1/namespaces/ns-00/pods?limit=1")
                    queries = [f"&fieldSelector=spec.nodeName%3Dnode-{i}" if node else "" for i in range(count)]
                    watchers = Watchers(handle, listed["metadata"]["resourceVersion"], queries)

                    def work(i: int, watchers: Watchers = watchers) -> None:
                        patch(client, i)
                        watchers.drain()

                    series.points.append((count, cost(client, work, 20)))
                    watchers.close()
                    time.sleep(0.5)
    return [every, one]


def by_size() -> list[Series]:
    """Requests on one ConfigMap after another, each larger."""
    found = {name: Series(name, []) for name in ("get", "create", "patch")}
    base = "/api/v1/namespaces/default/configmaps"
    process = ServerProcess(insecure_http=True)
    with process as handle:
        client = Client(handle, process.pid)
        for kib in SIZES:
            data = {f"key-{i}": "x" * 1000 for i in range(kib)}
            made = iter(range(10_000))

            def create(_i: int, kib: int = kib, data: dict[str, str] = data, made: object = made) -> None:
                name = f"size-{kib}-{next(made)}"  # type: ignore[call-overload]
                client.send("POST", base, orjson.dumps({"metadata": {"name": name}, "data": data}))

            def change(i: int, kib: int = kib) -> None:
                body = orjson.dumps({"metadata": {"labels": {"round": str(time.monotonic_ns())}}})
                client.send("PATCH", f"{base}/size-{kib}-{i % 20}", body, _MERGE)

            def get(i: int, kib: int = kib) -> None:
                client.send("GET", f"{base}/size-{kib}-{i % 20}")

            for name, work, repeats in (("create", create, 60), ("get", get, 300), ("patch", change, 60)):
                found[name].points.append((kib, cost(client, work, repeats)))
    return list(found.values())


def main() -> int:
    """Measure, print and plot."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path("docs/performance")
    folder.mkdir(parents=True, exist_ok=True)
    for name, axis, measure in (
        ("objects", "Pods stored", by_objects),
        ("watchers", "watchers", by_watchers),
        ("size", "KiB of an object", by_size),
    ):
        series = measure()
        print(f"\nCPU ms per operation by {axis}")
        print(f"{'':40}" + "".join(f"{x:>12,}" for x, _ in series[0].points))
        for each in series:
            print(f"{each.name:40}" + "".join(f"{y:12.3f}" for _, y in each.points))
        (folder / f"{name}.svg").write_text(plot(series, axis, "CPU ms per operation"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
