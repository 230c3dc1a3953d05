"""Custom resources over HTTP: from the definition to its end."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.waiting import eventually

from watchkeeper.testing import Server

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
MERGE = "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"


def test_a_resource_is_served_once_its_definition_says_so(api: Any, kit: Any) -> None:
    path = api.install(kit.version(spec=kit.obj(size={"type": "integer"})))
    created = api.call("POST", path, api.widget("a", {"size": 1, "odd": 2}))
    assert created.status == 201
    assert created.body["spec"] == {"size": 1}
    assert created.body["metadata"]["generation"] == 1
    assert created.warnings == ['299 - "unknown field \\"spec.odd\\""']
    assert api.call("GET", f"{path}/a").body == created.body
    found = api.call("GET", path).body
    assert (found["kind"], [i["kind"] for i in found["items"]]) == ("WidgetList", ["Widget"])
    assert api.call("GET", f"/apis/{api.group}/v1/widgets").body["items"] == found["items"]
    patched = api.call("PATCH", f"{path}/a", {"spec": {"size": 2}}, MERGE)
    assert (patched.body["spec"], patched.body["metadata"]["generation"]) == ({"size": 2}, 2)
    deleted = api.call("DELETE", f"{path}/a").body
    assert (deleted["kind"], deleted["details"]["kind"]) == ("Status", "widgets")
    assert api.call("GET", f"{path}/a").status == 404


def test_discovery_tells_of_a_resource_once_its_definition_is_written_no_more(
    api: Any, kit: Any, tmp_path: Path
) -> None:
    def use(api: Any) -> int:
        definition = api.definition(kit.version())
        assert api.call("POST", DEFINITIONS, definition).status == 201
        while api.call("GET", f"/apis/{api.group}/v1").status != 200:
            pass
        path = f"{DEFINITIONS}/{definition['metadata']['name']}"
        return int(api.call("PUT", path, api.call("GET", path).body).status)

    # Where writes take a while.
    with Server(insecure_http=True, storage=f"sqlite:{tmp_path / 'objects.db'}") as server:
        assert [use(type(api)(server)) for _ in range(50)] == [200] * 50


def test_a_watch_opened_as_soon_as_possible_sees_the_first_object_once(api: Any, kit: Any) -> None:
    path = api.install(kit.version())
    with api.watch(path) as events:
        api.call("POST", path, api.widget("first", {"n": 1}))
        assert events.wait(1) == [("ADDED", {"n": 1})]
        api.call("POST", path, api.widget("second", {"n": 2}))
        assert events.wait(2)[1] == ("ADDED", {"n": 2})


def test_each_of_many_definitions_can_be_used_at_once(apis: Any, kit: Any) -> None:
    def use(api: Any) -> tuple[Any, ...]:
        path = api.install(kit.version())
        with api.watch(path) as events:
            api.call("POST", path, api.widget("first", {"n": 1}))
            eventually(lambda: events.events, seconds=1.0)
            kept = api.call("GET", path).body["items"]
            deleted = api.call("DELETE", f"{DEFINITIONS}/widgets.{api.group}")
            eventually(events.ended.is_set)
            return (len(kept), deleted.status, *[e["type"] for e in events.events])

    with ThreadPoolExecutor(8) as pool:
        outcomes = set(pool.map(use, apis(100)))
    assert outcomes == {(1, 200, "ADDED", "DELETED")}


def test_a_schema_that_only_validates_otherwise_takes_effect_and_ends_watches_a_little_later(
    api: Any, kit: Any
) -> None:
    path = api.install(kit.version(spec=kit.obj(size={"type": "integer"})))
    name = f"widgets.{api.group}"
    with api.watch(path) as events:
        api.call("POST", path, api.widget("a", {"size": 9}))
        stricter = kit.version(spec=kit.obj(size={"type": "integer", "maximum": 5}))
        assert api.call("PATCH", f"{DEFINITIONS}/{name}", {"spec": {"versions": [stricter]}}, MERGE).status == 200
        eventually(lambda: api.call("POST", path, api.widget("b", {"size": 9})).status == 422)
        assert api.call("POST", path, api.widget("c", {"size": 5})).status == 201
        api.call("PATCH", f"{path}/a", {"metadata": {"labels": {"x": "y"}}}, MERGE)
        eventually(lambda: events.events[-1]["type"] == "MODIFIED")
        assert events.events[-1]["object"]["spec"] == {"size": 9}, "an unchanged field is not held against the update"
        assert not events.ended.is_set()
        with api.watch(path) as later:
            eventually(events.ended.is_set)
            assert api.call("POST", path, api.widget("d", {"size": 1})).status == 201
            eventually(lambda: later.events[-1]["object"]["metadata"]["name"] == "d")
            assert not later.ended.is_set()


def test_what_is_said_about_a_definition_besides_its_spec_leaves_watches_open(api: Any, kit: Any) -> None:
    path = api.install(kit.version())
    name = f"widgets.{api.group}"
    with api.watch(path) as events:
        labels = {"metadata": {"labels": {"x": "y"}}}
        assert api.call("PATCH", f"{DEFINITIONS}/{name}", labels, MERGE).status == 200
        condition = {"type": "Odd", "status": "True", "reason": "r", "message": "m"}
        found = api.call("GET", f"{DEFINITIONS}/{name}").body["status"]
        status = {"status": {"conditions": [*found["conditions"], condition]}}
        assert api.call("PATCH", f"{DEFINITIONS}/{name}/status", status, MERGE).status == 200
        time.sleep(1.3)
        api.call("POST", path, api.widget("a", {"n": 1}))
        eventually(lambda: [e["type"] for e in events.events] == ["ADDED"])
        assert not events.ended.is_set()


def test_a_default_that_comes_later_shows_in_what_was_stored_before(api: Any, kit: Any) -> None:
    path = api.install(kit.version(spec=kit.obj(size={"type": "integer"})))
    api.call("POST", path, api.widget("a", {"size": 1}))
    more = kit.version(spec=kit.obj(size={"type": "integer"}, level={"type": "string", "default": "Low"}))
    with api.watch(path) as events:
        api.call("PATCH", f"{DEFINITIONS}/widgets.{api.group}", {"spec": {"versions": [more]}}, MERGE)
        eventually(lambda: api.call("GET", f"{path}/a").body["spec"] == {"size": 1, "level": "Low"})
        eventually(events.ended.is_set)


def test_status_is_written_through_its_subresource_only(api: Any, kit: Any) -> None:
    path = api.install(kit.version(subresources={"status": {}}))
    created = api.call("POST", path, api.widget("a", {"n": 1}, status={"ready": True})).body
    assert "status" not in created
    put = {**created, "spec": {"n": 2}, "status": {"ready": True}}
    answer = api.call("PUT", f"{path}/a/status", put).body
    assert (answer["spec"], answer["status"], answer["metadata"]["generation"]) == ({"n": 1}, {"ready": True}, 1)
    answer = api.call("PUT", f"{path}/a", {**answer, "spec": {"n": 3}, "status": {}}).body
    assert (answer["spec"], answer["status"], answer["metadata"]["generation"]) == ({"n": 3}, {"ready": True}, 2)
    missing = api.call("GET", f"{path}/a/scale")
    assert (missing.status, missing.body["details"]["kind"]) == (404, "widgets")


def test_scale_reads_and_writes_the_paths_that_the_definition_names(api: Any, kit: Any) -> None:
    scale = {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n", "labelSelectorPath": ".status.s"}
    path = api.install(kit.version(subresources={"status": {}, "scale": scale}))
    api.call("POST", path, api.widget("a", {"n": 3}))
    api.call("PATCH", f"{path}/a/status", {"status": {"n": 2, "s": "app=a"}}, MERGE)
    found = api.call("GET", f"{path}/a/scale").body
    assert (found["kind"], found["spec"], found["status"]) == (
        "Scale",
        {"replicas": 3},
        {"replicas": 2, "selector": "app=a"},
    )
    assert api.call("PATCH", f"{path}/a/scale", {"spec": {"replicas": 5}}, MERGE).body["spec"] == {"replicas": 5}
    assert api.call("GET", f"{path}/a").body["spec"] == {"n": 5}
    refused = api.call("PATCH", f"{path}/a/scale", {"spec": {"replicas": -1}}, MERGE)
    assert [c["field"] for c in refused.body["details"]["causes"]] == [".spec.n"]


def test_lists_and_watches_select_by_the_fields_that_the_definition_names(api: Any, kit: Any) -> None:
    spec = kit.obj(color={"type": "string"}, size={"type": "integer"})
    path = api.install(kit.version(spec=spec, selectableFields=[{"jsonPath": ".spec.color"}]))
    for name, color in (("a", "red"), ("b", "blue")):
        api.call("POST", path, api.widget(name, {"color": color}))
    selected = f"{path}?fieldSelector=spec.color%3Dred"
    assert [i["metadata"]["name"] for i in api.call("GET", selected).body["items"]] == ["a"]
    refused = api.call("GET", f"{path}?fieldSelector=spec.size%3D1")
    assert (refused.status, refused.body["message"]) == (400, "field label not supported: spec.size")
    with api.watch(selected) as events:
        events.wait(1)
        api.call("PATCH", f"{path}/b", {"spec": {"color": "red"}}, MERGE)
        api.call("PATCH", f"{path}/a", {"spec": {"color": "green"}}, MERGE)
        assert [kind for kind, _ in events.wait(3)] == ["ADDED", "ADDED", "DELETED"]


def test_apply_owns_fields_and_lists_by_key(api: Any, kit: Any) -> None:
    item = {
        "type": "object",
        "required": ["name"],
        "properties": {"name": {"type": "string"}, "n": {"type": "integer"}},
    }
    rows = {
        "type": "array",
        "items": item,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
    }
    path = api.install(kit.version(spec=kit.obj(rows=rows)))
    applied = api.widget("a", {"rows": [{"name": "x", "n": 1}]})
    assert api.call("PATCH", f"{path}/a?fieldManager=one", applied, APPLY).status == 201
    other = api.widget("a", {"rows": [{"name": "y", "n": 2}]})
    answer = api.call("PATCH", f"{path}/a?fieldManager=two", other, APPLY)
    assert answer.body["spec"] == {"rows": [{"name": "x", "n": 1}, {"name": "y", "n": 2}]}
    conflict = api.call(
        "PATCH", f"{path}/a?fieldManager=two", api.widget("a", {"rows": [{"name": "x", "n": 9}]}), APPLY
    )
    assert conflict.status == 409


def test_a_strategic_merge_patch_is_refused(api: Any, kit: Any) -> None:
    path = api.install(kit.version())
    api.call("POST", path, api.widget("a", {}))
    answer = api.call("PATCH", f"{path}/a", {"spec": {}}, "application/strategic-merge-patch+json")
    assert answer.status == 415
    assert "accepted media types include: application/json-patch+json" in answer.body["message"]


def test_bodies_in_other_media_types_are_refused(api: Any, kit: Any) -> None:
    path = api.install(kit.version())
    api.call("POST", path, api.widget("a", {}))
    for method, at in (("POST", path), ("PUT", f"{path}/a"), ("DELETE", f"{path}/a"), ("DELETE", path)):
        answer = api.call(method, at, api.widget("a", {}), "text/plain")
        assert (answer.status, answer.body["reason"]) == (415, "UnsupportedMediaType")
        assert answer.body["message"] == (
            "the body of the request was in an unknown format - accepted media types include: "
            "application/json, application/yaml, application/vnd.kubernetes.protobuf"
        )
    answer = api.call("POST", path, api.widget("b", {}), "application/vnd.kubernetes.protobuf")
    assert answer.status == 415


def test_options_of_a_deletion_may_be_in_protobuf(api: Any, kit: Any) -> None:
    path = api.install(kit.version())
    api.call("POST", path, api.widget("a", {}))
    answer = api.call("DELETE", f"{path}/a", {}, "application/vnd.kubernetes.protobuf")
    assert answer.status == 400  # JSON under the name of protobuf
    assert "does not appear to be a protobuf message" in answer.body["message"]


def test_a_definition_goes_with_its_objects_and_ends_their_watches(api: Any, kit: Any) -> None:
    path = api.install(kit.version())
    name = f"widgets.{api.group}"
    held = api.widget("held", {})
    held["metadata"]["finalizers"] = ["example.io/hold"]
    for each in (held, api.widget("free", {"n": 1})):
        assert api.call("POST", path, each).status == 201
    with api.watch(path) as events:
        events.wait(2)
        deleted = api.call("DELETE", f"{DEFINITIONS}/{name}").body
        assert deleted["metadata"]["finalizers"] == ["customresourcecleanup.apiextensions.k8s.io"]
        eventually(lambda: api.call("GET", f"{path}/free").status == 404)
        refused = api.call("POST", path, api.widget("late", {}))
        assert refused.status == 403
        assert "create not allowed while custom resource definition is terminating" in refused.body["message"]
        assert api.has_condition(name, "Terminating")
        told = api.call("GET", path.partition("/namespaces/")[0]).body["resources"][0]["verbs"]
        assert told == ["delete", "deletecollection", "get", "list", "watch"]
        document = api.call("GET", f"/openapi/v3/apis/{api.group}/v1").body["paths"]
        assert {"post", "delete"} <= document[path.replace("/default/", "/{namespace}/")].keys()
        api.call("PATCH", f"{path}/held", {"metadata": {"finalizers": None}}, MERGE)
        eventually(lambda: api.call("GET", f"{DEFINITIONS}/{name}").status == 404)
        eventually(events.ended.is_set)
        assert [e["type"] for e in events.events].count("DELETED") == 2
    answer = api.call("GET", path)
    assert (answer.status, answer.text) == (404, "404 page not found\n")
    api.install(kit.version())
    assert api.call("GET", path).body["items"] == [], "a definition that comes again begins empty"


def test_names_belong_to_who_had_them_first_until_they_are_given_back(api: Any, kit: Any) -> None:
    api.install(kit.version())
    second = api.definition(kit.version(), plural="wheels", names={"plural": "wheels", "kind": "Widget"})
    api.call("POST", DEFINITIONS, second)
    name = f"wheels.{api.group}"
    eventually(lambda: api.has_condition(name, "NamesAccepted", "False"))
    conditions = api.call("GET", f"{DEFINITIONS}/{name}").body["status"]["conditions"]
    assert conditions[0]["message"] == '"WidgetList" is already in use'
    assert api.call("GET", api.path(plural="wheels")).status == 404
    api.call("DELETE", f"{DEFINITIONS}/widgets.{api.group}")
    eventually(lambda: api.has_condition(name, "Established"))
    assert api.call("GET", api.path(plural="wheels")).status == 200


def test_discovery_and_openapi_tell_of_custom_resources(api: Any, kit: Any) -> None:
    names = {"plural": "widgets", "kind": "Widget", "shortNames": ["wd"], "categories": ["all"]}
    api.install(kit.version(subresources={"status": {}}), kit.version("v2beta1", storage=False), names=names)
    group = api.call("GET", f"/apis/{api.group}").body
    assert [v["version"] for v in group["versions"]] == ["v1", "v2beta1"]
    resources = api.call("GET", f"/apis/{api.group}/v1").body["resources"]
    assert [r["name"] for r in resources] == ["widgets", "widgets/status"]
    assert resources[0]["shortNames"] == ["wd"]
    document = api.call("GET", f"/openapi/v3/apis/{api.group}/v1").body
    name = ".".join([*reversed(api.group.split(".")), "v1", "Widget"])
    assert "spec" in document["components"]["schemas"][name]["properties"]
    api.call("DELETE", f"{DEFINITIONS}/widgets.{api.group}")
    eventually(lambda: api.call("GET", f"/apis/{api.group}").status == 404)


def test_tables_show_the_columns_that_the_definition_names(api: Any, kit: Any) -> None:
    columns = [
        {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
        {"name": "When", "type": "date", "jsonPath": ".spec.when"},
        {"name": "All", "type": "string", "jsonPath": ".spec.list"},
        {"name": "Ready", "type": "string", "jsonPath": '.status.conditions[?(@.type=="Ready")].status'},
    ]
    path = api.install(kit.version(additionalPrinterColumns=columns))
    spec = {"size": 3, "when": "never", "list": [1, {"a": 2}]}
    api.call("POST", path, api.widget("a", spec, status={"conditions": [{"type": "Ready", "status": "True"}]}))
    api.call("POST", path, api.widget("b", {}))
    connection = api._connection()
    accept = "application/json;as=Table;v=v1;g=meta.k8s.io"
    connection.request("GET", path, headers={"Authorization": f"Bearer {api.handle.token}", "Accept": accept})
    import json

    table = json.loads(connection.getresponse().read())
    assert [c["name"] for c in table["columnDefinitions"]] == ["Name", "Size", "When", "All", "Ready"]
    assert [r["cells"] for r in table["rows"]] == [
        ["a", 3, "<invalid>", '[1,{"a":2}]', "True"],
        ["b", None, None, None, None],
    ]


def test_a_definition_in_a_group_of_the_server_takes_nothing_from_what_is_built_in(api: Any, kit: Any) -> None:
    api.group = group = "networking.k8s.io"
    approved = {"api-approved.kubernetes.io": "https://github.com/kubernetes/kubernetes/pull/1"}
    policies = f"/apis/{group}/v1/namespaces/{api.namespace}/networkpolicies"
    before = api.call("GET", f"/apis/{group}").body

    def define(plural: str, *names: str) -> str:
        versions = [kit.version(name, storage=i == 0) for i, name in enumerate(names)]
        definition = api.definition(*versions, plural=plural)
        definition["metadata"]["annotations"] = approved
        name = f"{plural}.{group}"
        assert api.call("POST", DEFINITIONS, definition).status == 201
        eventually(lambda: api.has_condition(name, "Established"))
        return f"{DEFINITIONS}/{name}"

    policy = {"metadata": {"name": "kept"}, "spec": {"podSelector": {}}}
    assert api.call("POST", policies, policy).status == 201
    made = [define("networkpolicies", "v1", "v7"), define("gizmos", "v1"), define("widgets", "v2")]
    listed = api.call("GET", f"/apis/{group}").body["versions"]
    assert [v["version"] for v in listed] == ["v7", "v2", "v1"]
    # At v1 there is what is built in; what is defined has objects of its own.
    assert api.call("GET", f"/apis/{group}/v1/namespaces/default/gizmos").status == 404
    assert api.call("GET", f"{policies}/kept").body["kind"] == "NetworkPolicy"
    assert api.call("GET", policies.replace("v1", "v7")).body["items"] == []
    assert api.call("POST", api.path("v2"), api.widget("w", {}, "v2")).status == 201
    for path in made:
        assert api.call("DELETE", path).status == 200
    eventually(lambda: all(api.call("GET", path).status == 404 for path in made))
    assert api.call("GET", f"/apis/{group}").body == before
    assert api.call("DELETE", f"{policies}/kept").status == 200


def test_a_definition_may_have_a_hundred_versions(api: Any, kit: Any) -> None:
    api.install(*(kit.version(f"v{i}", storage=i == 1) for i in range(1, 101)))
    versions = [v["version"] for v in api.call("GET", f"/apis/{api.group}").body["versions"]]
    assert versions == [f"v{i}" for i in range(100, 0, -1)]
    assert api.call("POST", api.path("v50"), api.widget("a", {"n": 1}, "v50")).status == 201
    assert api.call("GET", f"{api.path('v99')}/a").body["apiVersion"] == f"{api.group}/v99"
    paths = api.call("GET", "/openapi/v3").body["paths"]
    assert sum(path.startswith(f"apis/{api.group}/") for path in paths) == 100


def test_discovery_and_openapi_answer_while_definitions_come_and_go(apis: Any, kit: Any) -> None:
    api, *others = apis(8)
    seen: list[int] = []
    stop = threading.Event()

    def ask() -> None:
        while not stop.is_set():
            seen.extend(api.call("GET", path).status for path in ("/apis", "/openapi/v2", "/openapi/v3"))

    def churn(each: Any) -> set[str]:
        for number in range(4):
            plural = f"widgets{number}s"
            assert api.call("POST", DEFINITIONS, each.definition(kit.version(), plural=plural)).status == 201
            if number % 2:
                assert api.call("DELETE", f"{DEFINITIONS}/{plural}.{each.group}").status == 200
        return {"widgets0s", "widgets2s"}

    with ThreadPoolExecutor(10) as pool:
        asking = [pool.submit(ask) for _ in range(3)]
        try:
            kept = list(pool.map(churn, others))
        finally:
            stop.set()
    assert all(each.exception() is None for each in asking)
    assert set(seen) == {200}
    for each, plurals in zip(others, kept, strict=True):
        path = f"/apis/{each.group}/v1"
        eventually(lambda p=path, k=plurals: {r["name"] for r in api.call("GET", p).body["resources"]} == k)
        document = api.call("GET", f"/openapi/v3{path}").body
        assert {p.rsplit("/", 1)[1] for p in document["paths"] if "{" not in p} == plurals


def test_numbers_beyond_64_bits_are_shown_with_the_digits_of_a_float(api: Any, kit: Any) -> None:
    path = api.install(kit.version(spec={"type": "object", "x-kubernetes-preserve-unknown-fields": True}))
    spec = {"a": 12345678901234567890, "b": 1e19, "c": 1e21, "text": "1e+19"}
    shown = {"a": 12345678901234567000, "b": 10**19, "c": 1e21, "text": "1e+19"}
    created = api.call("POST", path, api.widget("a", spec)).body
    assert repr(created["spec"]) == repr(shown)
    assert repr(api.call("GET", f"{path}/a").body["spec"]) == repr(shown)
    patched = api.call("PATCH", f"{path}/a", {"metadata": {"labels": {"x": "y"}}}, MERGE).body
    assert (repr(patched["spec"]), patched["metadata"]["generation"]) == (repr(shown), 1)


def test_rules_tell_of_values_that_fit_another_schema(api: Any, kit: Any) -> None:
    positive = {"x-kubernetes-validations": [{"rule": "self > 0"}]}
    path = api.install(kit.version(spec=kit.obj(n={"type": "string"}, other={"type": "integer"})))
    api.call("POST", path, api.widget("a", {"n": "x"}))
    changed = api.definition(kit.version(spec=kit.obj(n={"type": "integer"} | positive, other={"type": "integer"})))
    definition = f"{DEFINITIONS}/widgets.{api.group}"
    api.call("PATCH", definition, {"spec": changed["spec"]}, MERGE)
    eventually(lambda: api.call("POST", f"{path}?dryRun=All", api.widget("b", {"n": "x"})).status == 422)
    answer = api.call("PATCH", f"{path}/a", {"spec": {"other": 1}}, MERGE)
    assert [c["message"] for c in answer.body["details"]["causes"]] == [
        'Invalid value: "integer": invalid data, expected int, got string evaluating rule: self > 0'
    ]
    assert api.call("PATCH", f"{path}/a", {"spec": {"n": 1}}, MERGE).status == 200


def test_a_new_object_has_the_status_that_is_there_by_default(api: Any, kit: Any) -> None:
    status = {**kit.obj(phase={"type": "string"}), "default": {"phase": "Pending"}}
    version = kit.version("v1", subresources={"status": {}})
    version["schema"]["openAPIV3Schema"]["properties"]["status"] = status
    path = api.install(version)
    sent = {**api.widget("a", {}), "status": {"phase": "Ready"}}
    for query in ("?dryRun=All", ""):
        assert api.call("POST", path + query, sent).body["status"] == {"phase": "Pending"}
    assert api.call("GET", f"{path}/a").body["status"] == {"phase": "Pending"}
    same = api.call("PATCH", f"{path}/a/status", {"status": None}, "application/merge-patch+json").body
    assert same["status"] == {"phase": "Pending"}
    assert all("f:status" not in entry["fieldsV1"] for entry in same["metadata"]["managedFields"])
