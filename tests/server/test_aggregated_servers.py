"""Requests for what another API server serves: passed on to it, with who asks, and its answers passed back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from aggregated import (
    APISERVICES,
    LAMPS,
    NAME,
    SERVICES,
    api_service,
    condition,
    external_service,
    far_server,
    front_options,
    make_folder,
    port_of,
)
from tests.waiting import eventually

from watchkeeper.server.aggregation import openapi
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
        eventually(lambda: condition(running) == ("True", "Passed", "all checks passed"))
        yield running


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


AGGREGATED = {"Accept": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"}


def told(server: Handle) -> list[dict[str, Any]]:
    """What the aggregated form of discovery has of the group."""
    items = server.request("GET", "/apis", headers=AGGREGATED)["items"]
    found = [item["versions"] for item in items if item["metadata"]["name"] == "far.io"]
    return found[0] if found else []


def test_discovery_tells_what_there_is(front: Handle, far: Handle) -> None:
    eventually(lambda: [version["freshness"] for version in told(front)] == ["Current"])
    [version] = told(front)
    [resource] = version["resources"]
    [theirs] = told(far)[0]["resources"]
    assert resource == theirs
    assert (resource["resource"], resource["shortNames"], resource["scope"]) == ("lamps", ["lp"], "Namespaced")
    assert front.request("GET", "/apis/far.io/v1") == far.request("GET", "/apis/far.io/v1")
    group = front.request("GET", "/apis/far.io")
    assert group["preferredVersion"] == {"groupVersion": "far.io/v1", "version": "v1"}


def test_what_is_had_in_protobuf_tells_of_it_too(front: Handle) -> None:
    accept = AGGREGATED["Accept"].replace("json", "vnd.kubernetes.protobuf")
    with client(front, Accept=accept) as http:
        answer = http.get("/apis")
    assert answer.headers["content-type"].startswith("application/vnd.kubernetes.protobuf")
    assert b"lamps" in answer.content


def test_a_version_that_its_server_does_not_know_has_nothing(front: Handle, folder: Path, far: Handle) -> None:
    made = api_service(folder, port_of(far.url), version="v7")
    front.request("POST", APISERVICES, {**made, "metadata": {"name": "v7.far.io"}})
    eventually(lambda: {"version": "v7", "freshness": "Current"} in told(front))
    eventually(lambda: condition(front, "v7.far.io")[1] == "FailedDiscoveryCheck")
    assert condition(front, "v7.far.io")[2].endswith(
        f"bad status from https://localhost:{port_of(far.url)}/apis/far.io/v7: 404"
    )
    front.request("DELETE", f"{APISERVICES}/v7.far.io")
    eventually(lambda: [version["version"] for version in told(front)] == ["v1"])


def test_events_come_when_they_happen(front: Handle) -> None:
    with client(front) as http, http.stream("GET", f"{LAMPS}?watch=1", timeout=10) as answer:
        lines = answer.iter_lines()
        for name in ("one", "two"):
            front.request("POST", LAMPS, lamp(name))
            event = json.loads(next(lines))
            assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", name)
    for name in ("one", "two"):
        front.request("DELETE", f"{LAMPS}/{name}")


def test_who_asks_is_known_there(front: Handle, folder: Path) -> None:
    answer = front.request("POST", LAMPS, lamp("mine"), headers={"User-Agent": "me"})
    assert answer["metadata"]["managedFields"][0]["manager"] == "me"
    front.request("DELETE", f"{LAMPS}/mine")


def test_what_cannot_be_reached_any_more_is_stale(folder: Path) -> None:
    with Server(**front_options(folder)) as front:
        front.request("POST", SERVICES, external_service())
        with far_server(folder) as far:
            front.request("POST", APISERVICES, api_service(folder, port_of(far.url)))
            eventually(lambda: [version["freshness"] for version in told(front)] == ["Current"])
            eventually(lambda: condition(front)[0] == "True")
        front.request("PATCH", f"{APISERVICES}/{NAME}", {"spec": {"versionPriority": 11}})
        eventually(lambda: told(front) == [{"version": "v1", "freshness": "Stale"}])
        eventually(lambda: condition(front)[1] == "FailedDiscoveryCheck")
        with client(front) as http:
            assert (http.get(LAMPS).status_code, http.get(LAMPS).text) == (503, "service unavailable\n")
            metrics = http.get("/metrics").text
        assert 'aggregator_unavailable_apiservice{name="v1.far.io"} 1' in metrics
        assert 'aggregator_unavailable_apiservice_total{name="v1.far.io",reason="FailedDiscoveryCheck"} 1' in metrics
        front.request("DELETE", f"{APISERVICES}/{NAME}")
        eventually(lambda: told(front) == [])
        with client(front) as http:
            assert http.get(LAMPS).status_code == 404


def test_the_index_of_openapi_documents_leads_there(front: Handle, far: Handle) -> None:
    def index(server: Handle) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(server.request("GET", "/openapi/v3"))["paths"]
        return found

    eventually(lambda: "apis/far.io/v1" in index(front))
    assert index(front)["apis/far.io/v1"] == index(far)["apis/far.io/v1"]
    assert index(front)["apis/apps/v1"]["serverRelativeURL"].startswith("/openapi/v3/apis/apps/v1?hash=")
    with client(front) as http:
        answer = http.get(index(front)["apis/far.io/v1"]["serverRelativeURL"])
        assert answer.json()["components"]["schemas"]["io.far.v1.Lamp"]["description"] == "A lamp far away."
        assert (
            http.get("/openapi/v3/apis/apps/v1", headers={"If-None-Match": answer.headers["etag"]}).status_code == 200
        )
        again = http.get("/openapi/v3/apis/far.io/v1", headers={"If-None-Match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_a_server_is_asked_for_documents_as_soon_as_it_can_be_reached(
    folder: Path, far: Handle, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(openapi, "FIRST_SECONDS", 60.0)
    with Server(**front_options(folder)) as front:
        front.request("POST", APISERVICES, api_service(folder, port_of(far.url)))
        eventually(lambda: condition(front)[1] == "ServiceNotFound")
        front.request("POST", SERVICES, external_service())
        eventually(lambda: "apis/far.io/v1" in json.loads(front.request("GET", "/openapi/v3"))["paths"])


def test_the_document_of_v2_has_its_paths_and_definitions(front: Handle, far: Handle) -> None:
    def paths() -> set[str]:
        return {path for path in front.request("GET", "/openapi/v2")["paths"] if path.startswith("/apis/far.io/")}

    eventually(lambda: "/apis/far.io/v1/namespaces/{namespace}/lamps/{name}" in paths())
    mine, theirs = (server.request("GET", "/openapi/v2") for server in (front, far))
    assert mine["definitions"]["io.far.v1.Lamp"] == theirs["definitions"]["io.far.v1.Lamp"]
    assert not [name for name in mine["definitions"] if name.endswith("_v2")]
    with client(front, Accept="application/com.github.proto-openapi.spec.v2@v1.0+protobuf") as http:
        assert b"A lamp far away." in http.get("/openapi/v2").content


def test_a_server_with_a_certificate_of_its_own_choice_reaches_itself(folder: Path) -> None:
    with far_server(folder) as far:
        hook = {
            "name": "own.far.io",
            "clientConfig": {"service": {"namespace": "default", "name": "kubernetes", "path": "/version"}},
            "rules": [
                {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE"]}
            ],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }
        hooks = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
        far.request("POST", hooks, {"metadata": {"name": "own"}, "webhooks": [hook]})
        with client(far) as http:
            answer = http.post("/api/v1/namespaces/default/configmaps", json={"metadata": {"name": "a"}})
        assert "certificate is valid for localhost, far.default.svc, not kubernetes.default.svc" in answer.text
