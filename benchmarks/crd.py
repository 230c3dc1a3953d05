"""What custom resources cost compared with Pods, in CPU of the server. Run: python -m benchmarks.crd [operations]

The custom resources look like Pods once those have got their defaults, and their schema is that of a Pod's spec and
status, with its list types.
"""

from __future__ import annotations

import http.client
import selectors
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import orjson

from benchmarks.pods import pod
from watchkeeper.apis.schema_data import schema_data
from watchkeeper.meta.gvk import GroupVersionKind
from watchkeeper.runtime.schema import ListType, Schema, SchemaType
from watchkeeper.testing import ServerProcess
from watchkeeper.testing.handle import Handle

GROUP = "bench.example.io"
NAMESPACE = "bench"
ROUNDS = 8
"""Short ones: what else the machine does spoils long ones, and the best one counts."""
WATCHERS_OF_ALL, WATCHERS_OF_ONE = 100, 300
"""How many watches see each event, and how many there are for an object each."""
_SCALARS: dict[SchemaType, dict[str, Any]] = {
    SchemaType.STRING: {"type": "string"},
    SchemaType.INTEGER: {"type": "integer"},
    SchemaType.NUMBER: {"type": "number"},
    SchemaType.BOOLEAN: {"type": "boolean"},
    SchemaType.INT_OR_STRING: {"x-kubernetes-int-or-string": True},
}


def structural(schema: Schema) -> dict[str, Any]:
    """The schema of a built-in type as a definition would have it."""
    match schema.type:
        case SchemaType.STRUCT:
            fields = {name: structural(field.schema) for name, field in schema.fields.items()}
            required = [name for name, field in schema.fields.items() if field.required]
            return {"type": "object", "properties": fields, **({"required": required} if required else {})}
        case SchemaType.MAP:
            assert schema.element is not None
            return {"type": "object", "additionalProperties": structural(schema.element)}
        case SchemaType.LIST:
            return _list(schema)
        case SchemaType.ANY:
            return {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {**_SCALARS[schema.type]}


def _list(schema: Schema) -> dict[str, Any]:
    assert schema.element is not None
    found: dict[str, Any] = {"type": "array", "items": structural(schema.element)}
    if schema.list_type is ListType.SET:
        found["x-kubernetes-list-type"] = "set"
    keys = schema.list_map_keys
    if schema.list_type is ListType.MAP:
        properties, required = found["items"]["properties"], found["items"].get("required", ())
        for key in keys:
            if key not in required:
                properties[key]["default"] = schema.keyed_defaults.get(key, "")
        found.update({"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(keys)})
    return found


def definition() -> dict[str, Any]:
    """A definition of a kind that looks like Pods."""
    fields = schema_data().kinds[GroupVersionKind("", "v1", "Pod")].fields
    properties = {name: structural(fields[name].schema) for name in ("spec", "status")}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"capsules.{GROUP}"},
        "spec": {
            "group": GROUP,
            "names": {"kind": "Capsule", "plural": "capsules"},
            "scope": "Namespaced",
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": {"type": "object", "properties": properties}},
                }
            ],
        },
    }


class Client:
    """One connection, and the CPU time of the server behind it."""

    def __init__(self, handle: Handle, pid: int) -> None:
        self._connection: http.client.HTTPConnection
        scheme, _, address = handle.url.partition("://")
        if scheme == "https":
            self._connection = http.client.HTTPSConnection(address, context=handle.ssl_context())
        else:
            self._connection = http.client.HTTPConnection(address)
        self.handle = handle
        self._headers = {"Authorization": f"Bearer {handle.token}", "Content-Type": "application/json"}
        self._pid = pid

    def cpu(self) -> float:
        """Seconds that the server has spent, in all its threads."""
        threads = Path(f"/proc/{self._pid}/task").iterdir()
        return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads) / 1e9

    def send(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        content_type: str = "application/json",
        accept: str = "application/json",
    ) -> bytes:
        """One request; returns the body of the answer."""
        headers = {**self._headers, "Content-Type": content_type, "Accept": accept}
        self._connection.request(method, path, body, headers)
        response = self._connection.getresponse()
        answer = response.read()
        if response.status >= 400:
            raise RuntimeError(f"{method} {path}: {response.status} {answer[:300]!r}")
        return answer

    def wait_for(self, path: str) -> None:
        """Return once a path is served. Raises RuntimeError when it is not in time."""
        for attempt in range(100):
            try:
                self.send("GET", path)
                return
            except RuntimeError:
                if attempt == 99:
                    raise
                time.sleep(0.05)


class Kind:
    """The collection that is worked on."""

    def __init__(self, client: Client, path: str, api_version: str, kind: str, model: dict[str, Any]) -> None:
        """`model` is what all objects look like."""
        self.client = client
        self.model = model
        self.path = path
        self._head = {"apiVersion": api_version, "kind": kind}
        self._patches = 0

    def create(self, number: int) -> None:
        meta = {"name": f"capsule-{number:06d}", "labels": self.model["metadata"]["labels"]}
        self.client.send("POST", self.path, orjson.dumps({**self.model, **self._head, "metadata": meta}))

    def get(self, number: int) -> None:
        self.client.send("GET", f"{self.path}/capsule-{number:06d}")

    def patch(self, number: int) -> None:
        self._patches += 1
        patch = orjson.dumps({"metadata": {"labels": {"round": str(self._patches)}}})
        path = f"{self.path}/capsule-{number:06d}"
        self.client.send("PATCH", path, patch, "application/merge-patch+json")

    def delete(self, number: int) -> None:
        self.client.send("DELETE", f"{self.path}/capsule-{number:06d}?gracePeriodSeconds=0")

    def list(self, _number: int) -> None:
        self.client.send("GET", f"{self.path}?resourceVersion=0")


class Watchers:
    """Watches over connections of their own, drained by a thread that counts events."""

    def __init__(self, handle: Handle, paths: list[str]) -> None:
        self.events = 0
        self._selector = selectors.DefaultSelector()
        self._sockets = [self._open(handle, path) for path in paths]
        self._closed = False
        self._thread = threading.Thread(target=self._drain)
        self._thread.start()

    def _open(self, handle: Handle, path: str) -> socket.socket:
        address = urlsplit(handle.url)
        assert address.hostname is not None
        assert address.port is not None
        connection = socket.create_connection((address.hostname, address.port))
        head = f"GET {path} HTTP/1.1\r\nHost: {address.netloc}\r\nAuthorization: Bearer {handle.token}\r\n\r\n"
        connection.sendall(head.encode())
        self._selector.register(connection, selectors.EVENT_READ)
        return connection

    def _drain(self) -> None:
        while not self._closed:
            for key, _ in self._selector.select(0.1):
                # A piece that was cut within these bytes counts once, as its other half has none of them.
                self.events += key.fileobj.recv(1 << 20).count(b'"type":"MODIFIED"')  # type: ignore[union-attr]

    def wait(self, events: int) -> None:
        """Return when so many events have come. Raises RuntimeError when they do not."""
        deadline = time.monotonic() + 10
        while self.events < events:
            if time.monotonic() > deadline:
                raise RuntimeError(f"{self.events} events instead of {events}")
            time.sleep(0.0005)

    def close(self) -> None:
        """End all watches."""
        self._closed = True
        self._thread.join()
        for connection in self._sockets:
            connection.close()


@contextmanager
def watching(kind: Kind, paths: list[str]) -> Iterator[Watchers]:
    """Watches from now on."""
    version = orjson.loads(kind.client.send("GET", f"{kind.path}?limit=1"))["metadata"]["resourceVersion"]
    watchers = Watchers(kind.client.handle, [f"{path}&watch=true&resourceVersion={version}" for path in paths])
    try:
        time.sleep(0.5)
        yield watchers
    finally:
        watchers.close()


def watch_all(kind: Kind, repeats: int) -> float:
    """CPU microseconds of the server for each event to each of many watchers, the patch included."""
    with watching(kind, [f"{kind.path}?labelSelector="] * WATCHERS_OF_ALL) as watchers:
        before = kind.client.cpu()
        for i in range(repeats):
            kind.patch(i)
            watchers.wait((i + 1) * WATCHERS_OF_ALL)
        return (kind.client.cpu() - before) / repeats / WATCHERS_OF_ALL * 1e6


def watch_one(kind: Kind, repeats: int) -> float:
    """CPU microseconds of the server for a patch and the event to the one of many watchers that it concerns."""
    names = [f"capsule-{number:06d}" for number in range(WATCHERS_OF_ONE)]
    with watching(kind, [f"{kind.path}?fieldSelector=metadata.name={name}" for name in names]) as watchers:
        before = kind.client.cpu()
        for i in range(repeats):
            kind.patch(i % WATCHERS_OF_ONE)
            watchers.wait(i + 1)
        return (kind.client.cpu() - before) / repeats * 1e6


def measure(client: Client, work: Callable[[int], None], repeats: int, objects: int) -> float:
    """CPU microseconds of the server per operation on one of so many objects."""
    before = client.cpu()
    for i in range(repeats):
        work(i % objects)
    return (client.cpu() - before) / repeats * 1e6


def rows(count: int) -> list[tuple[str, Callable[[Kind], float]]]:
    """What is measured, by name, as CPU microseconds per operation."""

    def each(name: str, repeats: int) -> Callable[[Kind], float]:
        return lambda kind: measure(kind.client, getattr(kind, name), repeats, count)

    return [
        ("create", lambda kind: create_again(kind, count // 3)),
        ("get", each("get", count)),
        ("patch", each("patch", count // 3)),
        ("list", each("list", max(3, count // 100))),
        (f"event to one of {WATCHERS_OF_ALL} watchers", lambda kind: watch_all(kind, max(5, count // 60))),
        (f"update among {WATCHERS_OF_ONE} watchers", lambda kind: watch_one(kind, max(50, count // 6))),
    ]


def create_again(kind: Kind, count: int) -> float:
    """CPU microseconds of creating so many of the objects anew."""
    for number in range(count):
        kind.delete(number)
    return measure(kind.client, kind.create, count, count)


def main() -> int:
    """Print a table of the best of several rounds; 1 when custom resources cost more than 1.3 times what Pods cost."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    process = ServerProcess(insecure_http=True, storage="memory:")
    with process as handle:
        client = Client(handle, process.pid)
        client.send("POST", "/api/v1/namespaces", orjson.dumps({"metadata": {"name": NAMESPACE}}))
        client.send("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", orjson.dumps(definition()))
        path = f"/api/v1/namespaces/{NAMESPACE}/pods"
        model = pod(1)
        model["metadata"] = {"name": "model", "labels": model["metadata"]["labels"]}
        model = orjson.loads(client.send("POST", path, orjson.dumps(model)))
        pods = Kind(client, path, "v1", "Pod", model)
        path = f"/apis/{GROUP}/v1/namespaces/{NAMESPACE}/capsules"
        capsules = Kind(client, path, f"{GROUP}/v1", "Capsule", model)
        client.wait_for(path)
        dear = False
        for kind in (pods, capsules):
            # What is made once, such as the compiled schema, is not what an operation costs.
            for number in range(count):
                kind.create(number)
        print(f"{'CPU microseconds per operation':34}{'Pod':>12}{'custom':>12}{'ratio':>8}")
        found = []
        for name, run in rows(count):
            # Rounds of both in turn, so that what else the machine does burdens neither of them.
            taken = [[run(kind) for kind in (pods, capsules)] for _ in range(ROUNDS)]
            found.append((name, [min(column) for column in zip(*taken, strict=True)]))
        for name, (a, b) in found:
            print(f"{name:34}{a:12.0f}{b:12.0f}{b / a:8.2f}")
            dear |= b > 1.3 * a
    return 1 if dear else 0


if __name__ == "__main__":
    sys.exit(main())
