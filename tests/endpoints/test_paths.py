"""Paths that are no resources, and what is no path at all: which of the reference's ways to say so is used where."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from watchkeeper.testing import Server
from watchkeeper.testing.handle import Handle

TEXT = "404 page not found\n"


@pytest.fixture(scope="module")
def server() -> Iterator[Handle]:
    with Server(insecure_http=True, controllers=()) as running:
        yield running


def get(server: Handle, path: str, **headers: str) -> httpx.Response:
    return httpx.get(server.url + path, headers={"Authorization": f"Bearer {server.token}", **headers})


@pytest.mark.parametrize(
    "path", ["/apis//", "/apis//apps", "/apis//apps/v1", "/apis//v1/pods", "/statusz/", "/livez/", "/openid"]
)
def test_nobody_is_responsible_for_these(server: Handle, path: str) -> None:
    answer = get(server, path)
    assert (answer.status_code, answer.text) == (404, TEXT)
    assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("path", ["/version/x", "/apis/apps//v1", "/api/v9"])
def test_who_is_responsible_answers_with_a_status(server: Handle, path: str) -> None:
    answer = get(server, path)
    assert (answer.status_code, answer.json()["reason"]) == (404, "NotFound")


@pytest.mark.parametrize("path", ["/", "/api/v1/", "/apis/apps/", "/nosuch", "/api/v1"])
def test_there_is_no_such_openapi_document(server: Handle, path: str) -> None:
    answer = get(server, f"/openapi/v3{path}")
    found = path == "/api/v1"
    assert answer.status_code == (200 if found else 404)
    assert found or (answer.content, answer.headers.get("content-type")) == (b"", None)


@pytest.mark.parametrize("path", ["/.well-known/openid-configuration", "/openid/v1/jwks", "/version"])
def test_a_slash_at_the_end_changes_nothing(server: Handle, path: str) -> None:
    assert get(server, f"{path}/").json() == get(server, path).json()
    assert get(server, path, Accept="text/html").status_code == 406


def test_the_root_lists_all_paths_that_lead_somewhere(server: Handle) -> None:
    paths = get(server, "/").json()["paths"]
    assert paths == sorted(set(paths)) == get(server, "/index.html").json()["paths"]
    assert {"/api", "/api/v1", "/apis", "/apis/", "/apis/apps", "/apis/apps/v1", "/openapi/v3/", "/flagz"} <= set(paths)
    assert {"/livez/ping", "/readyz/shutdown", "/healthz/poststarthook/rbac/bootstrap-roles"} <= set(paths)
    assert "/livez/shutdown" not in paths
    for path in paths:
        if path not in ("/openapi/v2", "/openapi/v3/", "/metrics"):
            assert get(server, path).status_code == 200, path


def test_the_aggregated_form_is_not_had_behind_a_slash(server: Handle) -> None:
    aggregated = {"Accept": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"}
    assert get(server, "/apis", **aggregated).status_code == 200
    assert get(server, "/apis/", **aggregated).status_code == 406


def test_a_refusal_for_want_of_rights_is_no_page(server: Handle) -> None:
    for path in ("/", "/api/v1/pods"):
        answer = httpx.get(server.url + path)
        assert (answer.status_code, answer.headers["x-content-type-options"]) == (403, "nosniff")


@pytest.mark.parametrize(
    "path", ["/namespaces", "/namespaces/default", "/namespaces/x", "/namespaces/x/status", "/namespaces/x/finalize"]
)
def test_namespaces_are_not_in_a_namespace(server: Handle, path: str) -> None:
    for method in ("GET", "POST", "DELETE"):
        headers = {"Authorization": f"Bearer {server.token}"}
        answer = httpx.request(method, f"{server.url}/api/v1/namespaces/default{path}", headers=headers)
        assert (answer.status_code, answer.json()["message"]) == (
            404,
            "the server could not find the requested resource",
        )


def test_a_name_is_quoted_in_errors(server: Handle) -> None:
    answer = get(server, "/api/v1/namespaces/default/configmaps/a%22b%01")
    assert answer.json()["message"] == 'configmaps "a\\"b\\x01" not found'
    assert answer.json()["details"]["name"] == 'a"b\x01'
