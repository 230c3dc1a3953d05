"""APIServices: made for what the server serves, kept as they should be, and believed about what it does not serve."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from tests.waiting import eventually

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
    eventually(lambda: "node.k8s.io" not in groups(server) and versions() == ["v2"])
    assert "autoscaling" in groups(server)
    assert [v["version"] for v in server.request("GET", "/apis/node.k8s.io")["versions"]] == ["v1"]
    assert server.request("GET", "/apis/node.k8s.io/v1")["resources"]
    for made in stored.values():
        server.request("POST", BASE, {"metadata": {"name": made["metadata"]["name"]}, "spec": made["spec"]})
    eventually(lambda: "node.k8s.io" in groups(server) and versions() == ["v2", "v1"])


def test_a_custom_version_has_one_as_long_as_it_is_served(server: Handle) -> None:
    server.request("POST", DEFINITIONS, definition("jars.io"))
    eventually(lambda: "v1.jars.io" in names(server))
    made = server.request("GET", f"{BASE}/v1.jars.io")
    assert made["metadata"]["labels"] == {MANAGED: "true"}
    assert (made["spec"]["groupPriorityMinimum"], made["spec"]["versionPriority"]) == (1000, 100)
    server.request("DELETE", f"{BASE}/v1.jars.io")
    eventually(lambda: "v1.jars.io" in names(server))
    server.request("PATCH", f"{BASE}/v1.jars.io", {"spec": {"versionPriority": 7}})
    eventually(lambda: server.request("GET", f"{BASE}/v1.jars.io")["spec"]["versionPriority"] == 100)
    server.request("DELETE", f"{DEFINITIONS}/jars.jars.io")
    eventually(lambda: "v1.jars.io" not in names(server))


def test_one_that_somebody_else_has_made_is_left_alone(server: Handle) -> None:
    server.request("POST", BASE, service("mine.io"))
    server.request("POST", DEFINITIONS, definition("mine.io"))
    eventually(lambda: get(server, "/apis/mine.io/v1/jars").status_code == 200)
    server.request("DELETE", f"{DEFINITIONS}/jars.mine.io")
    eventually(lambda: get(server, "/apis/mine.io/v1/jars").status_code == 404)
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


def aggregated(server: Handle) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = server.request("GET", "/apis", headers=AGGREGATED)["items"]
    return found


def test_groups_stand_where_the_highest_priority_of_their_versions_puts_them(server: Handle) -> None:
    reference = {"namespace": "default", "name": "absent"}
    given = {"first.io": (20000, 1), "amid.io": (17000, 17001), "last.io": (1, 2)}
    for group, priorities in given.items():
        for version, priority in zip(("v1", "v2"), priorities, strict=True):
            server.request("POST", BASE, service(group, version, groupPriorityMinimum=priority, service=reference))
    for told in (groups(server), [item["metadata"]["name"] for item in aggregated(server)]):
        assert told[:2] == ["apiregistration.k8s.io", "first.io"]
        assert told[told.index("amid.io") - 1 : told.index("amid.io") + 2] == [
            "policy",
            "amid.io",
            "rbac.authorization.k8s.io",
        ]
        assert told[-1] == "last.io"
    for group in given:
        for version in ("v1", "v2"):
            server.request("DELETE", f"{BASE}/{version}.{group}")


def test_versions_of_one_priority_stand_as_their_names_do(server: Handle) -> None:
    reference = {"namespace": "default", "name": "absent"}
    versions = ["v2", "v1", "v1beta1", "v1alpha2", "v1alpha1"]
    for version in [*reversed(versions), "v0"]:
        priority = 11 if version == "v0" else 10
        server.request("POST", BASE, service("even.io", version, service=reference, versionPriority=priority))
    told = next(item for item in aggregated(server) if item["metadata"]["name"] == "even.io")
    assert [version["version"] for version in told["versions"]] == ["v0", *versions]
    group = server.request("GET", "/apis/even.io")
    assert [version["version"] for version in group["versions"]] == ["v0", *versions]
    assert group["preferredVersion"]["version"] == "v0"
    for version in [*versions, "v0"]:
        server.request("DELETE", f"{BASE}/{version}.even.io")


def test_what_is_served_here_is_not_told_of_where_a_remote_one_stands_in_its_place(server: Handle) -> None:
    def told() -> list[dict[str, Any]]:
        found = [item["versions"] for item in aggregated(server) if item["metadata"]["name"] == "both.io"]
        return [{key: each[key] for key in ("version", "freshness")} for each in (found[0] if found else ())]

    stale, current = {"version": "v1", "freshness": "Stale"}, {"version": "v1", "freshness": "Current"}
    server.request("POST", BASE, service("both.io", service={"namespace": "default", "name": "absent"}))
    server.request("POST", DEFINITIONS, definition("both.io"))
    eventually(lambda: "Established" in str(server.request("GET", f"{DEFINITIONS}/jars.both.io")))
    assert told() == [stale]
    assert get(server, "/apis/both.io/v1").status_code == 503
    server.request("DELETE", f"{BASE}/v1.both.io")
    eventually(lambda: told() == [current] and "v1.both.io" in names(server))
    assert get(server, "/apis/both.io/v1").status_code == 200
    server.request("DELETE", f"{DEFINITIONS}/jars.both.io")


def test_a_remote_one_tells_why_it_cannot_be_reached(server: Handle) -> None:
    server.request("POST", BASE, service("near.io", service={"namespace": "default", "name": "kubernetes", "port": 80}))

    def condition() -> tuple[str, str]:
        found = server.request("GET", f"{BASE}/v1.near.io")["status"].get("conditions") or [{}]
        return found[0].get("reason", ""), found[0].get("message", "")

    eventually(
        lambda: condition() == ("ServicePortError", 'service/kubernetes in "default" is not listening on port 80')
    )
    server.request("PATCH", f"{BASE}/v1.near.io", {"spec": {"service": {"name": "gone"}}})
    eventually(lambda: condition() == ("ServiceNotFound", 'service/gone in "default" is not present'))
    server.request("PATCH", f"{BASE}/v1.near.io", {"spec": {"service": {"name": "kubernetes", "port": 443}}})
    eventually(lambda: condition()[0] == "EndpointsNotFound")
    server.request("DELETE", f"{BASE}/v1.near.io")


def test_a_name_says_what_is_served(server: Handle) -> None:
    with pytest.raises(RequestFailed, match=r"spec.version.*spec.group"):
        server.request("POST", BASE, {**service("a.io"), "metadata": {"name": "b"}})
