"""Servers under load and faults: kill -9, stops, full and slow disks, etcd members that die or stand still.

The short forms run with all tests. The long ones (`make soak`) share SOAK_MINUTES, 10 unless told otherwise, with the
other soak tests, and add what they did to the file that SOAK_REPORT names.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import subprocess
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest
from fault_history import check
from fault_targets import EtcdTarget, SqliteTarget, Target, is_root
from fault_workload import Workload

from watchkeeper.testing.etcd import EtcdMember, find_etcd, running_cluster

SHARE = float(os.environ.get("SOAK_MINUTES", "10")) * 60 / 20
"""Seconds of load and faults in each of the ten long forms: half of the whole; starts, checks and other tests need the
rest."""
LOAD_SECONDS = 0.5

Fault = Callable[[random.Random], Awaitable[None]]


def withstands(
    name: str, target: Target, fault: Fault, *, rounds: int = 0, seconds: float = 0.0, seed: int = 1
) -> None:
    """Run the load, inject the fault again and again, and check everything that was seen."""
    asyncio.run(_run(name, target, fault, rounds, seconds, seed))


async def _run(name: str, target: Target, fault: Fault, rounds: int, seconds: float, seed: int) -> None:
    started, rng = time.monotonic(), random.Random(seed)
    injected = 0
    try:
        await target.start()
        workload = Workload(target.client, seed=seed)
        await workload.begin()
        while injected < rounds or time.monotonic() - started < seconds:
            await asyncio.sleep(LOAD_SECONDS * (0.5 + rng.random()))
            await fault(rng)
            injected += 1
        await asyncio.sleep(LOAD_SECONDS)
        last = await workload.finish()
        await target.stop()
        wrong = check(workload.history, await target.log(last), last=last)
        panics = [line for server in target.servers for line in server.panics()]
    finally:
        target.kill()
    line = f"{name}: {injected} faults in {time.monotonic() - started:.0f} s; {workload.history}"
    print(line)
    if report := os.environ.get("SOAK_REPORT"):
        with Path(report).open("a") as file:
            file.write(f"{line}; {len(wrong)} violations\n")
    assert wrong == [], line
    assert workload.failures == []
    assert panics == []


# SQLite


def kills(target: SqliteTarget) -> Fault:
    async def kill(rng: random.Random) -> None:
        target.server.kill()
        await target.server.start()

    return kill


def restarts(target: SqliteTarget) -> Fault:
    async def restart(rng: random.Random) -> None:
        assert await target.server.terminate() == 0
        await target.server.start()

    return restart


def pauses(target: SqliteTarget) -> Fault:
    async def pause(rng: random.Random) -> None:
        await target.server.pause(0.2 + rng.random())
        await target.server.until_ready()

    return pause


def full_disks(target: SqliteTarget) -> Fault:
    """The kernel lets no file of the server grow any more."""

    async def fill(rng: random.Random) -> None:
        target.server.limit_files(target.largest_file() + rng.choice([0, 100, 20_000]))
        await asyncio.sleep(0.3 + rng.random())
        target.server.limit_files(-1)
        await target.server.until_ready()

    return fill


SQLITE_FAULTS = {
    "kill -9 of the server (SQLite)": kills,
    "stop and start of the server (SQLite)": restarts,
    "a server that stands still (SQLite)": pauses,
    "files that must not grow (SQLite)": full_disks,
}


def test_kills_lose_nothing(tmp_path: Path) -> None:
    target = SqliteTarget(tmp_path / "data")
    withstands("kill -9 of the server (SQLite)", target, kills(target), rounds=1)


def test_a_full_disk_loses_nothing(tmp_path: Path) -> None:
    target = SqliteTarget(tmp_path / "data")
    withstands("files that must not grow (SQLite)", target, full_disks(target), rounds=1)


@pytest.mark.soak
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("name", SQLITE_FAULTS)
def test_sqlite_for_long(name: str, tmp_path: Path) -> None:
    target = SqliteTarget(tmp_path / "data")
    rounds = 20 if "kill" in name else 1
    withstands(name, target, SQLITE_FAULTS[name](target), rounds=rounds, seconds=SHARE, seed=7)


@pytest.mark.soak
@pytest.mark.timeout(1200)
def test_a_slow_disk_for_long(tmp_path: Path) -> None:
    """Each commit takes 150 ms; the server is killed meanwhile."""
    target = SqliteTarget(tmp_path / "data", commit_delay=0.15)
    withstands("kill -9 with a slow disk (SQLite)", target, kills(target), seconds=SHARE, seed=8)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    mount = tmp_path / "small"
    mount.mkdir()
    if (
        not is_root()
        or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", mount], check=False).returncode
    ):
        pytest.skip("a small disk cannot be mounted here")
    yield mount
    subprocess.run(["umount", mount], check=True)


@pytest.mark.soak
@pytest.mark.timeout(1200)
def test_a_disk_that_really_is_full_for_long(small_disk: Path) -> None:
    target = SqliteTarget(small_disk / "data")
    ballast = small_disk / "ballast"

    async def fill(rng: random.Random) -> None:
        with contextlib.suppress(OSError), ballast.open("wb") as file:
            while True:
                file.write(bytes(1 << 16))
                file.flush()
        await asyncio.sleep(0.3 + rng.random())
        ballast.unlink()
        await target.server.until_ready()

    withstands("a full tmpfs (SQLite)", target, fill, seconds=SHARE, seed=9)


# etcd


def members_die(target: EtcdTarget) -> Fault:
    async def die(rng: random.Random) -> None:
        member = rng.choice(target.cluster.members)
        await asyncio.to_thread(member.crash)
        await asyncio.sleep(rng.random() * 1.5)
        await _back(target, member)

    return die


def leaders_die(target: EtcdTarget) -> Fault:
    async def die(rng: random.Random) -> None:
        leader = await asyncio.to_thread(target.cluster.leader)
        leader.kill()
        await asyncio.sleep(1 + rng.random())
        await _back(target, leader)

    return die


def leaders_stand_still(target: EtcdTarget) -> Fault:
    async def stand_still(rng: random.Random) -> None:
        leader = await asyncio.to_thread(target.cluster.leader)
        leader.pause()
        await asyncio.sleep(1 + 2 * rng.random())
        leader.resume()
        await _serve(target)

    return stand_still


def servers_die(target: EtcdTarget) -> Fault:
    async def die(rng: random.Random) -> None:
        server = rng.choice(target.servers)
        server.kill()
        await server.start()

    return die


async def _back(target: EtcdTarget, member: EtcdMember) -> None:
    member.restart()
    await asyncio.to_thread(member.wait_until_healthy)
    await _serve(target)


async def _serve(target: EtcdTarget) -> None:
    for server in target.servers:
        await server.until_ready()


ETCD_FAULTS = {
    "kill -9 of a server of two (etcd)": (1, servers_die),
    "kill -9 of the only member (etcd)": (1, members_die),
    "kill -9 of the leader of three (etcd)": (3, leaders_die),
    "a leader of three that stands still (etcd)": (3, leaders_stand_still),
}


@pytest.mark.etcd
@pytest.mark.skipif(find_etcd() is None, reason="there is no etcd here")
def test_a_member_that_dies_loses_nothing(tmp_path: Path) -> None:
    with running_cluster(tmp_path / "etcd", size=1) as cluster:
        target = EtcdTarget(tmp_path / "servers", cluster, servers=1)
        withstands("kill -9 of the only member (etcd)", target, members_die(target), rounds=1)


@pytest.mark.soak
@pytest.mark.timeout(1200)
@pytest.mark.etcd
@pytest.mark.skipif(find_etcd() is None, reason="there is no etcd here")
@pytest.mark.parametrize("name", ETCD_FAULTS)
def test_etcd_for_long(name: str, tmp_path: Path) -> None:
    size, faults = ETCD_FAULTS[name]
    with running_cluster(tmp_path / "etcd", size=size) as cluster:
        target = EtcdTarget(tmp_path / "servers", cluster)
        withstands(name, target, faults(target), seconds=SHARE, seed=11)
