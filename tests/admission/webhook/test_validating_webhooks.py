"""Validating webhooks: what they say, when they are asked, and what they are told."""

from __future__ import annotations

import threading
from typing import Any


def test_a_denial_has_the_webhooks_status_and_says_whose_it_is(api: Any, hook: Any) -> None:
    details = {"causes": [{"field": "data", "message": "spout"}], "retryAfterSeconds": 7}
    status = {"code": 418, "reason": "Teapot", "message": "short and stout", "details": details}
    hook.answers["/"] = lambda request: {"allowed": False, "status": status}
    api.install(api.webhook())
    answer = api.create()
    assert (answer.status, answer.body["reason"], answer.body["details"]) == (418, "Teapot", details)
    assert answer.message == 'admission webhook "hook.example.io" denied the request: short and stout'
    assert answer.headers["retry-after"] == "7"
    assert api.call("GET", f"{api.configmaps}/a").status == 404


def test_a_denial_without_a_message_gives_the_reason_or_none(api: Any, hook: Any) -> None:
    hook.answers["/"] = lambda request: {
        "allowed": False,
        **({"status": {"reason": "Sunday", "code": 200}} if request["name"] == "why" else {}),
    }
    api.install(api.webhook())
    why, plain = api.create("why"), api.create("plain")
    assert (why.status, why.message) == (400, 'admission webhook "hook.example.io" denied the request: Sunday')
    assert (plain.status, plain.message) == (
        400,
        'admission webhook "hook.example.io" denied the request without explanation',
    )
    assert "reason" not in plain.body
    hook.answers["/"] = lambda request: {"allowed": False, "status": {"code": 7000, "details": {}}}
    odd = api.create("odd")
    assert (odd.status, odd.body["details"]) == (500, {})


def test_a_denials_status_is_passed_on_with_its_metadata_and_outcome(api: Any, hook: Any) -> None:
    metadata = {"resourceVersion": "5", "continue": "abc", "remainingItemCount": 4}
    status = {"metadata": metadata, "status": "Undecided", "code": 403}
    hook.answers["/"] = lambda request: {"allowed": False, "status": status}
    api.install(api.webhook())
    answer = api.create()
    assert (answer.status, answer.body["metadata"], answer.body["status"]) == (403, metadata, "Undecided")
    status["status"] = "Success"
    assert api.create().body["status"] == "Failure"


def test_all_webhooks_are_asked_at_the_same_time_and_the_first_refusal_counts(api: Any, hook: Any) -> None:
    late = threading.Event()

    def slow(request: Any) -> Any:
        assert late.wait(5)
        return {"allowed": False, "status": {"message": "slow"}}

    def quick(request: Any) -> Any:
        threading.Timer(0.05, late.set).start()
        return {"allowed": False, "status": {"message": "quick"}}

    hook.answers.update({"/slow": slow, "/quick": quick})
    api.install(api.webhook("slow", "/slow"), api.webhook("quick", "/quick"))
    assert api.create().message.endswith("denied the request: quick")
    assert sorted(hook.paths) == ["/quick", "/slow"]


def test_a_change_of_a_configuration_counts_from_the_next_request_on(api: Any, hook: Any) -> None:
    hook.answers["/no"] = lambda request: {"allowed": False}
    path = api.install(api.webhook(path="/no"))
    assert api.create().status == 400
    found = api.call("GET", path).body
    found["webhooks"] = [api.webhook(path="/yes")]
    assert api.call("PUT", path, found).status == 200
    assert api.create("b").status == 201
    assert api.call("DELETE", path).status == 200
    hook.clear()
    assert api.create("c").status == 201
    assert hook.reviews == []


def test_configurations_themselves_are_never_asked_about(api: Any, hook: Any, kit: Any) -> None:
    everything = kit.rule(resources="*/*", group="*", version="*")
    everything["resources"] = ["*"]
    hook.answers["/"] = lambda request: {"allowed": request["resource"]["group"] != "admissionregistration.k8s.io"}
    path = api.install(api.webhook(rules=[everything], namespaceSelector=...))
    assert api.call("DELETE", path).status == 200


def test_an_update_and_its_old_state_are_shown_and_a_deletion_has_no_object(api: Any, hook: Any) -> None:
    api.install(api.webhook())
    api.create("a", k="1")
    api.patch(f"{api.configmaps}/a?fieldManager=me&fieldValidation=Strict", {"data": {"k": "2"}})
    api.call("DELETE", f"{api.configmaps}/a?gracePeriodSeconds=5&propagationPolicy=Background")
    create, update, delete = hook.requests()
    assert [r["operation"] for r in hook.requests()] == ["CREATE", "UPDATE", "DELETE"]
    assert create["oldObject"] is None
    assert create["object"]["kind"] == "ConfigMap"
    assert (update["oldObject"]["data"], update["object"]["data"]) == ({"k": "1"}, {"k": "2"})
    assert update["options"] == {
        "kind": "UpdateOptions",
        "apiVersion": "meta.k8s.io/v1",
        "fieldManager": "me",
        "fieldValidation": "Strict",
    }
    assert (delete["object"], delete["oldObject"]["data"], delete["name"]) == (None, {"k": "2"}, "a")
    assert delete["options"] == {
        "kind": "DeleteOptions",
        "apiVersion": "meta.k8s.io/v1",
        "gracePeriodSeconds": 5,
        "propagationPolicy": "Background",
    }
    assert "system:masters" in create["userInfo"]["groups"]


def test_preconditions_without_any_are_shown(api: Any, hook: Any) -> None:
    api.create("a")
    api.install(
        api.webhook(rules=[{"operations": ["DELETE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["*"]}])
    )
    assert api.call("DELETE", f"{api.configmaps}/a", {"preconditions": {}}).status == 200
    assert hook.requests()[0]["options"]["preconditions"] == {}


def test_a_deleted_collection_is_asked_about_object_by_object_without_a_name(api: Any, hook: Any) -> None:
    api.create("a")
    api.create("b")
    hook.answers["/"] = lambda request: {"allowed": request["oldObject"]["metadata"]["name"] != "b"}
    api.install(api.webhook())
    answer = api.call("DELETE", f"{api.configmaps}?labelSelector=!keep&fieldSelector=metadata.name!=kube-root-ca.crt")
    assert answer.status == 400
    assert [r["oldObject"]["metadata"]["name"] for r in hook.requests()] == ["a", "b"]
    assert all("name" not in r for r in hook.requests())
    assert api.call("GET", f"{api.configmaps}/a").status == 404


def test_a_pod_without_a_node_is_asked_about_when_it_is_marked_and_when_it_goes(api: Any, hook: Any, kit: Any) -> None:
    pods = f"/api/v1/namespaces/{api.namespace}/pods"
    api.call("POST", pods, api.object("Pod", "p", spec={"containers": [{"name": "c", "image": "busybox:1"}]}))
    api.install(api.webhook(rules=[kit.rule("DELETE", "pods")]))
    assert api.call("DELETE", f"{pods}/p").status == 200
    first, second = hook.requests()
    assert first["options"]["gracePeriodSeconds"] == second["options"]["gracePeriodSeconds"] == 0
    assert "deletionTimestamp" not in first["oldObject"]["metadata"]
    assert "deletionTimestamp" in second["oldObject"]["metadata"]
    assert api.call("GET", f"{pods}/p").status == 404


def test_a_generated_name_is_known_to_validating_webhooks_only(api: Any, hook: Any) -> None:
    api.install(api.webhook("m", "/m"), mutating=True, name="m")
    api.install(api.webhook("v", "/v"), name="v")
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "x-"}}
    name = api.call("POST", api.configmaps, body).body["metadata"]["name"]
    assert "name" not in hook.requests("/m")[0]
    assert hook.requests("/v")[0]["name"] == name


def test_warnings_reach_the_client_in_order_once_and_cut_when_they_are_too_long(api: Any, hook: Any) -> None:
    texts = ["mind the gap", "", "mind the gap", 'a "quoted" one']
    hook.answers["/"] = lambda request: {
        "warnings": texts if request["name"] == "a" else [f"{i}{'x' * 2000}" for i in range(3)]
    }
    api.install(api.webhook())
    assert api.create("a").warnings == ['299 - "mind the gap"', '299 - "a \\"quoted\\" one"']
    assert [len(w) for w in api.create("b").warnings] == [256 + len('299 - ""')] * 3


def test_a_dry_run_needs_a_webhook_without_side_effects(api: Any, hook: Any) -> None:
    api.install(api.webhook(sideEffects="NoneOnDryRun"))
    assert api.create("a", query="?dryRun=All").status == 201
    assert hook.requests()[0]["dryRun"] is True
    assert hook.requests()[0]["options"]["dryRun"] == ["All"]


def test_reviews_of_v1beta1_are_sent_to_those_who_want_them_and_need_no_uid(api: Any, hook: Any) -> None:
    hook.answers["/"] = lambda request: {"allowed": False, "uid": "", "patch": "e30=", "patchType": "Any"}
    api.install(api.webhook(admissionReviewVersions=["v7", "v1beta1", "v1"]))
    answer = api.create()
    assert answer.status == 400
    assert hook.reviews[0]["apiVersion"] == "admission.k8s.io/v1beta1"
    assert hook.queries[0] == {"timeout": ["10s"]}


def test_a_refused_update_is_asked_about_once(api: Any, hook: Any) -> None:
    api.create(k="1")
    hook.answers["/"] = lambda request: {"allowed": False}
    api.install(api.webhook())
    assert api.patch(f"{api.configmaps}/a", {"data": {"k": "2"}}).status == 400
    assert api.call("DELETE", f"{api.configmaps}/a").status == 400
    assert [r["operation"] for r in hook.requests()] == ["UPDATE", "DELETE"]


def test_an_object_that_an_apply_or_a_put_creates_is_asked_about_as_created(api: Any, hook: Any, kit: Any) -> None:
    api.install(api.webhook(rules=[kit.rule("*", "leases", "coordination.k8s.io"), kit.rule()]))
    lease = api.object("Lease", "l", "coordination.k8s.io/v1", spec={})
    leases = f"/apis/coordination.k8s.io/v1/namespaces/{api.namespace}/leases"
    assert api.call("PUT", f"{leases}/l", lease).status == 201
    applied = api.configmap("a", k="v")
    path = f"{api.configmaps}/a?fieldManager=me&force=true"
    assert api.call("PATCH", path, applied, "application/apply-patch+yaml").status == 201
    assert [(r["operation"], r["oldObject"], r["options"]["kind"]) for r in hook.requests()] == [
        ("CREATE", None, "CreateOptions"),
        ("CREATE", None, "CreateOptions"),
    ]
    assert "force" not in hook.requests()[1]["options"]


def test_who_asks_is_told_in_full(api: Any, hook: Any) -> None:
    api.install(api.webhook())
    headers = {
        "Impersonate-User": "jane",
        "Impersonate-Uid": "7",
        "Impersonate-Group": "system:masters",
        "Impersonate-Extra-Team": "a",
    }
    assert api.call("POST", api.configmaps, api.configmap("a"), headers=headers).status == 201
    assert hook.requests()[0]["userInfo"] == {
        "username": "jane",
        "uid": "7",
        "groups": ["system:masters", "system:authenticated"],
        "extra": {"team": ["a"]},
    }
