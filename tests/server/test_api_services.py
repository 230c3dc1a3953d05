"""APIServices: made for what the server serves, kept as they should be, and believed about what it does not serve."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from watchkeeper.testing import Server
from watchkeeper.testing.handle import Handle, RequestFailed

BASE = "/apis/apiregistration.k8s.io/v1/apiservices"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
MANAGED = "kube-aggregator.kubernetes.io/automanaged"
AGGREGATED = {"Accept": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"}


@pytest.fixture(scope="module")
def server() -> Iterator[Handle]:
    with Server(insecure_http=True, controllers=()) as running:
        yield running


def names(server: Handle) -> list[str]:
    return [item["metadata"]["name"] for item in server.request("GET", BASE)["items"]]


def groups(server: Handle) -> list[str]:
    return [group["name"] for group in server.request("GET", "/apis")["groups"]]


def get(server: Handle, path: str) -> httpx.Response:
    return httpx.get(server.url + path, headers={"Authorization": f"Bearer {server.token}"})


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 5
    while not holds():
        assert time.monotonic() < end, "it does not come to that"
        time.sleep(0.01)


def service(group: str, version: str = "v1", **spec: Any) -> dict[str, Any]:
    given = {"group": group, "version": version, "groupPriorityMinimum": 100, "versionPriority": 10, **spec}
    return {"metadata": {"name": f"{version}.{group}"}, "spec": given}


def definition(group: str) -> dict[str, Any]:
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
    spec = {"group": group, "scope": "Namespaced", "names": {"plural": "jars", "kind": "Jar"}, "versions": [version]}
    return {"metadata": {"name": f"jars.{group}"}, "spec": spec}


def test_there_is_one_for_each_built_in_version_but_the_groups_own(server: Handle) -> None:
    found = server.request("GET", BASE)["items"]
    served = {
        version["groupVersion"]
        for group in server.request("GET", "/apis")["groups"]
        for version in group["versions"]
        if group["name"] != "apiregistration.k8s.io"
    }
    said = {f"{item['spec']['group']}/{item['spec']['version']}" for item in found if item["spec"].get("group")}
    assert said == served
    assert groups(server)[0] == "apiregistration.k8s.io"
    assert {item["metadata"]["labels"][MANAGED] for item in found} == {"onstart"}
    assert {item["status"]["conditions"][0]["reason"] for item in found} == {"Local"}
    assert "v1." in names(server)


def test_what_was_made_at_the_start_may_be_changed_and_deleted(server: Handle) -> None:
    server.request("PATCH", f"{BASE}/v1.batch", {"spec": {"versionPriority": 7}})
    assert server.request("GET", f"{BASE}/v1.batch")["spec"]["versionPriority"] == 7
    server.request("DELETE", f"{BASE}/v1.batch")
    assert "v1.batch" not in names(server)
    assert get(server, "/apis/batch/v1/jobs").status_code == 200


def test_the_list_of_groups_is_silent_about_built_in_versions_whose_service_was_deleted(server: Handle) -> None:
    def versions() -> list[str]:
        return [v["version"] for v in server.request("GET", "/apis/autoscaling")["versions"]]

    stored = {name: server.request("GET", f"{BASE}/{name}") for name in ("v1.node.k8s.io", "v1.autoscaling")}
    for name in stored:
        server.request("DELETE", f"{BASE}/{name}")
    until(lambda: "node.k8s.io" not in groups(server) and versions() == ["v2"])
    assert "autoscaling" in groups(server)
    assert [v["version"] for v in server.request("GET", "/apis/node.k8s.io")["versions"]] == ["v1"]
    assert server.request("GET", "/apis/node.k8s.io/v1")["resources"]
    for made in stored.values():
        server.request("POST", BASE, {"metadata": {"name": made["metadata"]["name"]}, "spec": made["spec"]})
    until(lambda: "node.k8s.io" in groups(server) and versions() == ["v2", "v1"])


def test_a_custom_version_has_one_as_long_as_it_is_served(server: Handle) -> None:
    server.request("POST", DEFINITIONS, definition("jars.io"))
    until(lambda: "v1.jars.io" in names(server))
    made = server.request("GET", f"{BASE}/v1.jars.io")
    assert made["metadata"]["labels"] == {MANAGED: "true"}
    assert (made["spec"]["groupPriorityMinimum"], made["spec"]["versionPriority"]) == (1000, 100)
    server.request("DELETE", f"{BASE}/v1.jars.io")
    until(lambda: "v1.jars.io" in names(server))
    server.request("PATCH", f"{BASE}/v1.jars.io", {"spec": {"versionPriority": 7}})
    until(lambda: server.request("GET", f"{BASE}/v1.jars.io")["spec"]["versionPriority"] == 100)
    server.request("DELETE", f"{DEFINITIONS}/jars.jars.io")
    until(lambda: "v1.jars.io" not in names(server))


def test_one_that_somebody_else_has_made_is_left_alone(server: Handle) -> None:
    server.request("POST", BASE, service("mine.io"))
    server.request("POST", DEFINITIONS, definition("mine.io"))
    until(lambda: get(server, "/apis/mine.io/v1/jars").status_code == 200)
    server.request("DELETE", f"{DEFINITIONS}/jars.mine.io")
    until(lambda: get(server, "/apis/mine.io/v1/jars").status_code == 404)
    assert server.request("GET", f"{BASE}/v1.mine.io")["spec"]["versionPriority"] == 10
    server.request("DELETE", f"{BASE}/v1.mine.io")
    assert "mine.io" not in groups(server)


def test_discovery_tells_of_what_is_served_elsewhere_and_requests_find_nobody(server: Handle) -> None:
    reference = {"namespace": "default", "name": "absent"}
    server.request("POST", BASE, service("far.io", service=reference))
    server.request("POST", BASE, service("far.io", "v2", versionPriority=20))
    assert groups(server)[-1] == "far.io"
    group = server.request("GET", "/apis/far.io")
    assert [version["version"] for version in group["versions"]] == ["v2", "v1"]
    items = server.request("GET", "/apis", headers=AGGREGATED)["items"]
    told = next(item for item in items if item["metadata"]["name"] == "far.io")
    assert told["versions"] == [{"version": "v1", "freshness": "Stale"}]
    for path in ("/apis/far.io/v1", "/apis/far.io/v1/things", "/apis/far.io/v1/namespaces/a/things/b"):
        assert (get(server, path).status_code, get(server, path).text) == (503, "service unavailable\n")
    for path in ("/apis/far.io/v2", "/apis/far.io/v2/things", "/apis/far.io/v3/things"):
        assert get(server, path).status_code == 404
    for version in ("v1", "v2"):
        server.request("DELETE", f"{BASE}/{version}.far.io")
    assert get(server, "/apis/far.io/v1/things").status_code == 404
    assert "far.io" not in groups(server)


def test_a_remote_one_tells_why_it_cannot_be_reached(server: Handle) -> None:
    server.request("POST", BASE, service("near.io", service={"namespace": "default", "name": "kubernetes", "port": 80}))

    def condition() -> tuple[str, str]:
        found = server.request("GET", f"{BASE}/v1.near.io")["status"].get("conditions") or [{}]
        return found[0].get("reason", ""), found[0].get("message", "")

    until(lambda: condition() == ("ServicePortError", 'service/kubernetes in "default" is not listening on port 80'))
    server.request("PATCH", f"{BASE}/v1.near.io", {"spec": {"service": {"name": "gone"}}})
    until(lambda: condition() == ("ServiceNotFound", 'service/gone in "default" is not present'))
    server.request("PATCH", f"{BASE}/v1.near.io", {"spec": {"service": {"name": "kubernetes", "port": 443}}})
    until(lambda: condition()[0] == "EndpointsNotFound")
    server.request("DELETE", f"{BASE}/v1.near.io")


def test_a_name_says_what_is_served(server: Handle) -> None:
    with pytest.raises(RequestFailed, match=r"spec.version.*spec.group"):
        server.request("POST", BASE, {**service("a.io"), "metadata": {"name": "b"}})
