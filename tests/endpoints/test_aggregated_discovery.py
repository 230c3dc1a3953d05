"""When discovery answers with everything at once."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from watchkeeper.apis.protobuf import object_of
from watchkeeper.endpoints.negotiation import PROTOBUF
from watchkeeper.testing import Server
from watchkeeper.testing.handle import Handle

FORM = "g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


@pytest.fixture(scope="module")
def server() -> Iterator[Handle]:
    with Server(insecure_http=True) as running:
        yield running


@pytest.mark.parametrize("path", ["/api", "/apis"])
@pytest.mark.parametrize(
    ("accept", "content_type"),
    [
        (f"application/json;{FORM}", f"application/json;{FORM}"),
        (f"application/json, application/json;{FORM}", f"application/json;{FORM}"),
        (f"application/json;{FORM};q=0.1, application/yaml;{FORM}", f"application/yaml;{FORM}"),
        (f"*/*;{FORM}", f"application/json;{FORM}"),
        (f"application/json;{FORM.replace('v2', 'v2beta1')}, application/json", "application/json"),
        (f"application/json;{FORM};sv=v1, application/json", "application/json"),
    ],
)
def test_the_aggregated_form_is_preferred_wherever_it_is_named(
    server: Handle, path: str, accept: str, content_type: str
) -> None:
    answer = httpx.get(server.url + path, headers={"Authorization": f"Bearer {server.token}", "Accept": accept})
    assert (answer.status_code, answer.headers["content-type"]) == (200, content_type)
    assert ("APIGroupDiscoveryList" in answer.text) is ("as=" in content_type)


@pytest.mark.parametrize("path", ["/api", "/apis"])
def test_the_aggregated_form_is_indented_for_those_who_ask_for_that(server: Handle, path: str) -> None:
    def ask(
        query: str = "", params: str = "", agent: str = "x", media_type: str = "application/json"
    ) -> httpx.Response:
        accept = f"{media_type};{FORM}{params}"
        headers = {"Authorization": f"Bearer {server.token}", "Accept": accept, "User-Agent": agent}
        return httpx.get(server.url + path + query, headers=headers)

    plain = ask()
    assert b"\n  " not in plain.content
    for answer in (ask("?pretty=true"), ask(params=";pretty=1"), ask(agent="curl/8.0")):
        assert answer.text.startswith('{\n  "kind": "APIGroupDiscoveryList"')
        assert answer.headers["content-type"] == plain.headers["content-type"]
        assert answer.json() == plain.json()
    assert b"\n  " not in ask("?pretty=0", agent="curl/8.0").content
    assert ask("?pretty=true", media_type=PROTOBUF).content == ask(media_type=PROTOBUF).content


def test_the_aggregated_form_in_protobuf_says_what_the_one_in_json_says(server: Handle) -> None:
    def ask(media_type: str) -> httpx.Response:
        headers = {"Authorization": f"Bearer {server.token}", "Accept": f"{media_type};{FORM}"}
        return httpx.get(f"{server.url}/apis", headers=headers)

    wanted, answer = ask("application/json"), ask(PROTOBUF)
    assert answer.headers["content-type"] == f"{PROTOBUF};{FORM}"
    assert answer.headers["etag"] == wanted.headers["etag"]
    found = object_of(answer.content)
    assert (found["kind"], found["apiVersion"]) == ("APIGroupDiscoveryList", "apidiscovery.k8s.io/v2")
    expected = wanted.json()["items"]
    assert [group["metadata"]["name"] for group in found["items"]] == [g["metadata"]["name"] for g in expected]
    assert [group["versions"] for group in found["items"]] == [group["versions"] for group in expected]


def test_a_form_that_is_not_served_is_not_acceptable(server: Handle) -> None:
    headers = {"Authorization": f"Bearer {server.token}", "Accept": f"application/json;{FORM.replace('v2', 'v9')}"}
    assert httpx.get(f"{server.url}/apis", headers=headers).status_code == 406
