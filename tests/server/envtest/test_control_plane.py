"""What envtest does with its executables works with those that are written here."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

import pytest
from tests.server.envtest.control_plane import ControlPlane, Process, free_port, status_of

from watchkeeper.server.envtest.assets import write_assets
from watchkeeper.server.envtest.store import ask
from watchkeeper.testing.etcd import find_etcd

CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}, "data": {"a": "1"}}
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"

OWNER = """
import sys, time
from pathlib import Path
from tests.server.envtest.control_plane import ControlPlane
plane = ControlPlane(Path(sys.argv[1]), Path(sys.argv[2]))
plane.__enter__()
print(plane.etcd.process.pid, plane.server.process.pid, flush=True)
time.sleep(60)
"""


@pytest.fixture(scope="module")
def assets(tmp_path_factory):
    directory = tmp_path_factory.mktemp("assets")
    write_assets(directory, {"PATH": ""})
    return directory


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return "Z" in Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1][:3]


def test_users_are_served_as_their_certificates_say(assets, tmp_path):
    with ControlPlane(assets, tmp_path) as plane:
        assert plane.request("GET", "/api/v1/namespaces/default")["metadata"]["name"] == "default"
        assert plane.request("POST", CONFIG_MAPS, CONFIG_MAP)["data"] == {"a": "1"}
        assert status_of(plane, "GET", CONFIG_MAPS, user="ann", group="developers") == 403
        assert plane.request("GET", "/version")["minor"] == "36"
        [issuer] = {plane.request("GET", "/.well-known/openid-configuration")["issuer"]}
        assert issuer == plane.url + "/"
        token = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
        plane.request("POST", "/api/v1/namespaces/default/serviceaccounts", account)
        made = plane.request("POST", "/api/v1/namespaces/default/serviceaccounts/default/token", token)
        assert made["status"]["token"].count(".") == 2
    assert (plane.server.process.returncode, plane.etcd.process.returncode) == (0, 0)


def test_pods_need_service_accounts_where_a_suite_wants_it(assets, tmp_path):
    spec = {"serviceAccountName": "shop", "containers": [{"name": "c", "image": "i"}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "shop"}}
    with ControlPlane(assets, tmp_path, disable_admission_plugins="") as plane:
        assert status_of(plane, "POST", "/api/v1/namespaces/default/pods", pod) == 403
        plane.request("POST", "/api/v1/namespaces/default/serviceaccounts", account)
        made = plane.request("POST", "/api/v1/namespaces/default/pods", pod)
        assert made["spec"]["containers"][0]["volumeMounts"][0]["mountPath"].endswith("/serviceaccount")


def test_no_controller_runs_unless_the_environment_says_so(assets, tmp_path, monkeypatch):
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
    for controllers in (None, "namespace"):
        if controllers:
            monkeypatch.setenv("WATCHKEEPER_CONTROLLERS", controllers)
        (tmp_path / str(controllers)).mkdir()
        with ControlPlane(assets, tmp_path / str(controllers)) as plane:
            plane.request("POST", "/api/v1/namespaces", namespace)
            plane.request("DELETE", "/api/v1/namespaces/shop")
            deadline = time.monotonic() + (10 if controllers else 0.5)
            while time.monotonic() < deadline and status_of(plane, "GET", "/api/v1/namespaces/shop") == 200:
                time.sleep(0.02)
            assert status_of(plane, "GET", "/api/v1/namespaces/shop") == (404 if controllers else 200)


def test_objects_outlive_the_server_but_not_the_etcd_of_another_directory(assets, tmp_path):
    with ControlPlane(assets, tmp_path) as plane:
        made = plane.request("POST", CONFIG_MAPS, CONFIG_MAP)
        assert plane.server.stop() == 0
        plane.start_server()
        assert plane.request("GET", f"{CONFIG_MAPS}/one") == made
        plane.server.process.kill()
        plane.server.process.wait()
        plane.start_server()
        assert plane.request("GET", f"{CONFIG_MAPS}/one") == made
    (tmp_path / "other").mkdir()
    with ControlPlane(assets, tmp_path / "other") as plane:
        assert status_of(plane, "GET", f"{CONFIG_MAPS}/one") == 404


def test_a_watch_does_not_hold_up_the_end(assets, tmp_path):
    with ControlPlane(assets, tmp_path) as plane, plane.open("GET", f"{CONFIG_MAPS}?watch=true") as watch:
        plane.request("POST", CONFIG_MAPS, CONFIG_MAP)
        assert json.loads(watch.readline())["type"] == "ADDED"
        rest: list[bytes] = []
        reader = threading.Thread(target=lambda: rest.append(watch.read()))
        reader.start()
        begun = time.monotonic()
        assert plane.server.stop() == 0
        assert time.monotonic() - begun < 4
        reader.join()
        assert rest == [b""]


def test_suites_run_beside_each_other(assets, tmp_path):
    planes = [ControlPlane(assets, tmp_path / name) for name in "ab"]
    for name in "ab":
        (tmp_path / name).mkdir()
    with planes[0] as a, planes[1] as b:
        a.request("POST", CONFIG_MAPS, CONFIG_MAP)
        assert (status_of(a, "GET", f"{CONFIG_MAPS}/one"), status_of(b, "GET", f"{CONFIG_MAPS}/one")) == (200, 404)


def test_nothing_is_left_when_the_tests_are_killed(assets, tmp_path):
    environ = {**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, assets, tmp_path], stdout=subprocess.PIPE, text=True, env=environ
    )
    pids = [int(pid) for pid in owner.stdout.readline().split()]
    assert len(pids) == 2
    owner.send_signal(signal.SIGKILL)
    owner.communicate()
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and not (all(map(gone, pids)) and not any(tmp_path.iterdir())):
        time.sleep(0.05)
    assert [gone(pid) for pid in pids] == [True, True]
    assert list(tmp_path.iterdir()) == []


def test_flags_that_are_refused_are_told_of(assets, tmp_path):
    for flag, said in (
        ("no-such-flag", "Error: unknown flag: --no-such-flag\n"),
        ("authorization-mode", 'Error: authorization-mode "x=true" is none of RBAC, AlwaysAllow\n'),
        ("feature-gates", "Error: --feature-gates: unrecognized feature gate: x\n"),
    ):
        flags = (f"--{flag}=x=true", "--etcd-servers=http://127.0.0.1:1", f"--cert-dir={tmp_path}")
        done = subprocess.run([assets / "kube-apiserver", *flags], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (1, said)


@pytest.mark.etcd
def test_a_real_etcd_is_used_where_there_is_one(assets, tmp_path):
    mixed = tmp_path / "assets"
    mixed.mkdir()
    (mixed / "kube-apiserver").symlink_to(assets / "kube-apiserver")
    (mixed / "etcd").symlink_to(find_etcd())
    with ControlPlane(mixed, tmp_path) as plane:
        plane.request("POST", CONFIG_MAPS, CONFIG_MAP)
        plane.server.stop()
        assert list(tmp_path.glob("k8s_test_framework_*/member"))
        plane.start_server()
        assert plane.request("GET", f"{CONFIG_MAPS}/one")["data"] == {"a": "1"}


def test_a_directory_is_one_etcds(assets, tmp_path):
    url = f"http://127.0.0.1:{free_port()}"
    flags = {"data-dir": str(tmp_path / "data"), "listen-client-urls": url}
    etcd = Process(assets / "etcd", url + "/health", flags)
    with urllib.request.urlopen(url + "/version") as answer:
        assert b"etcdserver" in answer.read()
    done = subprocess.run(
        [assets / "etcd", f"--data-dir={tmp_path / 'data'}"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (1, f"etcd: --data-dir {tmp_path / 'data'}: another process has it\n")
    assert etcd.stop() == 0


@pytest.mark.parametrize("port", ["65536", "70000", "-1", "http", ""])
def test_a_port_that_is_none_is_refused(assets, tmp_path, port):
    url = f"http://127.0.0.1:{port}"
    done = subprocess.run(
        [assets / "etcd", f"--data-dir={tmp_path}", f"--listen-client-urls={url}"],
        capture_output=True, text=True, check=False, timeout=10,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.startswith(f"etcd: --listen-client-urls {url}: ")
    assert ask(url) is None


def test_a_client_that_asks_byte_by_byte_holds_nobody_up_for_long(assets, tmp_path):
    url = f"http://127.0.0.1:{free_port()}"
    flags = {"data-dir": str(tmp_path / "data"), "listen-client-urls": url}
    etcd = Process(assets / "etcd", url + "/health", flags)
    over = threading.Event()

    def dribble() -> None:
        there = ("127.0.0.1", int(url.rpartition(":")[2]))
        with contextlib.suppress(OSError), socket.create_connection(there) as connection:
            while not over.wait(0.1):
                connection.sendall(b"G")

    dribbling = threading.Thread(target=dribble)
    dribbling.start()
    time.sleep(0.2)
    try:
        with urllib.request.urlopen(url + "/health", timeout=5) as answer:
            assert answer.status == 200
        assert etcd.stop() == 0
    finally:
        over.set()
        dribbling.join()
