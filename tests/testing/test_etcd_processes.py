"""No etcd outlives the process that has started it for its tests."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.waiting import eventually

from watchkeeper.testing.etcd import EtcdMember, find_etcd, running_cluster

pytestmark = [pytest.mark.etcd, pytest.mark.skipif(find_etcd() is None, reason="there is no etcd")]

PROGRAM = """
import os, sys
from pathlib import Path
from watchkeeper.testing.etcd import EtcdCluster
cluster = EtcdCluster(Path(sys.argv[1]))
cluster.start()
print(cluster.members[0]._process.pid, flush=True)
os.kill(os.getpid(), 9)
"""


def test_an_etcd_dies_with_whoever_started_it(tmp_path: Path) -> None:
    ended = subprocess.run([sys.executable, "-c", PROGRAM, str(tmp_path)], capture_output=True, text=True, check=False)
    pid = int(ended.stdout)
    eventually(lambda: not _lives(pid), "it lives on")


@pytest.mark.parametrize("end", [EtcdMember.crash, EtcdMember.kill])
def test_a_member_that_has_ended_either_way_comes_back(end: Callable[[EtcdMember], None], tmp_path: Path) -> None:
    with running_cluster(tmp_path) as cluster:
        (member,) = cluster.members
        end(member)
        assert not member.running
        member.restart()
        member.wait_until_healthy()
        assert member.leads()


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
