"""Mutating webhooks: what they change, in which order, how often, and what does not count as a change."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest


def test_webhooks_see_what_those_before_them_changed(api: Any, hook: Any, kit: Any) -> None:
    hook.answers["/1"] = lambda r: kit.patch_of({"op": "add", "path": "/metadata/labels", "value": {"one": "1"}})
    hook.answers["/2"] = lambda r: kit.patch_of({"op": "add", "path": "/metadata/labels/two", "value": "2"})
    api.install(api.webhook("z", "/1"), api.webhook("a", "/2"), mutating=True)
    answer = api.create(k="v")
    assert answer.body["metadata"]["labels"] == {"one": "1", "two": "2"}
    assert hook.paths == ["/1", "/2"]
    assert hook.requests("/2")[0]["object"]["metadata"]["labels"] == {"one": "1"}


def test_configurations_are_asked_in_the_order_of_their_names(api: Any, hook: Any) -> None:
    api.install(api.webhook(path="/b"), mutating=True, name="b")
    api.install(api.webhook(path="/a"), mutating=True, name="a")
    api.create()
    assert hook.paths == ["/a", "/b"]


def test_what_a_webhook_adds_is_decoded_and_defaulted_like_a_body(api: Any, hook: Any, kit: Any) -> None:
    container = {"name": "added", "image": "busybox", "surprise": True, "ports": [{"containerPort": 80}]}
    hook.answers["/"] = lambda r: kit.patch_of({"op": "add", "path": "/spec/containers/-", "value": container})
    api.install(api.webhook(rules=[kit.rule("CREATE", "pods")]), mutating=True)
    pod = api.object("Pod", "p", spec={"containers": [{"name": "c", "image": "busybox:1"}]})
    answer = api.call("POST", f"/api/v1/namespaces/{api.namespace}/pods", pod)
    assert answer.status == 201, answer
    added = answer.body["spec"]["containers"][1]
    assert "surprise" not in added
    assert added["imagePullPolicy"] == "Always"
    assert added["ports"] == [{"containerPort": 80, "protocol": "TCP"}]


def test_a_patch_that_does_not_apply_is_a_500_even_if_failures_are_ignored(api: Any, hook: Any, kit: Any) -> None:
    hook.answers["/"] = lambda r: kit.patch_of({"op": "replace", "path": "/data/absent/x", "value": "x"})
    api.install(api.webhook(failurePolicy="Ignore"), mutating=True)
    answer = api.create()
    assert (answer.status, answer.body["reason"]) == (500, "InternalError")
    assert answer.message == (
        "Internal error occurred: replace operation does not apply: doc is missing path: /data/absent/x: missing value"
    )


def test_a_patch_that_makes_no_object_of_the_kind_is_a_500(api: Any, hook: Any, kit: Any) -> None:
    hook.answers["/"] = lambda r: kit.patch_of({"op": "add", "path": "/data", "value": ["x"]})
    api.install(api.webhook(), mutating=True)
    answer = api.create()
    assert answer.status == 500
    assert answer.message == (
        "Internal error occurred: json: cannot unmarshal array into Go struct field ConfigMap.data of type "
        "map[string]string"
    )


def test_an_undecodable_patch_is_a_failure_of_the_call(api: Any, hook: Any) -> None:
    hook.answers["/"] = lambda r: {"patchType": "JSONPatch", "patch": base64.b64encode(b"{}").decode()}
    api.install(api.webhook(), mutating=True)
    assert api.create().message == (
        'Internal error occurred: failed calling webhook "hook.example.io": received undecodable patch in webhook '
        "response: json: cannot unmarshal object into Go value of type jsonpatch.Patch"
    )


def test_nothing_is_changed_by_an_empty_patch_and_not_in_a_deletion(api: Any, hook: Any, kit: Any) -> None:
    operation = {"op": "add", "path": "/data", "value": {}}
    hook.answers["/"] = lambda r: kit.patch_of(*([operation] if r["operation"] == "DELETE" else []))
    api.install(api.webhook(), mutating=True)
    assert api.create().status == 201
    answer = api.call("DELETE", f"{api.configmaps}/a")
    assert answer.status == 500
    assert answer.message == (
        'Internal error occurred: admission webhook "hook.example.io" attempted to modify the object, which is not '
        "supported for this operation"
    )


def test_a_webhook_is_asked_again_when_a_later_one_changes_the_object(api: Any, hook: Any, kit: Any) -> None:
    counts = {"/first": 0}

    def first(request: Any) -> Any:
        counts["/first"] += 1
        value = request["object"]["data"].get("by", "nobody")
        return kit.patch_of({"op": "add", "path": "/data/seen", "value": value})

    hook.answers["/first"] = first
    hook.answers["/second"] = lambda r: kit.patch_of({"op": "add", "path": "/data/by", "value": "second"})
    api.install(
        api.webhook("first", "/first", reinvocationPolicy="IfNeeded"),
        api.webhook("second", "/second"),
        mutating=True,
    )
    answer = api.create(k="v")
    assert hook.paths == ["/first", "/second", "/first"]
    assert answer.body["data"] == {"k": "v", "seen": "second", "by": "second"}


def test_nobody_is_asked_again_when_nothing_has_changed_since(api: Any, hook: Any, kit: Any) -> None:
    same = {"op": "replace", "path": "/data/k", "value": "v"}
    hook.answers["/second"] = lambda r: kit.patch_of(same)
    api.install(
        api.webhook("first", "/first", reinvocationPolicy="IfNeeded"),
        api.webhook("second", "/second", reinvocationPolicy="IfNeeded"),
        mutating=True,
    )
    api.create(k="v")
    assert hook.paths == ["/first", "/second"]


def test_in_tree_plugins_run_again_after_a_webhook_and_their_changes_are_shown_again(
    api: Any, hook: Any, kit: Any
) -> None:
    name = f"class-{api.number}"
    body = api.object("PriorityClass", name, "scheduling.k8s.io/v1", value=77)
    assert api.call("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", body).status == 201
    change = [
        {"op": "add", "path": "/spec/priorityClassName", "value": name},
        {"op": "remove", "path": "/spec/priority"},
    ]
    hook.answers["/"] = lambda r: {} if "priorityClassName" in r["object"]["spec"] else kit.patch_of(*change)
    api.install(api.webhook(rules=[kit.rule("CREATE", "pods")], reinvocationPolicy="IfNeeded"), mutating=True)
    pod = api.object("Pod", "p", spec={"containers": [{"name": "c", "image": "busybox:1"}]})
    answer = api.call("POST", f"/api/v1/namespaces/{api.namespace}/pods", pod)
    assert answer.status == 201, answer
    assert (answer.body["spec"]["priorityClassName"], answer.body["spec"]["priority"]) == (name, 77)
    assert [r["object"]["spec"]["priority"] for r in hook.requests()] == [0, 77]


def test_a_changed_name_is_stored_but_admission_goes_on_with_the_old_one(api: Any, hook: Any, kit: Any) -> None:
    hook.answers["/m"] = lambda r: kit.patch_of({"op": "replace", "path": "/metadata/name", "value": "other"})
    api.install(api.webhook("m", "/m"), mutating=True, name="m")
    api.install(api.webhook("v", "/v"), name="v")
    assert api.create("a").body["metadata"]["name"] == "other"
    asked = hook.requests("/v")[0]
    assert (asked["name"], asked["object"]["metadata"]["name"]) == ("a", "other")


def test_an_update_stays_in_its_namespace(api: Any, hook: Any, kit: Any) -> None:
    assert api.create("a").status == 201
    place = "/metadata/namespace"
    hook.answers["/"] = lambda r: kit.patch_of({"op": "replace", "path": place, "value": "default"})
    api.install(api.webhook(), mutating=True)
    path = f"/api/v1/namespaces/{api.namespace}/configmaps/a"
    answer = api.patch(path, {"data": {"k": "v"}})
    words = "the namespace of the provided object does not match the namespace sent on the request"
    assert (answer.status, answer.message) == (400, words)
    hook.answers["/"] = lambda r: kit.patch_of({"op": "remove", "path": place})
    answer = api.patch(path, {"data": {"k": "v"}})
    assert (answer.status, answer.body["metadata"]["namespace"]) == (200, api.namespace)


def test_a_spoilt_record_of_owners_is_put_back_with_a_warning(api: Any, hook: Any, kit: Any) -> None:
    change = {"op": "replace", "path": "/metadata/managedFields/0/operation", "value": "Replace"}
    hook.answers["/"] = lambda r: kit.patch_of(change)
    api.install(api.webhook(), mutating=True)
    answer = api.create(k="v")
    assert answer.body["metadata"]["managedFields"][0]["operation"] == "Update"
    assert "invalid state after admission" in answer.warnings[0]


def test_what_a_webhook_changes_belongs_to_nobody(api: Any, hook: Any, kit: Any) -> None:
    hook.answers["/"] = lambda r: kit.patch_of({"op": "add", "path": "/data/added", "value": "x"})
    api.install(api.webhook(), mutating=True)
    (entry,) = api.create(k="v").body["metadata"]["managedFields"]
    assert entry["fieldsV1"]["f:data"] == {".": {}, "f:k": {}}


def test_a_patch_needs_its_type_in_v1_and_not_in_v1beta1(api: Any, hook: Any, kit: Any) -> None:
    def untyped(request: Any) -> Any:
        change = kit.patch_of({"op": "add", "path": "/data/added", "value": "x"})
        del change["patchType"]
        return change

    hook.answers["/"] = untyped
    path = api.install(api.webhook(), mutating=True)
    assert api.create(k="v").message.endswith(
        "received invalid webhook response: webhook returned response.patch but not response.patchType"
    )
    found = api.call("GET", path).body
    found["webhooks"][0]["admissionReviewVersions"] = ["v1beta1"]
    assert api.call("PUT", path, found).status == 200
    assert api.create("b", k="v").body["data"] == {"k": "v", "added": "x"}


def test_another_type_of_patch_is_not_understood(api: Any, hook: Any, kit: Any) -> None:
    change = {**kit.patch_of({"op": "add", "path": "/data/added", "value": "x"}), "patchType": "Full"}
    hook.answers["/"] = lambda r: change
    api.install(api.webhook(), mutating=True)
    assert api.create(k="v").message.endswith('unsupported patch type "Full"')


def test_an_object_that_is_wrong_afterwards_is_refused_by_validation(api: Any, hook: Any, kit: Any) -> None:
    hook.answers["/"] = lambda r: kit.patch_of({"op": "add", "path": "/metadata/labels", "value": {"not valid!": ""}})
    api.install(api.webhook(), mutating=True)
    answer = api.create()
    assert (answer.status, answer.body["details"]["causes"][0]["field"]) == (422, "metadata.labels")


@pytest.mark.parametrize(
    ("operation", "status", "said"),
    [
        (
            {"op": "replace", "path": "", "value": {}},
            422,
            'ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required',
        ),
        ({"op": "remove", "path": "/kind"}, 201, None),
        ({"op": "remove", "path": "/apiVersion"}, 201, None),
        (
            {"op": "replace", "path": "/kind", "value": "Pod"},
            500,
            "converting (v1.Pod) to (core.ConfigMap): unknown conversion",
        ),
        (
            {"op": "replace", "path": "/apiVersion", "value": "v2"},
            500,
            'Internal error occurred: no kind "ConfigMap" is registered for version "v2" in scheme '
            '"pkg/api/legacyscheme/scheme.go:30"',
        ),
        (
            {"op": "replace", "path": "/apiVersion", "value": "a/b/c"},
            500,
            "Internal error occurred: unexpected GroupVersion string: a/b/c",
        ),
        (
            {"op": "replace", "path": "/kind", "value": 5},
            500,
            "Internal error occurred: couldn't get version/kind; json parse error: json: cannot unmarshal number into "
            "Go struct field .kind of type string",
        ),
    ],
)
def test_a_changed_object_is_what_it_says_it_is_and_without_a_word_what_it_was(
    api: Any, hook: Any, kit: Any, operation: Any, status: int, said: str | None
) -> None:
    hook.answers["/"] = lambda r: kit.patch_of(operation)
    api.install(api.webhook(), mutating=True)
    answer = api.create(k="v")
    assert (answer.status, answer.body.get("message")) == (status, said)
    if said is None:
        assert (answer.body["kind"], answer.body["apiVersion"], answer.body["data"]) == ("ConfigMap", "v1", {"k": "v"})


def test_a_change_may_make_another_version_of_the_same_kind(api: Any, hook: Any, kit: Any) -> None:
    target = {"op": "add", "path": "/spec/targetCPUUtilizationPercentage", "value": 70}
    hook.answers["/"] = lambda r: kit.patch_of(
        {"op": "replace", "path": "/apiVersion", "value": "autoscaling/v1"}, target
    )
    rules = [kit.rule("CREATE", "horizontalpodautoscalers", "autoscaling", "v2")]
    api.install(api.webhook(rules=rules), mutating=True)
    spec = {"maxReplicas": 3, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}}
    scaler = api.object("HorizontalPodAutoscaler", "h", "autoscaling/v2", spec=spec)
    path = f"/apis/autoscaling/v2/namespaces/{api.namespace}/horizontalpodautoscalers"
    answer = api.call("POST", path, scaler)
    assert answer.status == 201, answer
    assert answer.body["spec"]["metrics"] == [
        {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 70}}}
    ]


def test_a_patch_may_be_a_list_of_its_bytes(api: Any, hook: Any) -> None:
    patch = list(json.dumps([{"op": "add", "path": "/data/more", "value": "x"}]).encode())
    hook.answers["/"] = lambda r: {"patchType": "JSONPatch", "patch": patch}
    api.install(api.webhook(), mutating=True)
    assert api.create(k="v").body["data"] == {"k": "v", "more": "x"}
