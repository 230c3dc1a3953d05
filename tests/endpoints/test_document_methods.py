"""By which methods, and in which media types, what is no resource can be had."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from tests.waiting import eventually

from watchkeeper.testing import Server

DEFINITION = {
    "metadata": {"name": "things.example.io"},
    "spec": {
        "group": "example.io",
        "names": {"plural": "things", "kind": "Thing"},
        "scope": "Namespaced",
        "versions": [
            {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
        ],
    },
}


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    with Server(insecure_http=True) as server:
        server.request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", DEFINITION)
        with httpx.Client(base_url=server.url, headers={"Authorization": f"Bearer {server.token}"}) as client:
            eventually(lambda: client.get("/apis/example.io/v1").status_code == 200)
            yield client


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH"])
@pytest.mark.parametrize(
    "path", ["/apis", "/apis/", "/apis/apps", "/apis/example.io", "/apis/example.io/v1", "/", "/index.html"]
)
def test_documents_of_plain_handlers_are_had_by_any_method(client: httpx.Client, path: str, method: str) -> None:
    answer = client.request(method, path)
    assert answer.status_code == 200
    assert answer.json() == client.get(path).json()


@pytest.mark.parametrize("method", ["POST", "HEAD", "OPTIONS"])
@pytest.mark.parametrize("path", ["/api", "/api/v1", "/apis/apps/v1", "/version"])
def test_documents_with_a_route_can_only_be_got(client: httpx.Client, path: str, method: str) -> None:
    assert client.request(method, path).status_code == 405


@pytest.mark.parametrize(
    ("path", "accept", "status"),
    [
        ("/apis", "application/*", 200),
        ("/apis/apps", "application/*", 200),
        ("/apis/example.io/v1", "application/*", 200),
        ("/apis/apps/v1", "application/*", 406),
        ("/api", "application/*", 406),
        ("/", "text/plain", 200),
        ("/version", "text/plain, */*", 200),
        ("/version", "application/json;q=0.1", 200),
        ("/version", "application/*", 406),
    ],
)
def test_ranges_of_media_types_are_known_to_plain_handlers_only(
    client: httpx.Client, path: str, accept: str, status: int
) -> None:
    answer = client.get(path, headers={"Accept": accept})
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/json"


def test_a_refusal_names_the_forms_of_its_path(client: httpx.Client) -> None:
    def refusal(path: str) -> str:
        answer = client.get(path, headers={"Accept": "text/plain"})
        assert answer.status_code == 406
        return str(answer.json()["message"])

    assert refusal("/version") == "406: Not Acceptable\n\nAvailable representations: application/json"
    every = "application/json, application/yaml, application/vnd.kubernetes.protobuf"
    assert refusal("/apis") == f"only the following media types are accepted: {every}"
    assert refusal("/api") == f"406: Not Acceptable\n\nAvailable representations: {every}"


def test_the_list_of_paths_is_indented_and_has_itself_not_in_it(client: httpx.Client) -> None:
    answer = client.get("/", headers={"User-Agent": "some"})
    assert answer.text.startswith('{\n  "paths": [\n    "/')
    assert not {"/", "/index.html"} & set(answer.json()["paths"])
