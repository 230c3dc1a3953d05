"""Test runs that are killed leave neither processes nor files behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.waiting import eventually

from watchkeeper.testing.directory import TemporaryDirectory, remove_abandoned

SUITE = """
import os, pathlib, time
import pytest

@pytest.mark.parametrize("number", range(2))
def test_that_hangs(number, watchkeeper_server, watchkeeper_namespace):
    told = pathlib.Path(os.environ["TOLD"]) / str(os.getpid())
    told.write_text(str(watchkeeper_server.kubeconfig.parent))
    time.sleep(120)
"""
PATIENCE = 60


def users_of(directory: str) -> list[str]:
    """Processes that have something open in a directory, or are named by a path in it."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            links = [str(fd.readlink()) for fd in (process / "fd").iterdir()]
        except OSError:
            continue
        if any(link.startswith(directory) for link in links):
            found.append(process.name)
    return found


@pytest.mark.parametrize("arguments", [[], ["-n", "2"]], ids=["alone", "in parallel"])
def test_a_killed_run_leaves_nothing(tmp_path: Path, arguments: list[str]) -> None:
    (tmp_path / "test_suite.py").write_text(SUITE)
    told, temporary = tmp_path / "told", tmp_path / "temporary"
    told.mkdir()
    temporary.mkdir()
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments, "test_suite.py"]
    environment = {**os.environ, "TOLD": str(told), "TMPDIR": str(temporary)}
    run = subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL, start_new_session=True)
    try:
        expected = 2 if arguments else 1
        assert eventually(lambda: len(list(told.iterdir())) == expected, seconds=PATIENCE)
        directories = [path.read_text() for path in told.iterdir()]
        assert all(users_of(directory) for directory in directories)
        run.send_signal(signal.SIGKILL)
        run.wait()
        assert eventually(lambda: not any(Path(directory).exists() for directory in directories), seconds=PATIENCE)
        assert eventually(lambda: not any(users_of(directory) for directory in directories), seconds=PATIENCE)
        assert [entry.name for entry in temporary.iterdir() if entry.name.startswith("watchkeeper-")] == []
    finally:
        if run.poll() is None:
            os.killpg(run.pid, signal.SIGKILL)
            run.wait()


HOLDER = """
import time
from watchkeeper.testing.directory import TemporaryDirectory
print(TemporaryDirectory().path, flush=True)
time.sleep(60)
"""


def test_what_a_killed_server_left_is_removed_by_the_next(tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen([sys.executable, "-c", HOLDER], env=environment, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        directory = Path(holder.stdout.readline().strip())
        make_old(directory)
        remove_abandoned(tmp_path)
        assert directory.exists()
        holder.kill()
        holder.wait()
        assert directory.exists()
    young = tmp_path / "watchkeeper-young"
    young.mkdir()
    (young / ".in-use").touch()
    not_ours = tmp_path / "watchkeeper-notes"
    not_ours.mkdir()
    make_old(not_ours)
    remove_abandoned(tmp_path)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["watchkeeper-notes", "watchkeeper-young"]


def make_old(directory: Path) -> None:
    os.utime(directory, (time.time() - 3600, time.time() - 3600))


def test_a_directory_is_removed_once() -> None:
    directory = TemporaryDirectory()
    assert directory.path.is_dir()
    directory.remove()
    directory.remove()
    assert not directory.path.exists()
