"""Standard output that is closed, full, or read by nobody; and other standard streams that are closed."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from watchkeeper.testing import Server

COMMANDS = (("version",), ("--help",), ("kubeconfig", "--data-dir", "."), ("db", "info", "store.db"))


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("store")
    (made / "kubeconfig").write_text("written")
    with Server(storage=f"sqlite:{made / 'store.db'}", insecure_http=True, controllers=()):
        pass
    return made


def shell(script: str, directory: Path, *arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """What a command ends with, with its output put where `script` says."""
    line = ["sh", "-c", f'exec "$@" {script}', "sh", sys.executable, "-m", "watchkeeper", *arguments]
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"}
    return subprocess.run(
        line, cwd=directory, env=environment, stderr=subprocess.PIPE, text=True, check=False, timeout=60, **options
    )


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
@pytest.mark.parametrize(("script", "why"), [(">/dev/full", "No space left on device"), (">&-", "it is closed")])
def test_what_cannot_be_written_is_told_in_a_line(
    directory: Path, arguments: tuple[str, ...], script: str, why: str
) -> None:
    done = shell(script, directory, *arguments)
    assert (done.returncode, done.stderr) == (1, f"watchkeeper: standard output: {why}\n")


def test_a_pipe_that_nobody_reads_is_told_in_a_line(directory: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = shell("", directory, "version", stdout=writer)
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (1, "watchkeeper: standard output: Broken pipe\n")


@pytest.mark.parametrize("script", ["<&- >&- 2>log", "<&- >&- 2>&-", ">/dev/full 2>log"])
def test_a_server_serves_and_stops_whatever_its_standard_streams_are(tmp_path: Path, script: str) -> None:
    path = tmp_path / "data" / "watchkeeper.db"
    line = ["sh", "-c", f'exec "$@" {script}', "sh", sys.executable, "-m", "watchkeeper", "serve", "--port", "0"]
    process = subprocess.Popen([*line, "--data-dir", "data"], cwd=tmp_path)
    try:
        deadline = time.monotonic() + 30
        while not (tmp_path / "data" / "kubeconfig").exists() or not path.exists():
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    finally:
        process.kill()
        process.wait()


def test_a_backup_that_does_not_fit_is_told_of_the_copy(directory: Path) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (64 * 1024, 64 * 1024))

    done = shell("", directory, "db", "backup", "store.db", "copy.db", stdout=subprocess.DEVNULL, preexec_fn=limit)
    assert done.returncode == 1
    assert done.stderr.startswith("watchkeeper: copy.db: ")
    assert sorted(each.name for each in directory.glob("copy*")) == []
