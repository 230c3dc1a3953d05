"""Flow control: where requests stand, what schemas say of their levels, and how the objects are kept."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.waiting import eventually

from watchkeeper.endpoints.filters.max_in_flight import MaxInFlight
from watchkeeper.request.info import parse_request_info
from watchkeeper.request.user import User
from watchkeeper.server.flow_control import AUTO_UPDATE, flow_schemas, priority_levels, revised
from watchkeeper.server.flow_schemas import SCHEMAS, FlowSchemas
from watchkeeper.server.metrics.flow_control import flow_control_collector
from watchkeeper.server.options import ServeOptions
from watchkeeper.server.server import Server as Whole
from watchkeeper.storage.interface import ListOptions
from watchkeeper.testing import Server
from watchkeeper.testing.handle import Handle

BASE = "/apis/flowcontrol.apiserver.k8s.io/v1"


@pytest.fixture(scope="module")
def server() -> Iterator[Handle]:
    with Server(insecure_http=True, controllers=()) as running:
        yield running


def schema(name: str, level: str, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"priorityLevelConfiguration": {"name": level}, **spec}}


def level(name: str) -> dict[str, Any]:
    limited = {"nominalConcurrencyShares": 3, "limitResponse": {"type": "Reject"}}
    return {"metadata": {"name": name}, "spec": {"type": "Limited", "limited": limited}}


# -- where requests stand -----------------------------------------------------------------------------------------


def known() -> FlowSchemas:
    found = FlowSchemas()
    for kind, objects in (("PriorityLevelConfiguration", priority_levels()), ("FlowSchema", flow_schemas())):
        named = [{**obj, "metadata": {**obj["metadata"], "uid": obj["metadata"]["name"]}} for obj in objects]
        found.replace(kind, named)
    return found


def place(schemas: FlowSchemas, user: User, path: str, method: str = "GET") -> tuple[str, ...]:
    headers = schemas.headers(user, parse_request_info(method, path, ""))
    return tuple(value.decode() for _, value in headers)


@pytest.mark.parametrize(
    ("user", "path", "expected"),
    [
        (User("a", groups=("system:masters",)), "/api/v1/pods", ("exempt", "exempt")),
        (User("a", groups=("system:authenticated",)), "/healthz", ("probes", "exempt")),
        (User("a", groups=("system:authenticated",)), "/healthz/ping", ("probes", "exempt")),
        (User("a", groups=("system:authenticated",)), "/healthzz", ("global-default", "global-default")),
        (User("a", groups=("system:nodes",)), "/api/v1/nodes/n/status", ("system-node-high", "node-high")),
        (User("a", groups=("system:nodes",)), "/api/v1/pods", ("system-nodes", "system")),
        (User("system:kube-scheduler"), "/api/v1/pods", ("kube-scheduler", "workload-high")),
        (
            User("system:serviceaccount:kube-system:x"),
            "/apis/coordination.k8s.io/v1/namespaces/a/leases/b",
            ("system-leader-election", "leader-election"),
        ),
        (
            User("system:serviceaccount:kube-system:x"),
            "/api/v1/pods",
            ("kube-system-service-accounts", "workload-high"),
        ),
        (User("nobody"), "/api/v1/pods", ()),
    ],
)
def test_the_first_schema_that_takes_a_request_is_told(user: User, path: str, expected: tuple[str, ...]) -> None:
    assert place(known(), user, path) == expected


def test_a_schema_without_a_level_takes_no_requests_until_there_is_one() -> None:
    schemas = known()
    rule = {
        "subjects": [{"kind": "User", "user": {"name": "a"}}],
        "resourceRules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods/log"], "namespaces": ["n"]}],
    }
    mine = schema("mine", "own", matchingPrecedence=5, rules=[rule])
    mine |= {"kind": "FlowSchema", "metadata": {"name": "mine", "uid": "u"}}
    schemas.put(mine)
    user, path = User("a", groups=("system:authenticated",)), "/api/v1/namespaces/n/pods/p/log"
    assert place(schemas, user, path) == ("global-default", "global-default")
    schemas.put({**level("own"), "kind": "PriorityLevelConfiguration", "metadata": {"name": "own", "uid": "l"}})
    assert place(schemas, user, path) == ("u", "l")
    assert place(schemas, user, path.replace("/n/", "/m/")) == ("global-default", "global-default")
    assert place(schemas, user, path.removesuffix("/log")) == ("global-default", "global-default")
    schemas.remove(mine)
    assert place(schemas, user, path) == ("global-default", "global-default")


def test_answers_tell_where_their_requests_stood(server: Handle) -> None:
    uids = {
        item["metadata"]["name"]: item["metadata"]["uid"]
        for kind in ("flowschemas", "prioritylevelconfigurations")
        for item in server.request("GET", f"{BASE}/{kind}")["items"]
        if kind == "flowschemas" or item["metadata"]["name"] == "global-default"
    }
    administrator = {"Authorization": f"Bearer {server.token}"}
    for path in ("/api/v1/pods", "/nosuch", "/api/v1/namespaces/default/configmaps/absent"):
        answer = httpx.get(server.url + path, headers=administrator)
        assert answer.headers["x-kubernetes-pf-flowschema-uid"] == uids["exempt"]
    answer = httpx.get(server.url + "/api/v1/pods", headers={**administrator, "Impersonate-User": "jane"})
    assert (answer.status_code, answer.headers["x-kubernetes-pf-prioritylevel-uid"]) == (403, uids["global-default"])


def test_what_the_shares_of_levels_come_to_is_told(server: Handle) -> None:
    answer = httpx.get(server.url + "/metrics", headers={"Authorization": f"Bearer {server.token}"})
    found = dict(
        re.findall(r'^apiserver_flowcontrol_nominal_limit_seats\{priority_level="(.+)"\} (.+)$', answer.text, re.M)
    )
    assert found == {
        "catch-all": "13",
        "exempt": "0",
        "global-default": "49",
        "leader-election": "25",
        "node-high": "98",
        "system": "74",
        "workload-high": "98",
        "workload-low": "245",
    }


def test_nothing_is_told_of_shares_where_requests_have_no_limit() -> None:
    assert list(flow_control_collector(known(), MaxInFlight(read_only=0).limit)()) == []


def test_streams_other_than_watches_stand_nowhere(server: Handle) -> None:
    def shown(path: str) -> bool:
        answer = httpx.get(server.url + path, headers={"Authorization": f"Bearer {server.token}"})
        return "x-kubernetes-pf-flowschema-uid" in answer.headers

    pod = "/api/v1/namespaces/default/pods/x"
    assert shown(pod)
    assert shown("/api/v1/namespaces/default/pods?watch=1&timeoutSeconds=1")
    assert not shown(f"{pod}/log")
    assert not shown(f"{pod}/proxy/x")


# -- how the objects are kept -------------------------------------------------------------------------------------


def test_a_schema_says_whether_its_level_is_there(server: Handle) -> None:
    def dangling() -> tuple[str, str]:
        found = server.request("GET", f"{BASE}/flowschemas/mine")["status"].get("conditions") or [{}]
        return found[0].get("status", ""), found[0].get("message", "").rpartition('" ')[2]

    server.request("POST", f"{BASE}/flowschemas", schema("mine", "lvl"))
    eventually(lambda: dangling() == ("True", "but there is no such object"))
    server.request("POST", f"{BASE}/prioritylevelconfigurations", level("lvl"))
    eventually(lambda: dangling() == ("False", "and it exists"))
    entries = server.request("GET", f"{BASE}/flowschemas/mine")["metadata"]["managedFields"]
    writer = next(entry for entry in entries if entry.get("subresource") == "status")
    assert (writer["manager"], writer["operation"]) == ("api-priority-and-fairness-config-consumer-v1", "Apply")
    server.request("DELETE", f"{BASE}/prioritylevelconfigurations/lvl")
    eventually(lambda: dangling()[0] == "True")
    server.request("PATCH", f"{BASE}/flowschemas/mine", {"spec": {"priorityLevelConfiguration": {"name": "exempt"}}})
    eventually(lambda: dangling()[0] == "False")
    server.request("DELETE", f"{BASE}/flowschemas/mine")


def stored(name: str, precedence: int, generation: int = 2, kept: str = "") -> dict[str, Any]:
    obj = schema(name, "x", matchingPrecedence=precedence)
    obj["metadata"] |= {"generation": generation, "annotations": {AUTO_UPDATE: kept} if kept else {}}
    return obj


@pytest.mark.parametrize(
    ("current", "outcome"),
    [
        (stored("a", 1, kept="true"), None),
        (stored("a", 2, kept="true"), (1, "true", 3)),
        (stored("a", 2, kept="false"), None),
        (stored("a", 2), (2, "false", 2)),
        (stored("a", 2, 1), (1, "true", 2)),
        (stored("exempt", 2, kept="false"), (1, "true", 3)),
        (stored("exempt", 1, kept="false"), (1, "true", 2)),
        (stored("a", 2, kept="maybe"), (2, "false", 2)),
        (stored("a", 2, kept="T"), (1, "T", 3)),
    ],
)
def test_what_was_changed_is_put_right_where_nobody_wants_it_otherwise(
    current: dict[str, Any], outcome: tuple[int, str, int] | None
) -> None:
    found = revised(current, schema("x", "x", matchingPrecedence=1))
    assert outcome == (
        None
        if found is None
        else (
            found["spec"]["matchingPrecedence"],
            found["metadata"]["annotations"][AUTO_UPDATE],
            found["metadata"]["generation"],
        )
    )


def test_what_is_missing_comes_back_and_what_older_servers_made_goes(tmp_path: Path) -> None:
    async def run() -> tuple[list[str], list[str]]:
        async with Whole(ServeOptions(data_dir=tmp_path, storage="memory:", port=0, controllers=())) as running:
            bootstrap = running._make_bootstrap()
            storage = running.assembly.registry.find(SCHEMAS).storage
            prefix = running.assembly.registry.find(SCHEMAS).prefix
            first = await storage.get_list(f"{prefix}/", ListOptions())
            old = first.items[0].data()
            gone = first.items[1].data()["metadata"]["name"]
            await storage.delete(f"{prefix}/{gone}")
            del old["metadata"]["resourceVersion"]
            unknown = {**old, "metadata": {**old["metadata"], "name": "older"}}
            await storage.create(f"{prefix}/older", unknown)
            await bootstrap.flow_control()
            after = await storage.get_list(f"{prefix}/", ListOptions())
            return [i.data()["metadata"]["name"] for i in first.items], [
                i.data()["metadata"]["name"] for i in after.items
            ]

    before, after = asyncio.run(run())
    assert after == before


def test_who_writes_a_condition_again_and_again_is_not_fought(server: Handle) -> None:
    server.request("POST", f"{BASE}/flowschemas", schema("fought", "catch-all"))
    path = f"{BASE}/flowschemas/fought"

    def said() -> str:
        conditions = (server.request("GET", path).get("status") or {}).get("conditions") or [{}]
        return str(conditions[0].get("reason", ""))

    other = {"status": {"conditions": [{"type": "Dangling", "status": "True", "reason": "Other"}]}}
    for _ in range(5):
        eventually(lambda: said() == "Found")
        server.request("PATCH", f"{path}/status", other)
    eventually(lambda: said() == "Found")
    server.request("PATCH", f"{path}/status", other)
    server.request("POST", f"{BASE}/flowschemas", schema("beside", "catch-all"))
    eventually(lambda: "Found" in str(server.request("GET", f"{BASE}/flowschemas/beside")))
    assert said() == "Other"
    for name in ("fought", "beside"):
        server.request("DELETE", f"{BASE}/flowschemas/{name}")
