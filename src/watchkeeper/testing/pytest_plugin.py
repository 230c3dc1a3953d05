"""Fixtures for tests against a real API server; pytest finds them by themselves once watchkeeper is installed.

    def test_deploys(watchkeeper_namespace, watchkeeper_server):
        …

`watchkeeper_server` is one server for the whole run (under pytest-xdist: one for each worker), in a process of its own;
`watchkeeper_namespace` an empty namespace on it, for one test; `watchkeeper_own_server` an empty server for one test.
Override `watchkeeper_options` in a conftest.py to start them with other options. Nothing starts before a test asks.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from watchkeeper.testing.handle import Handle
    from watchkeeper.testing.server_process import ServerProcess


_PROCESS: pytest.StashKey[ServerProcess] = pytest.StashKey()
_LOGGED_BEFORE = pytest.StashKey[int]()


@pytest.fixture(scope="session")
def watchkeeper_options() -> dict[str, Any]:
    """Options (see `watchkeeper.server.options.ServeOptions`) of the servers that the other fixtures start."""
    return {}


@pytest.fixture(scope="session")
def watchkeeper_server(watchkeeper_options: dict[str, Any], pytestconfig: pytest.Config) -> Iterator[Handle]:
    """A server for the whole run: `url`, `token`, `kubeconfig`, `env`, `request()`, `namespace()`."""
    from watchkeeper.testing.server_process import ServerProcess

    process = ServerProcess(**watchkeeper_options)
    with process as handle:
        pytestconfig.stash[_PROCESS] = process
        yield handle
        del pytestconfig.stash[_PROCESS]


@pytest.fixture(scope="session")
def watchkeeper_kubeconfig(watchkeeper_server: Handle) -> Path:
    """The kubeconfig of the server for the whole run."""
    return watchkeeper_server.kubeconfig


@pytest.fixture
def watchkeeper_namespace(watchkeeper_server: Handle) -> Iterator[str]:
    """The name of an empty namespace on the server for the whole run; it goes away after the test."""
    with watchkeeper_server.namespace() as name:
        yield name


@pytest.fixture
def watchkeeper_own_server(watchkeeper_options: dict[str, Any]) -> Iterator[Handle]:
    """An empty server for this test alone, on a thread of this process."""
    from watchkeeper.testing.server import Server

    with Server(**watchkeeper_options) as handle:
        yield handle


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Remember how much the server has logged before this test."""
    process = item.config.stash.get(_PROCESS, None)
    item.stash[_LOGGED_BEFORE] = len(process.log()) if process is not None else 0


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, None]:
    """Show with a test that failed what the server for the whole run has logged meanwhile."""
    outcome = yield
    report = outcome.get_result()
    process = item.config.stash.get(_PROCESS, None)
    if not report.failed or process is None or "watchkeeper_server" not in getattr(item, "fixturenames", ()):
        return
    if logged := process.log()[item.stash.get(_LOGGED_BEFORE, 0) :]:
        report.sections.append(("Log of the watchkeeper server", logged))
