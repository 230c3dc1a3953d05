"""Servers under test: processes on a store of their own, to be killed, stopped and starved."""

from __future__ import annotations

import asyncio
import json
import os
import random
import resource
import signal
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path

from fault_client import Client, NoAnswer, NotSent
from fault_history import Change, State
from fault_workload import NAMESPACES

from watchkeeper.kv.interface import KV, EventType
from watchkeeper.testing.etcd import EtcdCluster
from watchkeeper.testing.ports import free_port

TOKEN = "test"
_PREFIX = b"/registry/configmaps/"
_SLOW = (
    "import sys, time, watchkeeper.kv.sqlite.committer as c; commit = c.commit\n"
    "def slow(*a):\n    time.sleep({delay}); commit(*a)\n"
    "c.commit = slow\n"
    "from watchkeeper.server.cli import main; sys.exit(main())"
)
"""A server whose disk takes its time: each commit waits, on the writer's thread."""


class ServerProcess:
    """`watchkeeper serve` on one port, over many starts."""

    def __init__(self, directory: Path, storage: str, *options: str, commit_delay: float = 0.0) -> None:
        self.directory = directory
        self.port = free_port()
        self.starts = 0
        self._log = directory.parent / f"{directory.name}.log"
        program = ["-c", _SLOW.format(delay=commit_delay)] if commit_delay else ["-m", "watchkeeper"]
        self._command = [
            *(sys.executable, *program, "serve", "--insecure-http", "--admin-token", TOKEN),
            *("--port", str(self.port), "--data-dir", str(directory), "--storage", storage),
            *("--controllers", "", "--compaction-interval", "0", "--log-level", "warning", *options),
        ]
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """The running process."""
        assert self._process is not None
        return self._process

    async def start(self) -> None:
        """Start, and wait until it is ready."""
        self.starts += 1
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log)
        await self.until_ready()

    async def until_ready(self, seconds: float = 120.0) -> None:
        """Wait for /readyz."""
        client = Client(self.port, TOKEN)
        async with asyncio.timeout(seconds):
            while True:
                assert self.process.poll() is None, f"it ended: {self.log()[-3000:]}"
                try:
                    if (await client.call("GET", "/readyz"))[0] == 200:
                        break
                except (NotSent, NoAnswer):
                    pass
                await asyncio.sleep(0.05)
        client.close()

    def kill(self) -> None:
        """End it as a crash would."""
        self.process.kill()
        self.process.wait()

    async def terminate(self, seconds: float = 60.0) -> int:
        """Ask it to stop; returns the exit code. Raises TimeoutError."""
        self.process.terminate()
        return await asyncio.to_thread(self.process.wait, seconds)

    async def pause(self, seconds: float) -> None:
        """Let it stand still for a while."""
        self.process.send_signal(signal.SIGSTOP)
        await asyncio.sleep(seconds)
        self.process.send_signal(signal.SIGCONT)

    def limit_files(self, size: int) -> None:
        """No file grows beyond `size` bytes from now on; -1 lifts that."""
        limit = resource.RLIM_INFINITY if size < 0 else size
        resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))

    def log(self) -> str:
        """What it has logged."""
        return self._log.read_text(errors="replace")

    def panics(self) -> list[str]:
        """Lines of the log that tell of faults of its own."""
        return [
            line
            for line in self.log().splitlines()
            if "panic while" in line or "Traceback" in line or ("task " in line and "failed" in line)
        ]


class Target(ABC):
    """Servers on one store."""

    def __init__(self, servers: list[ServerProcess]) -> None:
        self.servers = servers
        self._rng = random.Random(0)

    async def start(self) -> None:
        """Start all servers."""
        for server in self.servers:
            await server.start()

    def client(self) -> Client:
        """A client of any of the servers."""
        return Client(self._rng.choice(self.servers).port, TOKEN)

    async def stop(self) -> None:
        """Stop all servers; they must end well."""
        for server in self.servers:
            assert await server.terminate() == 0

    def kill(self) -> None:
        """End everything that still runs."""
        for server in self.servers:
            if server._process is not None and server.process.poll() is None:
                server.kill()

    @abstractmethod
    def open(self) -> KV:
        """The store itself; the servers are stopped."""

    async def log(self, last: int) -> list[Change]:
        """All changes that the store knows, oldest first, up to one that is certainly there."""
        kv = self.open()
        try:
            watch = await kv.watch(_PREFIX, after_revision=1)
            changes: list[Change] = []
            reached = 0
            while reached < last:
                batch = await asyncio.wait_for(anext(watch), 60)
                reached = batch.revision
                for event in batch.events:
                    changes += _change(event.kv.key, event.kv.value, event.kv.mod_revision, event.type)
            return changes
        finally:
            await kv.close()


def _change(raw: bytes, value: bytes, revision: int, kind: EventType) -> Iterator[Change]:
    key = raw.removeprefix(_PREFIX).decode()
    if key.partition("/")[0] not in NAMESPACES:
        return
    if kind is EventType.DELETE:
        yield Change(revision, key, None)
        return
    obj = json.loads(value)
    if "op" in obj.get("data", {}):
        yield Change(revision, key, State(obj["data"]["op"], revision, obj["metadata"]["labels"]["color"]))


class SqliteTarget(Target):
    """One server on a file."""

    def __init__(self, directory: Path, *, commit_delay: float = 0.0) -> None:
        self.path = directory / "store.db"
        super().__init__([ServerProcess(directory, f"sqlite:{self.path}", commit_delay=commit_delay)])

    @property
    def server(self) -> ServerProcess:
        """The only server."""
        return self.servers[0]

    def open(self) -> KV:
        from watchkeeper.kv.sqlite import SQLiteKV

        return SQLiteKV.open(self.path)

    def largest_file(self) -> int:
        """In bytes, of the database and what belongs to it."""
        return max(path.stat().st_size for path in self.path.parent.glob("store.db*"))


class EtcdTarget(Target):
    """Two servers on one etcd."""

    def __init__(self, directory: Path, cluster: EtcdCluster, servers: int = 2) -> None:
        self.cluster = cluster
        storage = "etcd://" + ",".join(url.removeprefix("http://") for url in cluster.urls)
        directory.mkdir(parents=True, exist_ok=True)
        super().__init__([ServerProcess(directory / f"server-{n}", storage) for n in range(servers)])

    def open(self) -> KV:
        from watchkeeper.kv.etcd import EtcdConfig, open_etcd

        return open_etcd(EtcdConfig(self.cluster.urls))


def is_root() -> bool:
    """Whether small disks can be mounted."""
    return os.geteuid() == 0
