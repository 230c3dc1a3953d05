"""Which requests webhooks are asked about, and at which version."""

from __future__ import annotations

import time
from typing import Any

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def test_an_equivalent_resource_is_shown_at_the_version_that_the_rule_names(api: Any, hook: Any, kit: Any) -> None:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
    metric = {
        "type": "Resource",
        "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}},
    }
    spec = {"maxReplicas": 3, "scaleTargetRef": target, "metrics": [metric]}
    change = {"op": "replace", "path": "/spec/maxReplicas", "value": 5}
    hook.answers["/m"] = lambda r: kit.patch_of(change)
    rules = [kit.rule("*", "horizontalpodautoscalers", "autoscaling", "v1")]
    api.install(api.webhook("m", "/m", rules=rules), mutating=True, name="m")
    api.install(api.webhook("exact", "/exact", rules=rules, matchPolicy="Exact"), name="v")
    body = api.object("HorizontalPodAutoscaler", "h", "autoscaling/v2", spec=spec)
    answer = api.call("POST", f"/apis/autoscaling/v2/namespaces/{api.namespace}/horizontalpodautoscalers", body)
    assert answer.status == 201, answer
    assert (answer.body["apiVersion"], answer.body["spec"]["maxReplicas"]) == ("autoscaling/v2", 5)
    assert answer.body["spec"]["metrics"] == [metric]
    (asked,) = hook.requests()
    assert asked["kind"] == {"group": "autoscaling", "version": "v1", "kind": "HorizontalPodAutoscaler"}
    assert asked["requestKind"]["version"] == "v2"
    assert asked["resource"]["version"] == "v1"
    assert asked["requestResource"]["version"] == "v2"
    assert asked["object"]["apiVersion"] == "autoscaling/v1"
    assert asked["object"]["spec"]["targetCPUUtilizationPercentage"] == 50


def test_custom_objects_are_converted_pruned_and_defaulted(api: Any, hook: Any, kit: Any) -> None:
    group = f"g{api.number}.example.com"
    text = {"type": "string"}
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"a": text}}}}
    defaulted = {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": {"a": text, "b": {**text, "default": "x"}}}},
    }
    versions = [
        {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}},
        {"name": "v2", "served": True, "storage": False, "schema": {"openAPIV3Schema": defaulted}},
    ]
    definition = api.object(
        "CustomResourceDefinition",
        f"widgets.{group}",
        "apiextensions.k8s.io/v1",
        spec={
            "group": group,
            "names": {"kind": "Widget", "plural": "widgets"},
            "scope": "Namespaced",
            "versions": versions,
        },
    )
    assert api.call("POST", DEFINITIONS, definition).status == 201
    place = f"/apis/{group}/v1/namespaces/{api.namespace}/widgets"
    while api.call("GET", place).status != 200:
        time.sleep(0.02)
    changes = [{"op": "add", "path": "/spec/unknown", "value": 1}, {"op": "replace", "path": "/spec/a", "value": "2"}]
    hook.answers["/"] = lambda r: kit.patch_of(*changes) if r["operation"] == "CREATE" else {}
    api.install(api.webhook(rules=[kit.rule("*", "widgets", group, "v2")]), mutating=True)
    body = api.object("Widget", "w", f"{group}/v1", spec={"a": "1"})
    answer = api.call("POST", place, body)
    assert answer.status == 201, answer
    assert answer.body["apiVersion"] == f"{group}/v1"
    assert answer.body["spec"] == {"a": "2"}
    (asked,) = hook.requests()
    assert (asked["object"]["apiVersion"], asked["object"]["spec"]) == (f"{group}/v2", {"a": "1"})
    hook.clear()
    assert api.patch(f"{place}/w", {"spec": {"a": "3"}}).status == 200
    (asked,) = hook.requests()
    assert (asked["oldObject"]["apiVersion"], asked["oldObject"]["spec"]["a"]) == (f"{group}/v2", "2")
    changes[:] = [{"op": "add", "path": "/metadata/labels", "value": {"a": 5}}]
    assert "labels" not in api.call("POST", place, api.object("Widget", "odd", f"{group}/v1")).body["metadata"]
    for path, value, status, said in (
        ("/kind", "Pod", 422, f'Pod.{group} "bad" is invalid: kind: Invalid value: "Pod": must be Widget'),
        ("/metadata", None, 500, "Internal error occurred: system metadata was not initialized"),
        (
            "/apiVersion",
            "v2",
            500,
            f'/v2, Kind=Widget is unstructured and is not suitable for converting to "{group}/v1"',
        ),
        (
            "/spec",
            None,
            422,
            f'Widget.{group} "bad" is invalid: spec: Invalid value: "null": '
            'spec in body must be of type object: "null"',
        ),
        ("/apiVersion", f"{group}/v3", 500, f"request to convert CR from an invalid group/version: {group}/v3"),
    ):
        changes[:] = [{"op": "replace", "path": path, "value": value}]
        refused = api.call("POST", place, api.object("Widget", "bad", f"{group}/v1"))
        assert (refused.status, refused.message) == (status, said)
    api.call("DELETE", f"{DEFINITIONS}/widgets.{group}")


def test_conditions_decide_after_selectors_and_rules(api: Any, hook: Any) -> None:
    conditions = [
        {"name": "mine", "expression": "request.userInfo.username != 'controller'"},
        {"name": "old", "expression": "oldObject == null || object.data.k != oldObject.data.k"},
        {"name": "may", "expression": "authorizer.group('').resource('configmaps').check('create').allowed()"},
    ]
    api.install(api.webhook(matchConditions=conditions))
    api.create(k="1")
    api.patch(f"{api.configmaps}/a", {"metadata": {"labels": {"x": "y"}}})
    api.patch(f"{api.configmaps}/a", {"data": {"k": "2"}})
    other = {"Impersonate-User": "controller", "Impersonate-Group": "system:masters"}
    api.call("POST", api.configmaps, api.configmap("b"), headers=other)
    assert [r["operation"] for r in hook.requests()] == ["CREATE", "UPDATE"]


def test_a_condition_that_cannot_be_evaluated_refuses_unless_failures_are_ignored(api: Any, hook: Any) -> None:
    broken = [{"name": "broken", "expression": "object.data.absent == 'x'"}]
    decided = [*broken, {"name": "no", "expression": "false"}]
    path = api.install(api.webhook(matchConditions=broken))
    answer = api.create(k="1")
    assert (answer.status, answer.body["reason"]) == (403, "Forbidden")
    assert answer.message == (
        "configmaps \"a\" is forbidden: expression 'object.data.absent == 'x'' resulted in error: no such key: absent"
    )
    api.call("DELETE", path)
    lax = api.webhook("lax", matchConditions=broken, failurePolicy="Ignore")
    api.install(lax, api.webhook("decided", matchConditions=decided), name="d")
    assert api.create(k="1").status == 201
    assert hook.reviews == []


def test_conditions_that_do_not_compile_are_refused(api: Any) -> None:
    bad = api.webhook(
        matchConditions=[{"name": "bad", "expression": "object.metadata.name +"}, {"name": "text", "expression": "'x'"}]
    )
    body = api.object("ValidatingWebhookConfiguration", "bad", "admissionregistration.k8s.io/v1", webhooks=[bad])
    answer = api.call("POST", "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", body)
    assert answer.status == 422
    first, second = answer.body["details"]["causes"]
    assert first["field"] == "webhooks[0].matchConditions[0].expression"
    assert "compilation failed: ERROR: <input>:1:23: Syntax error" in first["message"]
    assert second["message"].endswith("must evaluate to bool but got string")


NO_OPTIONS = "has(request.options) && request.options == null"
"""A connection has options for an object, and null where other requests have theirs."""


def test_a_connection_is_asked_about_with_its_options(api: Any, hook: Any, kit: Any) -> None:
    pods = f"/api/v1/namespaces/{api.namespace}/pods"
    api.call("POST", pods, api.object("Pod", "p", spec={"containers": [{"name": "c", "image": "busybox:1"}]}))
    rules = [kit.rule("CONNECT", "pods/exec pods/portforward pods/proxy")]
    hook.answers["/"] = lambda r: {"allowed": r["subResource"] != "exec"}
    api.install(api.webhook(rules=rules, matchConditions=[{"name": "n", "expression": NO_OPTIONS}]))
    answer = api.call("POST", f"{pods}/p/exec?command=ls&command=-l&stdout=true&stderr=0&container=c")
    assert answer.message == 'admission webhook "hook.example.io" denied the request without explanation'
    (asked,) = hook.requests()
    assert asked["kind"] == {"group": "", "version": "v1", "kind": "PodExecOptions"}
    assert asked["object"] == {
        "kind": "PodExecOptions",
        "apiVersion": "v1",
        "command": ["ls", "-l"],
        "stdout": True,
        "container": "c",
    }
    assert (asked["operation"], asked["options"], asked["oldObject"], asked["name"]) == ("CONNECT", None, None, "p")
    api.call("GET", f"{pods}/p/proxy/some/path/")
    assert hook.requests()[1]["object"] == {"kind": "PodProxyOptions", "apiVersion": "v1", "path": "/some/path/"}
    assert api.call("POST", f"{pods}/p/portforward?ports=x").message == (
        'cannot convert to []int32: strconv.ParseUint: parsing "x": invalid syntax'
    )
    assert api.call("POST", f"{pods}/p/exec?dryRun=All").message == "dryRun is not supported"
    api.call("GET", f"{pods}/p/log")
    assert len(hook.reviews) == 2


def test_subresources_are_asked_about_as_themselves(api: Any, hook: Any, kit: Any) -> None:
    pods = f"/api/v1/namespaces/{api.namespace}/pods"
    pod = api.object("Pod", "p", spec={"containers": [{"name": "c", "image": "busybox:1"}]})
    api.call("POST", pods, pod)
    api.install(api.webhook(rules=[kit.rule("*", "pods/*")]))
    container = {"name": "e", "image": "busybox:1"}
    api.patch(f"{pods}/p/ephemeralcontainers", {"spec": {"ephemeralContainers": [container]}})
    api.patch(f"{pods}/p/status", {"status": {"phase": "Running"}})
    target = {"apiVersion": "v1", "kind": "Node", "name": "n"}
    api.call("POST", f"{pods}/p/binding", api.object("Binding", "p", target=target))
    api.call("POST", f"{pods}/p/eviction", api.object("Eviction", "p", "policy/v1"))
    found = [(r["operation"], r["subResource"], r["kind"]["kind"], r["object"]["kind"]) for r in hook.requests()]
    assert found == [
        ("UPDATE", "ephemeralcontainers", "Pod", "Pod"),
        ("UPDATE", "status", "Pod", "Pod"),
        ("CREATE", "binding", "Binding", "Binding"),
        ("CREATE", "eviction", "Eviction", "Eviction"),
    ]


def test_the_options_of_a_rehearsed_eviction_say_so(api: Any, hook: Any, kit: Any) -> None:
    pods = f"/api/v1/namespaces/{api.namespace}/pods"
    pod = api.object("Pod", "p", spec={"containers": [{"name": "c", "image": "busybox:1"}]})
    api.call("POST", pods, pod)
    api.install(api.webhook(rules=[kit.rule("*", "pods/eviction")]))
    for options in ({}, {"deleteOptions": {"gracePeriodSeconds": 0}}):
        eviction = api.object("Eviction", "p", "policy/v1", **options)
        assert api.call("POST", f"{pods}/p/eviction?dryRun=All", eviction).status == 201
    assert [r["object"].get("deleteOptions") for r in hook.requests()] == [
        None,
        {"gracePeriodSeconds": 0, "dryRun": ["All"]},
    ]


def test_a_scale_is_asked_about_as_a_scale_and_can_be_changed(api: Any, hook: Any, kit: Any) -> None:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "busybox:1"}]}}
    spec = {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    deployments = f"/apis/apps/v1/namespaces/{api.namespace}/deployments"
    assert api.call("POST", deployments, api.object("Deployment", "d", "apps/v1", spec=spec)).status == 201
    hook.answers["/"] = lambda r: kit.patch_of({"op": "replace", "path": "/spec/replicas", "value": 2})
    api.install(api.webhook(rules=[kit.rule("*", "deployments/scale", "apps")]), mutating=True)
    assert api.patch(f"{deployments}/d/scale", {"spec": {"replicas": 9}}).body["spec"]["replicas"] == 2
    (asked,) = hook.requests()
    assert asked["kind"] == {"group": "autoscaling", "version": "v1", "kind": "Scale"}
    assert (asked["oldObject"]["spec"]["replicas"], asked["object"]["spec"]["replicas"]) == (1, 9)
    assert api.call("GET", f"{deployments}/d").body["spec"]["replicas"] == 2


def test_namespaces_are_selected_by_their_own_labels_and_are_cluster_scoped(api: Any, hook: Any, kit: Any) -> None:
    name = f"labeled-{api.number}"
    chosen = {"namespaceSelector": {"matchLabels": {"who": name}}}
    api.install(
        api.webhook("all", "/all", rules=[kit.rule("*", "namespaces")], **chosen),
        api.webhook("cluster", "/cluster", rules=[kit.rule("*", "namespaces", scope="Cluster")], **chosen),
        api.webhook("inside", "/inside", rules=[kit.rule("*", "namespaces", scope="Namespaced")], **chosen),
    )
    api.call("POST", "/api/v1/namespaces", api.object("Namespace", name, labels={"who": name}))
    assert sorted(hook.paths) == ["/all", "/cluster"]
    assert {r["namespace"] for r in hook.requests()} == {name}
    hook.clear()
    api.patch(f"/api/v1/namespaces/{name}", {"metadata": {"labels": {"who": "nobody"}}})
    assert hook.paths == []


def test_a_new_namespace_has_the_label_with_its_name_already(api: Any, hook: Any, kit: Any) -> None:
    name = f"named-{api.number}"
    chosen = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": name}}}
    api.install(api.webhook(rules=[kit.rule("*", "namespaces namespaces/*")], **chosen))
    for each in (name, f"other-{api.number}"):
        assert api.call("POST", "/api/v1/namespaces", api.object("Namespace", each)).status == 201
    api.call("DELETE", f"/api/v1/namespaces/{name}")
    found = [(r["operation"], r["name"]) for r in hook.requests() if "subResource" not in r]
    assert found[:2] == [("CREATE", name), ("DELETE", name)]
    assert {r["name"] for r in hook.requests()} == {name}


def test_what_is_in_no_namespace_is_never_excluded_by_labels_of_one(api: Any, hook: Any, kit: Any) -> None:
    rules = [kit.rule("CREATE", "priorityclasses", "scheduling.k8s.io")]
    api.install(api.webhook(rules=rules, objectSelector={"matchLabels": {"n": str(api.number)}}))
    body = api.object("PriorityClass", f"p-{api.number}", "scheduling.k8s.io/v1", {"n": str(api.number)}, value=1)
    assert api.call("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", body).status == 201
    assert len(hook.reviews) == 1
    assert "namespace" not in hook.requests()[0]


def test_the_servers_own_controllers_are_asked_about_too(api: Any, hook: Any, kit: Any) -> None:
    name = f"ending-{api.number}"
    labels = {"ending": name}
    chosen = {"namespaceSelector": {"matchLabels": labels}}
    api.call("POST", "/api/v1/namespaces", api.object("Namespace", name, labels=labels))
    api.call("POST", f"/api/v1/namespaces/{name}/configmaps", api.configmap("a"))
    rules = [kit.rule("DELETE", "configmaps"), kit.rule("UPDATE", "namespaces/finalize")]
    api.install(api.webhook("m", "/m", rules=rules, **chosen), mutating=True, name="m")
    api.install(api.webhook("v", "/v", rules=rules, **chosen), name="v")
    assert api.call("DELETE", f"/api/v1/namespaces/{name}").status == 200
    while api.call("GET", f"/api/v1/namespaces/{name}").status != 404:
        time.sleep(0.02)
    for path in ("/m", "/v"):
        asked = hook.requests(path)
        assert {r["userInfo"]["username"] for r in asked} == {"system:serviceaccount:kube-system:namespace-controller"}
        found = {(r["operation"], r["resource"]["resource"], r.get("subResource"), r.get("name")) for r in asked}
        assert ("DELETE", "configmaps", None, None) in found
        assert ("UPDATE", "namespaces", "finalize", name) in found


def test_a_request_for_a_token_is_shown_with_its_defaults(api: Any, hook: Any, kit: Any) -> None:
    accounts = f"/api/v1/namespaces/{api.namespace}/serviceaccounts"
    api.call("POST", accounts, api.object("ServiceAccount", "s"))
    api.install(api.webhook(rules=[kit.rule("CREATE", "serviceaccounts/token")]))
    answer = api.call("POST", f"{accounts}/s/token", {"spec": {"audiences": ["x"]}})
    assert answer.status == 201, answer
    (asked,) = hook.requests()
    assert (asked["kind"]["kind"], asked["name"], asked["subResource"]) == ("TokenRequest", "s", "token")
    assert asked["object"]["spec"]["expirationSeconds"] == 3600
    assert api.call("POST", f"{accounts}/s/token", {"spec": {}, "status": {"token": "x"}}).status == 201
    shown = hook.requests()[1]["object"]
    assert shown["spec"]["audiences"] == ["https://kubernetes.default.svc.cluster.local"]
    assert shown["status"] == {"token": "", "expirationTimestamp": None}
