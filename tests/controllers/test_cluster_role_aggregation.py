"""Roles with an aggregationRule get the rules of the roles that it selects."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from tests.waiting import eventually

from watchkeeper.controllers.cluster_role_aggregation import collected_rules
from watchkeeper.testing import Handle
from watchkeeper.testing import Server as InProcess

ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"


def rule(resource: str) -> dict[str, Any]:
    return {"apiGroups": ["example.com"], "resources": [resource], "verbs": ["get"]}


def role(name: str, *rules: dict[str, Any], **labels: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": labels}, "rules": list(rules)}


def collecting(name: str, *selectors: dict[str, str]) -> dict[str, Any]:
    return {**role(name), "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": s} for s in selectors]}}


def collected(*roles: dict[str, Any]) -> list[str] | None:
    found = collected_rules(roles[0], {r["metadata"]["name"]: r for r in roles})
    return None if found is None else [r["resources"][0] for r in found]


def test_rules_come_by_selector_and_name_and_each_once() -> None:
    roles = [
        collecting("all", {"to": "all"}, {"more": "yes"}),
        role("z", rule("z"), rule("both"), to="all"),
        role("a", rule("a"), rule("both"), to="all"),
        role("0", rule("more"), rule("a"), more="yes"),
        role("other", rule("other")),
    ]
    assert collected(*roles) == ["a", "both", "z", "more"]


def test_a_selector_that_is_none_is_told() -> None:
    broken = {**role("broken"), "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"not a key": "x"}}]}}
    with pytest.raises(ValueError, match="not a key"):
        collected(broken, role("a", rule("a")))


def test_a_role_does_not_collect_itself_and_some_collect_nothing() -> None:
    own = {**collecting("own", {"to": "all"}), "rules": [rule("own")]}
    own["metadata"]["labels"] = {"to": "all"}
    assert collected(own) == []
    assert collected(role("plain", rule("x"))) is None


@pytest.fixture(scope="module")
def server() -> Iterator[Handle]:
    with InProcess(insecure_http=True, controllers=("clusterrole-aggregation",)) as handle:
        yield handle


def resources(server: Handle, name: str) -> set[str]:
    found = server.request("GET", f"{ROLES}/{name}").get("rules") or []
    return {resource for each in found for resource in each["resources"]}


def test_what_an_operator_brings_becomes_part_of_the_roles_of_users(server: Handle) -> None:
    before = {
        name: server.request("GET", f"{ROLES}/{name}")["metadata"]["resourceVersion"]
        for name in ("admin", "edit", "view")
    }
    label = {"rbac.authorization.k8s.io/aggregate-to-edit": "true"}
    server.request(
        "POST", ROLES, {**role("widgets", rule("widgets")), "metadata": {"name": "widgets", "labels": label}}
    )
    assert eventually(lambda: "widgets" in resources(server, "edit"))
    # admin collects edit in turn.
    assert eventually(lambda: "widgets" in resources(server, "admin"))
    assert server.request("GET", f"{ROLES}/view")["metadata"]["resourceVersion"] == before["view"]
    assert "secrets" in resources(server, "admin")
    server.request("DELETE", f"{ROLES}/widgets")
    assert eventually(lambda: "widgets" not in resources(server, "admin") | resources(server, "edit"))


def test_roles_that_are_right_are_not_written(server: Handle) -> None:
    # The initial rules of admin, edit and view are what the controller would collect.
    view = server.request("GET", f"{ROLES}/view")
    assert view["metadata"]["resourceVersion"].isdigit()
    with InProcess(insecure_http=True, controllers=("clusterrole-aggregation",)) as fresh:
        first = fresh.request("GET", ROLES)["metadata"]["resourceVersion"]
        fresh.request("POST", ROLES, role("unrelated", rule("x")))
        time.sleep(0.3)
        listed = fresh.request("GET", ROLES)["items"]
        changed = [r["metadata"]["name"] for r in listed if int(r["metadata"]["resourceVersion"]) > int(first)]
        assert changed == ["unrelated"]


def test_collected_rules_are_applied_so_they_belong_to_the_controller(server: Handle) -> None:
    server.request("POST", ROLES, role("part", rule("x"), to="owned"))
    server.request("POST", ROLES, collecting("owned", {"to": "owned"}))
    assert eventually(lambda: resources(server, "owned") == {"x"})
    entries = server.request("GET", f"{ROLES}/owned")["metadata"]["managedFields"]
    applied = [e for e in entries if e["manager"] == "clusterrole-aggregation-controller"]
    assert [(e["operation"], e["fieldsV1"]) for e in applied] == [("Apply", {"f:rules": {}})]
    server.request("DELETE", f"{ROLES}/part")
    assert eventually(lambda: resources(server, "owned") == set())


def test_rules_that_others_wrote_stay_while_nothing_is_collected(server: Handle) -> None:
    server.request("POST", ROLES, {**collecting("own-rules", {"to": "nobody"}), "rules": [rule("mine")]})
    server.request("POST", ROLES, role("later", rule("y"), to="later"))
    server.request("POST", ROLES, collecting("after-it", {"to": "later"}))
    assert eventually(lambda: resources(server, "after-it") == {"y"})
    assert resources(server, "own-rules") == {"mine"}
