"""What the floors of the load test cost on this machine. Run: python -m benchmarks.floors

The goals of the load test were set from floors measured on another machine: what a request, a chunk, a commit, or a
parse costs with nothing of an API server around it. Machines do not differ by one factor: one that waits for memory or
for the kernel is slower at these than at arithmetic. The last column says by how much this machine is, floor by floor.
For a page and a list there is no figure of another machine: a bare ASGI application sends bytes that it has ready to
the client of the load test. CPU milliseconds, the smallest and the middle of five rounds, the ratio of the middle.
Needs `wrk` and uvicorn (`uv pip install uvicorn`).
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import shutil
import socket
import sqlite3
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson

from benchmarks.pods import pod
from watchkeeper.server.pki import serving_certificate

ROUNDS = 5
BODY = b"b" * 7700
PIECE = 240 * 1024
PAGE = orjson.dumps({"items": [pod(i) for i in range(500)]})
LIST_PIECES = 400
CHUNKS = 20_000
SECONDS = 4
WRITES = 2000


async def constant(scope: Any, receive: Any, send: Any) -> None:
    """The application that uvicorn serves: constant bytes of several sizes."""
    if scope["type"] != "http":
        return
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/json")]})
    chunks = _CHUNKS.get(scope["path"], [BODY])
    for chunk in chunks:
        await send({"type": "http.response.body", "body": chunk, "more_body": True})
    await send({"type": "http.response.body"})


_CHUNKS = {
    "/stream": [BODY] * CHUNKS,
    "/page": [PAGE[at : at + PIECE] for at in range(0, len(PAGE), PIECE)],
    "/list": [b"l" * PIECE] * LIST_PIECES,
}


@contextmanager
def serving(folder: Path, *, tls: bool) -> Iterator[tuple[int, int]]:
    """Run uvicorn: its process and its port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "uvicorn", "benchmarks.floors:constant", "--port", str(port)]
    command += ["--http", "httptools", "--loop", "uvloop", "--log-level", "error", "--no-access-log"]
    if tls:
        pair = serving_certificate(folder, "127.0.0.1")
        command += ["--ssl-certfile", str(pair.cert), "--ssl-keyfile", str(pair.key)]
    process = subprocess.Popen(command)
    try:
        for _ in range(100):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield process.pid, port
    finally:
        process.terminate()
        process.wait()


def cpu(pid: int) -> float:
    """CPU milliseconds that a process has spent."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") * 1000


def request(pid: int, port: int) -> float:
    before = cpu(pid)
    command = ["wrk", "-t", "1", "-c", "16", "-d", f"{SECONDS}s", f"https://127.0.0.1:{port}/"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    (line,) = (line for line in said.splitlines() if "requests in" in line)
    return (cpu(pid) - before) / int(line.split()[0])


async def read(port: int, path: str, times: int, tls: ssl.SSLContext) -> None:
    """Ask as the load test does: one request after another on a connection, and the pages are parsed."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=tls, limit=1 << 26)
    for _ in range(times):
        writer.write(f"GET {path} HTTP/1.1\r\nhost: a\r\n\r\n".encode())
        await reader.readuntil(b"\r\n\r\n")
        pieces = []
        while size := int(await reader.readuntil(b"\r\n"), 16):
            pieces.append((await reader.readexactly(size + 2))[:-2])
        await reader.readexactly(2)
        if path == "/page":
            json.loads(b"".join(pieces))
    writer.close()


def sent(pid: int, port: int, path: str, times: int, tls: ssl.SSLContext) -> float:
    """The cost of one answer."""
    before = cpu(pid)
    asyncio.run(read(port, path, times, tls))
    return (cpu(pid) - before) / times


def chunk(pid: int, port: int, tls: ssl.SSLContext | None) -> float:
    with socket.create_connection(("127.0.0.1", port)) as plain:
        connection = tls.wrap_socket(plain) if tls is not None else plain
        connection.sendall(b"GET /stream HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
        into, before = bytearray(1 << 18), cpu(pid)
        while connection.recv_into(into):
            pass
        return (cpu(pid) - before) / CHUNKS


def commit(folder: Path, group: int) -> float:
    """A conditional insert, in commits of so many."""
    path = folder / "floor.db"
    path.unlink(missing_ok=True)
    database = sqlite3.connect(path, isolation_level=None)
    database.execute("PRAGMA journal_mode=WAL")
    database.execute("PRAGMA synchronous=FULL")
    database.execute("CREATE TABLE kv (key BLOB PRIMARY KEY, value BLOB) WITHOUT ROWID")
    start = time.process_time()
    for first in range(0, WRITES, group):
        database.execute("BEGIN IMMEDIATE")
        for i in range(first, first + group):
            database.execute("INSERT INTO kv VALUES (?, ?) ON CONFLICT DO NOTHING", (b"/pods/%06d" % i, BODY))
        database.execute("COMMIT")
    spent = time.process_time() - start
    database.close()
    return spent / WRITES * 1000


def loop(work: Callable[[], object]) -> float:
    start = time.process_time()
    for _ in range(WRITES):
        work()
    return (time.process_time() - start) / WRITES * 1000


def row(what: str, there: float | None, measure: Callable[[], float]) -> None:
    least, _, middle, *_ = sorted(measure() for _ in range(ROUNDS))
    known = f"{there:10.4f}" if there else " " * 10
    print(f"{what:50}{known}{least:10.4f}{middle:10.4f}" + (f"{middle / there:8.1f}" if there else ""), flush=True)


def main() -> None:
    print(f"{'floor':50}{'there':>10}{'least':>10}{'here':>10}{'ratio':>8}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if shutil.which("wrk") and importlib.util.find_spec("uvicorn"):
            trusting = ssl.create_default_context()
            trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
            with serving(folder, tls=True) as (pid, port):
                row("uvicorn answers 7.7 KB over TLS", 0.025, lambda: request(pid, port))
                row("a chunk of 7.7 KB over TLS", 0.015, lambda: chunk(pid, port, trusting))
                megabytes = len(PAGE) / 1e6
                row(f"a page of {megabytes:.1f} MB over TLS", None, lambda: sent(pid, port, "/page", 20, trusting))
                megabytes = LIST_PIECES * PIECE / 1e6
                row(f"a list of {megabytes:.0f} MB over TLS", None, lambda: sent(pid, port, "/list", 3, trusting))
            with serving(folder, tls=False) as (pid, port):
                row("a chunk of 7.7 KB without", 0.008, lambda: chunk(pid, port, None))
        else:
            print("no wrk, or no uvicorn: floors of HTTP are left out")
        row("a conditional insert into SQLite, alone", 0.064, lambda: commit(folder, 1))
        row("a conditional insert into SQLite, in groups of 8", 0.02, lambda: commit(folder, 8))
    parsed = pod(0)
    del parsed["metadata"]["managedFields"]
    text = orjson.dumps(parsed)
    row(f"orjson parses a Pod of {len(text) / 1000:.1f} KB", 0.0066, lambda: loop(lambda: orjson.loads(text)))
    row(f"orjson writes a Pod of {len(text) / 1000:.1f} KB", 0.0015, lambda: loop(lambda: orjson.dumps(parsed)))


if __name__ == "__main__":
    main()
