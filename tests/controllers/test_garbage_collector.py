"""What the garbage collector decides about objects by what it can find of their owners."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from watchkeeper.testing import Handle, Server
from watchkeeper.testing.handle import RequestFailed

Object = dict[str, Any]
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
NODES = "/api/v1/nodes"


@pytest.fixture(scope="module")
def server() -> Iterator[Handle]:
    with Server(insecure_http=True, controllers=("namespace", "garbage-collector")) as handle:
        yield handle


def exists(server: Handle, path: str) -> bool:
    try:
        server.request("GET", path)
    except RequestFailed as error:
        assert error.status == 404
        return False
    return True


def eventually(holds: Callable[[], bool]) -> bool:
    end = time.monotonic() + 10
    while time.monotonic() < end:
        if holds():
            return True
        time.sleep(0.02)
    return False


def absent(kind: str, api_version: str) -> Object:
    return {"apiVersion": api_version, "kind": kind, "name": "absent", "uid": str(uuid.uuid4())}


def make(server: Handle, path: str, name: str, *owners: Object) -> str:
    server.request("POST", path, {"metadata": {"name": name, "ownerReferences": list(owners)}})
    return f"{path}/{name}"


def collected_so_far(server: Handle) -> None:
    """Returns when an object made now, whose owner is absent, has been looked at and is gone."""
    last = make(server, CONFIG_MAPS, f"last-{uuid.uuid4()}", absent("Secret", "v1"))
    assert eventually(lambda: not exists(server, last))


@pytest.mark.parametrize(("kind", "api_version"), [("Deployment", "apps/v9"), ("Oddity", "v1"), ("Odd", "odd.io/v1")])
def test_an_owner_of_a_version_that_is_not_served_keeps_its_dependents(
    server: Handle, kind: str, api_version: str
) -> None:
    path = make(server, CONFIG_MAPS, f"of-{kind.lower()}", absent(kind, api_version))
    collected_so_far(server)
    assert exists(server, path)


def test_nothing_is_decided_about_a_cluster_scoped_dependent_of_a_namespaced_owner(server: Handle) -> None:
    path = make(server, NODES, "odd", absent("Node", "v1"), absent("Secret", "v1"))
    other = make(server, NODES, "even", absent("Node", "v1"))
    assert eventually(lambda: not exists(server, other))
    collected_so_far(server)
    assert len(server.request("GET", path)["metadata"]["ownerReferences"]) == 2
