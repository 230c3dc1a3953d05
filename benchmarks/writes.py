"""What a write costs in a whole server without sockets, in CPU microseconds of the process.

    python -m benchmarks.writes [memory: | sqlite] [create] [unlike] [patch] [lease]

Requests go as bytes through the HTTP parser, all filters, the handlers and the store, and come back as bytes; what is
left out is the kernel and TLS. `storage` is as for `serve`, `memory:` if not given (`sqlite` for a file). The least of
several rounds is shown.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson
import uvloop

from benchmarks.decode import pod
from watchkeeper.server.http.connection import Connection
from watchkeeper.server.http.listener import Listener
from watchkeeper.server.options import ServeOptions
from watchkeeper.server.server import Server

NAMESPACE = "bench"
CONNECTIONS = 16
ROUNDS = 7
PER_ROUND = 800
OBJECTS = 200
OPERATIONS = ["create", "unlike", "patch", "lease"]
Requests = Iterator[bytes]


class Client(asyncio.Transport):
    """A connection to the server that is no socket: sends the next request when an answer has come."""

    def __init__(self, listener: Listener, requests: Requests, done: Callable[[], None]) -> None:
        super().__init__()
        self._requests = requests
        self._done = done
        self.statuses: list[bytes] = []
        self._loop = listener.loop
        self._connection = Connection(listener)
        self._connection.connection_made(self)

    def send(self) -> None:
        request = next(self._requests, None)
        if request is None:
            self.abort()
            self._done()
        else:
            self._connection.data_received(request)

    def write(self, data: Any) -> None:
        status = bytes(data[9:12])
        if status not in (b"200", b"201"):
            raise AssertionError(bytes(data))
        self._loop.call_soon(self.send)

    def writelines(self, pieces: Any) -> None:
        self.write(b"".join(pieces))

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    def get_write_buffer_size(self) -> int:
        return 0

    def is_closing(self) -> bool:
        return False

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default

    def abort(self) -> None:
        self._connection.connection_lost(None)

    close = abort

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass


class Bench:
    """A server, and what is sent to it."""

    def __init__(self, server: Server) -> None:
        self._listener = server._listener
        self._head = (
            f"Host: localhost\r\nAuthorization: Bearer {server.credentials.admin_token}\r\nAccept: application/json\r\n"
        )
        self._made = 0

    def request(self, method: str, path: str, content_type: str, body: bytes) -> bytes:
        head = (
            f"{method} {path} HTTP/1.1\r\n{self._head}Content-Type: {content_type}\r\nContent-Length: {len(body)}\r\n"
        )
        return f"{head}\r\n".encode() + body

    async def send(self, requests: Requests, connections: int = CONNECTIONS) -> None:
        """Send all of them, over so many connections."""
        finished = asyncio.Semaphore(0)
        for _ in range(connections):
            Client(self._listener, requests, finished.release).send()
        for _ in range(connections):
            await finished.acquire()

    async def measure(self, requests: Callable[[], list[bytes]]) -> float:
        """CPU microseconds for each request."""
        best = float("inf")
        for _ in range(ROUNDS):
            made = requests()
            start = time.process_time()
            await self.send(iter(made))
            best = min(best, (time.process_time() - start) / len(made))
        return best * 1e6

    async def prepare(self) -> None:
        path = f"/api/v1/namespaces/{NAMESPACE}"
        space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
        await self.send(iter([self.request("POST", "/api/v1/namespaces", "application/json", orjson.dumps(space))]), 1)
        pods = [self._pod(f"pod-{i}") for i in range(OBJECTS)]
        await self.send(self.request("POST", f"{path}/pods", "application/json", body) for body in pods)
        leases = self._leases()
        made = [
            {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": f"lease-{i}"},
             "spec": {"holderIdentity": "x", "leaseDurationSeconds": 40}}
            for i in range(OBJECTS)
        ]  # fmt: skip
        await self.send(self.request("POST", leases, "application/json", orjson.dumps(lease)) for lease in made)

    @staticmethod
    def _leases() -> str:
        return f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases"

    @staticmethod
    def _pod(name: str, *, note: str = "") -> bytes:
        obj = pod()
        if note:
            obj["spec"]["containers"][0]["args"].append(note)
        obj["metadata"].update(name=name, namespace=NAMESPACE)
        for number, container in enumerate(obj["spec"]["containers"]):
            container["ports"][0].update(name=f"http-{number}", containerPort=8080 + number)
        return orjson.dumps(obj)

    def _numbers(self) -> range:
        first = self._made
        self._made += PER_ROUND
        return range(first, self._made)

    def create(self) -> list[bytes]:
        path = f"/api/v1/namespaces/{NAMESPACE}/pods"
        names = (f"new-{i}" for i in self._numbers())
        return [self.request("POST", path, "application/json", self._pod(name)) for name in names]

    def unlike(self) -> list[bytes]:
        """Pods of which no two have the same spec."""
        path = f"/api/v1/namespaces/{NAMESPACE}/pods"
        names = (f"new-{i}" for i in self._numbers())
        return [self.request("POST", path, "application/json", self._pod(name, note=name)) for name in names]

    def patch(self) -> list[bytes]:
        return [
            self.request(
                "PATCH",
                f"/api/v1/namespaces/{NAMESPACE}/pods/pod-{i % OBJECTS}",
                "application/merge-patch+json",
                orjson.dumps({"metadata": {"labels": {"round": f"x{i}"}}}),
            )
            for i in self._numbers()
        ]

    def lease(self) -> list[bytes]:
        return [
            self.request(
                "PATCH",
                f"{self._leases()}/lease-{i % OBJECTS}",
                "application/merge-patch+json",
                orjson.dumps({"spec": {"renewTime": f"2026-01-01T00:00:00.{i % 1000000:06d}Z"}}),
            )
            for i in self._numbers()
        ]


async def run(storage: str, names: list[str]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        where = "" if storage == "sqlite" else storage
        options: dict[str, Any] = {"storage": where} if where else {}
        server = Server(ServeOptions(data_dir=Path(directory), insecure_http=True, port=0, **options))
        await server.start()
        bench = Bench(server)
        await bench.prepare()
        for name in names:
            print(f"{name:10} {await bench.measure(getattr(bench, name)):8.1f}", flush=True)
        await server.stop()


def main() -> None:
    given = sys.argv[1:]
    storage = given.pop(0) if given and given[0] not in OPERATIONS else "memory:"
    uvloop.run(run(storage, given or OPERATIONS))


if __name__ == "__main__":
    main()
