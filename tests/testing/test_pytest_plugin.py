"""The plugin's fixtures, used as a stranger would: in a test run of their own."""

import subprocess
import sys
from pathlib import Path

import pytest

from watchkeeper.kinds import Registry
from watchkeeper.testing import ServerProcess

SUITE = """
import pytest

def test_namespaces_are_new(watchkeeper_namespace, watchkeeper_server):
    found = watchkeeper_server.request("GET", f"/api/v1/namespaces/{watchkeeper_namespace}/configmaps")
    assert found["items"] == []

@pytest.mark.parametrize("number", range(4))
def test_namespaces_do_not_meet(number, watchkeeper_namespace, watchkeeper_server):
    path = f"/api/v1/namespaces/{watchkeeper_namespace}/configmaps"
    watchkeeper_server.request("POST", path, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}})
    assert len(watchkeeper_server.request("GET", path)["items"]) == 1

def test_an_own_server_is_empty(watchkeeper_own_server, watchkeeper_server):
    assert watchkeeper_own_server.url != watchkeeper_server.url
    assert watchkeeper_own_server.request("GET", "/api/v1/secrets")["items"] == []

def test_a_kubeconfig_is_there(watchkeeper_kubeconfig):
    assert watchkeeper_kubeconfig.stat().st_mode & 0o777 == 0o600
"""


def run(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    (directory / "test_suite.py").write_text(SUITE)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments, "test_suite.py"]
    return subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)


def test_fixtures_work(tmp_path: Path):
    done = run(tmp_path)
    assert done.returncode == 0, done.stdout
    assert "7 passed" in done.stdout


def test_fixtures_work_in_parallel(tmp_path: Path):
    done = run(tmp_path, "-n", "2")
    assert done.returncode == 0, done.stdout
    assert "7 passed" in done.stdout


def test_options_can_be_overridden(tmp_path: Path):
    (tmp_path / "conftest.py").write_text(
        "import pytest\n@pytest.fixture(scope='session')\ndef watchkeeper_options():\n"
        "    return {'insecure_http': True, 'controllers': ()}\n"
    )
    suite = "def test_plain(watchkeeper_server):\n    assert watchkeeper_server.url.startswith('http://127')\n"
    (tmp_path / "test_plain.py").write_text(suite)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_plain.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_a_failed_test_shows_the_log_of_the_server_and_no_secret(tmp_path: Path):
    (tmp_path / "conftest.py").write_text(
        "import pytest\n@pytest.fixture(scope='session')\ndef watchkeeper_options():\n"
        "    return {'insecure_http': True, 'controllers': ()}\n"
    )
    suite = """
import os
from watchkeeper.testing.pytest_plugin import _PROCESS

def trouble(config, text):
    os.write(config.stash[_PROCESS]._log.fileno(), text)  # as the server does

def test_first(watchkeeper_server, pytestconfig):
    trouble(pytestconfig, b"trouble one\\n")
    assert watchkeeper_server.url == "", watchkeeper_server

def test_second(watchkeeper_server, pytestconfig):
    trouble(pytestconfig, b"trouble two\\n")
    watchkeeper_server.request("GET", "/nope")

def test_without():
    raise AssertionError

def test_the_token(watchkeeper_server):
    assert watchkeeper_server.token not in repr(watchkeeper_server)
"""
    (tmp_path / "test_failing.py").write_text(suite)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_failing.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "3 failed, 1 passed" in done.stdout, done.stdout
    assert done.stdout.count("Log of the watchkeeper server") == 2  # the third test has no server
    assert (done.stdout.count("trouble one\n"), done.stdout.count("trouble two\n")) == (1, 1)
    assert "RequestFailed: GET /nope: 404" in done.stdout
    assert "During handling" not in done.stdout
    assert "direct cause" not in done.stdout


def test_what_another_process_cannot_be_given_is_said():
    with pytest.raises(
        TypeError, match=r"app=.* cannot be given to another process; watchkeeper.testing.Server takes it"
    ):
        ServerProcess(app=Registry()).start()
