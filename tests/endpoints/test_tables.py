"""What tables show beyond the cells of each object."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from watchkeeper.testing import Server
from watchkeeper.testing.handle import Handle

SCHEMAS = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas"
TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}


@pytest.fixture(scope="module")
def server() -> Iterator[Handle]:
    with Server(insecure_http=True) as running:
        yield running


def rows(server: Handle, path: str) -> list[Any]:
    headers = {**TABLE, "Authorization": f"Bearer {server.token}"}
    return [row["cells"] for row in httpx.get(server.url + path, headers=headers).json()["rows"]]


def test_flow_schemas_are_listed_in_the_order_in_which_they_are_matched(server: Handle) -> None:
    for name, precedence in (("a", 700), ("c", 650), ("b", 650)):
        spec = {"priorityLevelConfiguration": {"name": "global-default"}, "matchingPrecedence": precedence}
        server.request("POST", SCHEMAS, {"metadata": {"name": name}, "spec": spec})
    shown = rows(server, SCHEMAS)
    assert [cells[2] for cells in shown] == sorted(cells[2] for cells in shown)
    assert [cells[0] for cells in shown if cells[2] in (650, 700)] == ["b", "c", "a"]
