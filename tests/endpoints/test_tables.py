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


@pytest.mark.parametrize(
    ("path", "form", "expected"),
    [
        ("/api/v1/configmaps", "Table", []),
        ("/apis/rbac.authorization.k8s.io/v1/roles", "Table", None),
        ("/api/v1/limitranges", "Table", None),
        ("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "Table", None),
        ("/api/v1/configmaps", "PartialObjectMetadataList", None),
    ],
)
def test_nothing_found_is_null_where_no_columns_are_and_where_only_metadata_was_asked_for(
    server: Handle, path: str, form: str, expected: list[Any] | None
) -> None:
    accept = f"application/json;as={form};v=v1;g=meta.k8s.io"
    headers = {"Accept": accept, "Authorization": f"Bearer {server.token}"}
    answer = httpx.get(f"{server.url}{path}?labelSelector=no%3Done", headers=headers)
    assert answer.status_code == 200
    assert answer.json()["rows" if form == "Table" else "items"] == expected
    packed = httpx.get(
        f"{server.url}{path}?labelSelector=no%3Done",
        headers={**headers, "Accept": f"application/vnd.kubernetes.protobuf;as={form};v=v1;g=meta.k8s.io"},
    )
    assert packed.status_code == (406 if form == "Table" else 200)


def test_an_object_that_was_not_stored_has_no_version_in_its_table(server: Handle) -> None:
    made = server.request(
        "POST", "/api/v1/namespaces/default/configmaps?dryRun=All", {"metadata": {"name": "a"}}, headers=TABLE
    )
    assert made["metadata"] == {}


@pytest.mark.parametrize(
    "path",
    [
        "/apis/apiregistration.k8s.io/v1/apiservices/v1.apps",
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/cups.example.com",
        "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/c",
    ],
)
def test_the_status_of_some_kinds_is_in_no_table(server: Handle, path: str) -> None:
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
    names = {"plural": "cups", "kind": "Cup"}
    spec = {"group": "example.com", "scope": "Cluster", "names": names, "versions": [version]}
    definition = {"metadata": {"name": "cups.example.com"}, "spec": spec}
    if "definitions" in path:
        server.request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
    if "claims" in path:
        asked = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "d"}}]}}
        server.request("POST", path.removesuffix("/c"), {"metadata": {"name": "c"}, "spec": asked})
    assert len(rows(server, path)) == 1
    headers = {**TABLE, "Authorization": f"Bearer {server.token}"}
    assert httpx.get(f"{server.url}{path}/status", headers=headers).status_code == 406


def test_what_a_row_shall_show_is_looked_at_once_there_is_a_list(server: Handle) -> None:
    headers = {**TABLE, "Authorization": f"Bearer {server.token}"}
    path = "/api/v1/namespaces/default/configmaps?includeObject=Everything"
    assert "includeObject" in httpx.get(server.url + path, headers=headers).json()["message"]
    assert "continue" in httpx.get(f"{server.url}{path}&continue=x", headers=headers).json()["message"]
