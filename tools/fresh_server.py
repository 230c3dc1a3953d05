"""A fresh server in a process of its own, for tools that measure or compare from outside."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

START_SECONDS = 30.0
STOP_SECONDS = 20.0


@dataclass(frozen=True)
class FreshServer:
    """How to reach it."""

    url: str
    token: str
    pid: int
    data_dir: Path
    seconds_to_ready: float


@contextmanager
def fresh_server(storage: str = "memory:", options: Sequence[str] = ()) -> Iterator[FreshServer]:
    """Run `watchkeeper serve` on a free port with a data directory of its own; stop it and remove that afterwards."""
    with tempfile.TemporaryDirectory(prefix="watchkeeper-") as directory:
        log = Path(directory) / "server.log"
        command = [sys.executable, "-m", "watchkeeper", "serve", "--data-dir", directory, "--port", "0"]
        if storage:
            command += ["--storage", storage]
        started = time.monotonic()
        environment = {name: value for name, value in os.environ.items() if not name.startswith("WATCHKEEPER_")}
        # Compiling every module at every start is not what is to be measured.
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        with log.open("wb") as stderr:
            process = subprocess.Popen(
                [*command, *options], stdout=subprocess.PIPE, stderr=stderr, text=True, env=environment
            )
        try:
            yield _announced(process, Path(directory), started, log)
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _announced(process: subprocess.Popen[str], directory: Path, started: float, log: Path) -> FreshServer:
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line.startswith("serving on "):
        raise RuntimeError(f"the server did not start:\n{log.read_text()}")
    elapsed = time.monotonic() - started
    token = (directory / "admin.token").read_text().strip()
    return FreshServer(line.split()[-1], token, process.pid, directory, elapsed)
