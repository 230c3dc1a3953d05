"""A cold start over many stored Pods, on one core. Run: python -m benchmarks.start [pods]

Shown are seconds since exec, and of CPU, until /readyz says ok, until the first list that needs every Pod in memory is
answered (the cache of Pods is filled when it is first needed, or by the garbage collector), and for one list of all.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

from benchmarks.database import fill

TOKEN = "benchmark"
PATIENCE = 600.0


def cpu_seconds(pid: int) -> float:
    """What a process has used, all its threads included."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def answer(url: str) -> int:
    """Wait for an answer, asking again while the server is not there or not yet able; its length."""
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {TOKEN}"})
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as response:
                return sum(len(part) for part in iter(lambda: response.read(1 << 20), b""))
        except (urllib.error.URLError, ConnectionError):
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def main(count: int, port: int = 8140) -> None:
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder) / "store.db"
        fill(database, count)
        # The first server also writes what every cluster begins with.
        for name in ("first start", "second start"):
            run(name, database, Path(folder) / "data", port)


def run(name: str, database: Path, data: Path, port: int) -> None:
    command = [sys.executable, "-m", "watchkeeper", "serve", "--storage", f"sqlite:{database}", "--data-dir", str(data)]
    command += ["--insecure-http", "--port", str(port), "--admin-token", TOKEN]
    begun = time.monotonic()
    # The affinity is inherited; this process waits meanwhile.
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.sched_setaffinity(0, before)
    url = f"http://127.0.0.1:{port}"
    try:
        for what, path in (
            ("ready", "/readyz"),
            ("Pods in memory", "/api/v1/pods?resourceVersion=0&labelSelector=app%3Dapp-1"),
            ("all Pods listed", "/api/v1/pods?resourceVersion=0"),
        ):
            answer(url + path)
            wall, used = time.monotonic() - begun, cpu_seconds(process.pid)
            print(f"{name:16}{what:18}{wall:8.2f} s {used:8.2f} s CPU")
    finally:
        process.terminate()
        process.wait()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
