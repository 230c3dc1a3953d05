"""Requests for what another API server serves: passed on to it, with who asks, and its answers passed back."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from aggregated import (
    APISERVICES,
    LAMPS,
    SERVICES,
    api_service,
    condition,
    external_service,
    far_server,
    front_options,
    make_folder,
    port_of,
)

from watchkeeper.testing import Server
from watchkeeper.testing.handle import Handle


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_folder(tmp_path_factory.mktemp("far"))


@pytest.fixture(scope="module")
def far(folder: Path) -> Iterator[Handle]:
    with far_server(folder) as running:
        yield running


@pytest.fixture(scope="module")
def front(folder: Path, far: Handle) -> Iterator[Handle]:
    with Server(**front_options(folder)) as running:
        running.request("POST", SERVICES, external_service())
        running.request("POST", APISERVICES, api_service(folder, port_of(far.url)))
        until(lambda: condition(running) == ("True", "Passed", "all checks passed"))
        yield running


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < end, "it does not come to that"
        time.sleep(0.02)


def lamp(name: str, color: str = "red") -> dict[str, Any]:
    return {"apiVersion": "far.io/v1", "kind": "Lamp", "metadata": {"name": name}, "spec": {"color": color}}


def client(server: Handle, **headers: str) -> httpx.Client:
    given = {"Authorization": f"Bearer {server.token}", **{k.replace("_", "-"): v for k, v in headers.items()}}
    return httpx.Client(base_url=server.url, verify=server.ssl_context(), headers=given)


def test_objects_are_written_and_read_there(front: Handle, far: Handle) -> None:
    front.request("POST", LAMPS, lamp("a"))
    assert far.request("GET", f"{LAMPS}/a")["spec"] == {"color": "red"}
    front.request("PATCH", f"{LAMPS}/a", {"spec": {"color": "blue"}})
    assert [item["spec"]["color"] for item in front.request("GET", LAMPS)["items"]] == ["blue"]
    front.request("DELETE", f"{LAMPS}/a")
    assert front.request("GET", LAMPS)["items"] == []
