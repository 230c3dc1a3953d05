"""What thousands of definitions cost: memory, discovery, OpenAPI, start. Run: python -m benchmarks.definitions [number]

Each definition has a schema of ten thousand bytes, twenty of them share a group, and all are kept in a SQLite file.
"""

from __future__ import annotations

import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson

from benchmarks.crd import Client, structural
from watchkeeper.apis.schema_data import schema_data
from watchkeeper.meta.gvk import GroupVersionKind
from watchkeeper.testing import ServerProcess

MAX_MEMORY_MIB, MAX_DISCOVERY_MS, MAX_START_SECONDS = 600, 100, 10
MAX_WAIT_MS = 50
"""How long a request may wait because of a large document."""
PROTOBUF = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


def definition(number: int, schema: dict[str, Any]) -> dict[str, Any]:
    """One of many definitions."""
    group, plural = f"g{number // 20}.example.io", f"things{number}"
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "names": {"kind": f"Thing{number}", "plural": plural},
            "scope": "Namespaced",
            "versions": [version],
        },
    }


def schema_of_size() -> dict[str, Any]:
    """The schema of an autoscaler."""
    fields = schema_data().kinds[GroupVersionKind("autoscaling", "v2", "HorizontalPodAutoscaler")].fields
    return {"type": "object", "properties": {n: structural(fields[n].schema) for n in ("spec", "status")}}


def memory_mib(pid: int) -> float:
    """Resident memory of a process."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) / 1024


def discovery_ms(client: Client) -> tuple[float, float]:
    """Milliseconds of the first discovery after a change, and of the next one."""
    found: list[float] = []
    for _ in range(2):
        began = time.perf_counter()
        client.send("GET", "/apis", accept=AGGREGATED)
        found.append((time.perf_counter() - began) * 1e3)
    return found[0], found[1]


def longest_wait_ms(client: Client, other: Client, path: str, accept: str) -> tuple[float, float]:
    """Milliseconds of a request, and the longest that another client waits for a small answer meanwhile."""
    waits: list[float] = []
    done = threading.Event()

    def ask() -> None:
        while not done.is_set():
            began = time.perf_counter()
            other.send("GET", "/api/v1/namespaces/default")
            waits.append((time.perf_counter() - began) * 1e3)
            time.sleep(0.005)

    thread = threading.Thread(target=ask)
    thread.start()
    began = time.perf_counter()
    client.send("GET", path, accept=accept)
    taken = (time.perf_counter() - began) * 1e3
    done.set()
    thread.join()
    return taken, max(waits)


Tell = Callable[[str, float, str, float], None]


def change_one(client: Client, schema: dict[str, Any], number: int, tell: Tell) -> None:
    """Add a definition and take it away again, and see what discovery takes after each."""
    added = definition(number, schema)
    client.send("POST", DEFINITIONS, orjson.dumps(added))
    time.sleep(0.5)
    tell("discovery after one more", discovery_ms(client)[0], "ms", MAX_DISCOVERY_MS)
    client.send("DELETE", f"{DEFINITIONS}/{added['metadata']['name']}")
    time.sleep(0.5)
    tell("discovery after one less", discovery_ms(client)[0], "ms", MAX_DISCOVERY_MS)


def documents(client: Client, other: Client, tell: Tell) -> None:
    """Ask for the OpenAPI documents, in both forms and for the index."""
    forms = (
        ("OpenAPI v2", "/openapi/v2", "*/*"),
        ("in protobuf", "/openapi/v2", PROTOBUF),
        ("v3", "/openapi/v3", "*/*"),
    )
    for name, path, accept in forms:
        taken, waited = longest_wait_ms(client, other, path, accept)
        tell(name, taken, "ms", float("inf"))
        tell("  others wait at most", waited, "ms", MAX_WAIT_MS)


def main() -> int:
    """Print what was measured; 1 when something is over its bound."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    schema = schema_of_size()
    failed = False

    def tell(what: str, value: float, unit: str, bound: float) -> None:
        nonlocal failed
        failed |= value > bound
        print(f"{what:40}{value:10.1f} {unit:4}{f' (bound {bound:g})' if bound < float('inf') else ''}", flush=True)

    with tempfile.TemporaryDirectory() as directory:
        storage = f"sqlite:{directory}/objects.db"
        with (process := ServerProcess(insecure_http=True, storage=storage)) as handle:
            client = Client(handle, process.pid)
            began, cpu = time.perf_counter(), client.cpu()
            for number in range(count):
                client.send("POST", DEFINITIONS, orjson.dumps(definition(number, schema)))
            seconds, cost = time.perf_counter() - began, (client.cpu() - cpu) / count * 1e3
            print(f"{count} definitions in {seconds:.0f} s, {cost:.1f} ms of CPU each")
            time.sleep(1)
            tell("memory after creating them", memory_mib(process.pid), "MiB", MAX_MEMORY_MIB)
            first, next_one = discovery_ms(client)
            tell("discovery", first, "ms", MAX_DISCOVERY_MS)
            tell("discovery again", next_one, "ms", MAX_DISCOVERY_MS)
        began = time.perf_counter()
        with (process := ServerProcess(insecure_http=True, storage=storage)) as handle:
            tell("start", time.perf_counter() - began, "s", MAX_START_SECONDS)
            client = Client(handle, process.pid)
            time.sleep(1)
            tell("discovery after the start", discovery_ms(client)[0], "ms", MAX_DISCOVERY_MS)
            change_one(client, schema, count, tell)
            tell("memory after the start", memory_mib(process.pid), "MiB", MAX_MEMORY_MIB)
            documents(client, Client(handle, process.pid), tell)
            tell("memory with OpenAPI", memory_mib(process.pid), "MiB", MAX_MEMORY_MIB)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
