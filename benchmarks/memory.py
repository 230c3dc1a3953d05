"""What a server holds in memory: Pods, and idle watches. Run: python -m benchmarks.memory [pods] [watches] [plain]

With `plain` connections have no TLS.
"""

from __future__ import annotations

import socket
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.crd import Client
from benchmarks.database import fill
from watchkeeper.testing import ServerProcess
from watchkeeper.testing.handle import Handle

_NAMESPACE = "/api/v1/namespaces/ns-00/pods"


def resident(pid: int) -> float:
    """MiB of memory that a process has in use."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def wait_until_cached(client: Client, seconds: float = 600.0) -> None:
    """Let the server read all Pods; until it has, it asks lists to come again."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            client.send("GET", "/api/v1/pods?labelSelector=app%3Dnone")
            return
        except RuntimeError as error:
            if "429" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.5)


def open_watches(handle: Handle, version: str, count: int) -> list[socket.socket]:
    """So many watches, each on a connection of its own."""
    scheme, _, address = handle.url.partition("://")
    host, _, port = address.partition(":")
    context = handle.ssl_context() if scheme == "https" else None
    query = f"?watch=true&resourceVersion={version}&timeoutSeconds=600"
    head = f"GET {_NAMESPACE}{query} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {handle.token}\r\n\r\n".encode()
    found = []
    for _ in range(count):
        watch = socket.create_connection((host, int(port)))
        if context is not None:
            watch = context.wrap_socket(watch, server_hostname=host)
        watch.sendall(head)
        if b" 200 " not in watch.recv(4096).partition(b"\r\n")[0]:
            raise RuntimeError("a watch was refused")
        found.append(watch)
    return found


def main() -> int:
    """Print a table."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    watches = int(sys.argv[2]) if len(sys.argv) > 2 else 1_000
    plain = sys.argv[3:] == ["plain"]
    with tempfile.TemporaryDirectory(prefix="watchkeeper-") as directory:
        path = Path(directory) / "pods.db"
        fill(path, count)
        process = ServerProcess(insecure_http=plain, storage=f"sqlite:{path}")
        with process as handle:
            client = Client(handle, process.pid)
            print(f"{'idle':40}{resident(process.pid):10.1f} MiB")
            start, cpu = time.monotonic(), client.cpu()
            wait_until_cached(client)
            took = f"after {time.monotonic() - start:.1f} s, {client.cpu() - cpu:.1f} s of CPU"
            print(f"{f'{count:,} pods in the cache':40}{resident(process.pid):10.1f} MiB  ({took})")
            with_pods = resident(process.pid)
            version = handle.request("GET", f"{_NAMESPACE}?limit=1")["metadata"]["resourceVersion"]
            opened = open_watches(handle, version, watches)
            print(f"{f'{watches:,} idle watches more':40}{resident(process.pid) - with_pods:10.1f} MiB")
            for watch in opened:
                watch.close()
            time.sleep(1)
            print(f"{'after they have gone':40}{resident(process.pid) - with_pods:10.1f} MiB more than before")
    return 0


if __name__ == "__main__":
    sys.exit(main())
