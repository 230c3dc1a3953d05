"""A server in a process of its own ends with the process that started it."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from watchkeeper.testing import ServerProcess
from watchkeeper.testing.server_process import flags

OWNER = """
import sys, time
from watchkeeper.testing import ServerProcess
process = ServerProcess()
handle = process.start()
print(process.pid, handle.kubeconfig, flush=True)
time.sleep(60)
"""


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return "Z" in Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1][:3]


def test_a_process_serves_and_stops_and_cleans_up():
    process = ServerProcess()
    with process as server:
        pid = process.pid
        assert server.request("GET", "/api/v1/namespaces/default")["metadata"]["name"] == "default"
        assert server.kubeconfig.exists()
    assert gone(pid)
    assert not server.kubeconfig.parent.exists()


def test_nothing_is_left_when_the_owner_is_killed():
    owner = subprocess.Popen([sys.executable, "-c", OWNER], stdout=subprocess.PIPE, text=True)
    pid, kubeconfig = owner.stdout.readline().split()
    owner.send_signal(signal.SIGKILL)
    owner.wait()
    owner.stdout.close()
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and not (gone(int(pid)) and not Path(kubeconfig).parent.exists()):
        time.sleep(0.05)
    assert gone(int(pid))
    assert not Path(kubeconfig).parent.exists()


def test_a_process_serves_async_tests_too():
    async def run():
        async with ServerProcess() as server:
            return await asyncio.to_thread(server.request, "GET", "/version")

    assert asyncio.run(run())["major"] == "1"


def test_a_process_that_cannot_start_says_why():
    with pytest.raises(RuntimeError, match="is none of sqlite:PATH"), ServerProcess(storage="floppy:"):
        pass


def test_options_become_flags():
    options = {"insecure_http": True, "anonymous_auth": False, "controllers": (), "port": 0, "tls_cert": None}
    options["service_cluster_ip_range"] = (Path("10.0.0.0"), 24)
    assert flags(options) == [
        "--insecure-http",
        "--no-anonymous-auth",
        "--controllers=",
        "--port=0",
        "--service-cluster-ip-range=10.0.0.0,24",
    ]


def test_files_beside_a_test_may_be_named_like_modules_of_the_standard_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    for name in ("operator.py", "collections.py", "watchkeeper.py"):
        (tmp_path / name).write_text("raise ImportError(__file__)\n")
    (tmp_path / "things.py").write_text(
        "import dataclasses\nfrom watchkeeper.kinds import Registry\nregistry = Registry()\n"
        "@registry.kind('a.example.com/v1')\n@dataclasses.dataclass\nclass Thing:\n    size: int = 1\n"
    )
    monkeypatch.chdir(tmp_path)
    with ServerProcess(app="things:registry") as server:
        assert server.request("GET", "/apis/a.example.com/v1")["resources"][0]["kind"] == "Thing"
