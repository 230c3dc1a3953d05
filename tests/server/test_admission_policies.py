"""Admission policies in a running server."""

from __future__ import annotations

from typing import Any

import pytest

from watchkeeper.testing import Server
from watchkeeper.testing.handle import Handle, RequestFailed

Object = dict[str, Any]
ADMISSION = "/apis/admissionregistration.k8s.io/v1"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
RULE = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["configmaps"]}


def install(server: Handle, kind: str, spec: Object, binding: Object | None = None) -> None:
    """A policy and its binding, both called p."""
    constraints = {"matchConstraints": {"resourceRules": [RULE]}}
    plural = "mutatingadmissionpolicies" if kind.startswith("M") else "validatingadmissionpolicies"
    server.request("POST", f"{ADMISSION}/{plural}", {"metadata": {"name": "p"}, "spec": {**constraints, **spec}})
    actions = {} if kind.startswith("M") else {"validationActions": ["Deny"]}
    bound = {"metadata": {"name": "p"}, "spec": {"policyName": "p", **actions, **(binding or {})}}
    server.request("POST", f"{ADMISSION}/{plural.replace('policies', 'policybindings')}", bound)


def config_map(name: str, **data: str) -> Object:
    return {"metadata": {"name": name}, "data": data}


def limits() -> Object:
    """The definition of a kind that parameters are of."""
    properties = {"most": {"type": "integer"}}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": properties}},
    }
    names = {"plural": "limits", "kind": "Limit"}
    spec = {"group": "example.io", "scope": "Namespaced", "names": names, "versions": [version]}
    return {"metadata": {"name": "limits.example.io"}, "spec": spec}


def test_parameters_are_custom_resources_read_at_the_moment_of_the_request() -> None:
    with Server(storage="memory:") as server:
        server.request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", limits())
        check = {
            "expression": "size(object.data) <= params.most",
            "messageExpression": "'more than %d'.format([params.most])",
        }
        spec = {"paramKind": {"apiVersion": "example.io/v1", "kind": "Limit"}, "validations": [check]}
        ref = {"paramRef": {"name": "few", "namespace": "default", "parameterNotFoundAction": "Deny"}}
        install(server, "ValidatingAdmissionPolicy", spec, ref)
        with pytest.raises(RequestFailed, match="no params found"):
            server.request("POST", CONFIG_MAPS, config_map("a", x="1"))
        few = {"apiVersion": "example.io/v1", "kind": "Limit", "metadata": {"name": "few"}, "most": 1}
        server.request("POST", "/apis/example.io/v1/namespaces/default/limits", few)
        server.request("POST", CONFIG_MAPS, config_map("a", x="1"))
        with pytest.raises(RequestFailed, match="denied request: more than 1"):
            server.request("POST", CONFIG_MAPS, config_map("b", x="1", y="2"))


def test_a_new_claim_has_no_phase_until_it_is_admitted() -> None:
    claims = {**RULE, "resources": ["persistentvolumeclaims"]}
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    with Server(storage="memory:") as server:
        checks = [{"expression": "!has(object.status.phase)"}]
        constraints = {"matchConstraints": {"resourceRules": [claims]}}
        install(server, "ValidatingAdmissionPolicy", {**constraints, "validations": checks})
        path = "/api/v1/namespaces/default/persistentvolumeclaims"
        for query in ("?dryRun=All", ""):
            made = server.request("POST", path + query, {"metadata": {"name": "c"}, "spec": spec})
            assert made["status"] == {"phase": "Pending"}


def test_a_policy_that_is_unbound_decides_no_longer() -> None:
    with Server(storage="memory:") as server:
        install(server, "ValidatingAdmissionPolicy", {"validations": [{"expression": "false"}]})
        with pytest.raises(RequestFailed, match="failed expression: false"):
            server.request("POST", CONFIG_MAPS, config_map("a"))
        server.request("DELETE", f"{ADMISSION}/validatingadmissionpolicybindings/p")
        server.request("POST", CONFIG_MAPS, config_map("a"))


def test_expressions_are_compiled_when_policies_are_written() -> None:
    with Server(storage="memory:") as server, pytest.raises(RequestFailed) as caught:
        install(server, "ValidatingAdmissionPolicy", {"validations": [{"expression": "object.x >"}]})
    assert caught.value.status == 422
    assert "spec.validations[0].expression: Invalid value" in str(caught.value)
    assert "compilation failed: ERROR: <input>:1:11: Syntax error: mismatched input '<EOF>'" in str(caught.value)


def test_a_mutating_policy_changes_what_is_stored() -> None:
    change = {
        "patchType": "ApplyConfiguration",
        "applyConfiguration": {"expression": "Object{metadata: Object.metadata{labels: {'seen': 'yes'}}}"},
    }
    with Server(storage="memory:") as server:
        spec = {"mutations": [change], "reinvocationPolicy": "Never"}
        install(server, "MutatingAdmissionPolicy", spec)
        server.request("POST", CONFIG_MAPS, config_map("a", x="1"))
        stored = server.request("GET", f"{CONFIG_MAPS}/a")
    assert stored["metadata"]["labels"] == {"seen": "yes"}
    assert stored["data"] == {"x": "1"}


@pytest.mark.parametrize(
    ("field", "value", "code", "why"),
    [
        ("kind", "Zed", 422, 'Zed.example.io "few" is invalid: kind: Invalid value: "Zed": must be Limit'),
        ("apiVersion", "example.io/v9", 500, "request to convert CR from an invalid group/version: example.io/v9"),
        (
            "apiVersion",
            "v1",
            500,
            '/v1, Kind=Limit is unstructured and is not suitable for converting to "example.io/v1"',
        ),
    ],
)
def test_a_policy_cannot_make_a_custom_object_one_of_another_kind(field: str, value: str, code: int, why: str) -> None:
    rule = {"apiGroups": ["example.io"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["limits"]}
    change = {"expression": f"[JSONPatch{{op: 'replace', path: '/{field}', value: '{value}'}}]"}
    spec = {
        "matchConstraints": {"resourceRules": [rule]},
        "mutations": [{"patchType": "JSONPatch", "jsonPatch": change}],
        "reinvocationPolicy": "Never",
    }
    with Server(storage="memory:") as server:
        server.request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", limits())
        install(server, "MutatingAdmissionPolicy", spec)
        with pytest.raises(RequestFailed) as caught:
            few = {"apiVersion": "example.io/v1", "kind": "Limit", "metadata": {"name": "few"}, "most": 1}
            server.request("POST", "/apis/example.io/v1/namespaces/default/limits", few)
    told = why if code == 422 else f"Internal error occurred: failed to convert object: {why}"
    assert (caught.value.status, caught.value.answer["message"]) == (code, told)


def test_a_policy_cannot_make_an_object_one_of_another_kind() -> None:
    change = {"expression": "[JSONPatch{op: 'replace', path: '/kind', value: 'Secret'}]"}
    mutations = [{"patchType": "JSONPatch", "jsonPatch": change}]
    with Server(storage="memory:") as server:
        install(server, "MutatingAdmissionPolicy", {"mutations": mutations, "reinvocationPolicy": "Never"})
        with pytest.raises(RequestFailed) as caught:
            server.request("POST", CONFIG_MAPS, {"metadata": {"name": "a"}})
    why = "failed to convert object: converting (v1.Secret) to (core.ConfigMap): unknown conversion"
    assert (caught.value.status, caught.value.answer["message"]) == (500, f"Internal error occurred: {why}")


def test_a_scale_is_judged_as_the_object_has_it_whatever_was_sent() -> None:
    with Server(insecure_http=True, controllers=()) as server:
        template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        spec = {"selector": {"matchLabels": {"app": "web"}}, "template": template}
        path = "/apis/apps/v1/namespaces/default/deployments"
        server.request("POST", path, {"metadata": {"name": "web"}, "spec": spec})
        check = {
            "expression": "object.spec.replicas <= 3 && !has(object.metadata.managedFields)",
            "messageExpression": "'%d of %s'.format([object.spec.replicas, object.status.selector])",
        }
        rule = {"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": ["*/scale"]}
        constraints = {"matchConstraints": {"resourceRules": [rule]}, "validations": [check]}
        install(server, "ValidatingAdmissionPolicy", constraints)
        scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "web", "namespace": "default"}}
        with pytest.raises(RequestFailed, match="denied request: 4 of app=web"):
            server.request("PUT", f"{path}/web/scale", {**scale, "spec": {"replicas": 4}})
        assert server.request("PUT", f"{path}/web/scale", {**scale, "spec": {"replicas": 3}})["spec"] == {"replicas": 3}


def test_a_configuration_is_only_for_kinds_that_their_own_version_describes() -> None:
    with Server(insecure_http=True, controllers=()) as server:
        path = "/api/v1/namespaces/default/pods"
        container = {"name": "c", "image": "i"}
        server.request("POST", path, {"metadata": {"name": "web"}, "spec": {"containers": [container]}})
        rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["pods/*"]}
        change = {"expression": "Object{metadata: Object.metadata{labels: {'a': 'b'}}}"}
        mutations = {
            "failurePolicy": "Fail",
            "reinvocationPolicy": "Never",
            "mutations": [{"patchType": "ApplyConfiguration", "applyConfiguration": change}],
            "matchConstraints": {"resourceRules": [rule]},
        }
        install(server, "MutatingAdmissionPolicy", mutations)
        eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "web"}}
        with pytest.raises(RequestFailed, match="no corresponding type for policy/v1, Kind=Eviction"):
            server.request("POST", f"{path}/web/eviction", eviction)
        with pytest.raises(RequestFailed, match="no corresponding type for /v1, Kind=PodExecOptions"):
            server.request("POST", f"{path}/web/exec?command=ls")
        binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "web"}, "target": {"name": "node"}}
        assert server.request("POST", f"{path}/web/binding", binding)["status"] == "Success"


def test_a_built_in_object_is_not_changed_at_another_version_than_that_of_the_request() -> None:
    with Server(insecure_http=True, controllers=()) as server:
        path = "/apis/autoscaling/{}/namespaces/default/horizontalpodautoscalers"
        rule = {
            "apiGroups": ["autoscaling"],
            "apiVersions": ["v1"],
            "operations": ["CREATE"],
            "resources": ["horizontalpodautoscalers"],
        }
        change = {"expression": "[JSONPatch{op: 'replace', path: '/spec/maxReplicas', value: 2}]"}
        mutations = {
            "failurePolicy": "Fail",
            "reinvocationPolicy": "Never",
            "mutations": [{"patchType": "JSONPatch", "jsonPatch": change}],
            "matchConstraints": {"resourceRules": [rule]},
        }
        install(server, "MutatingAdmissionPolicy", mutations)
        target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
        scaler = {"metadata": {"name": "web"}, "spec": {"maxReplicas": 3, "scaleTargetRef": target}}
        with pytest.raises(RequestFailed, match=r"converting \(v1\.\w+\) to \(v2\.\w+\): unknown conversion"):
            server.request("POST", path.format("v2"), scaler)
        assert server.request("POST", path.format("v1"), scaler)["spec"]["maxReplicas"] == 2
