"""Lists and maps that clients send empty: judged and shown as such, and then dropped where Go drops them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from watchkeeper.testing import Server
from watchkeeper.testing.handle import Handle, RequestFailed

RBAC = "rbac.authorization.k8s.io/v1"
ROLES = f"/apis/{RBAC}/namespaces/default/roles"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
POLICIES = "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies"
CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
VALIDATIONS = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"


@pytest.fixture(scope="module")
def server() -> Iterator[Handle]:
    with Server(insecure_http=True) as running:
        yield running


def owned(obj: Any) -> Any:
    return [entry["fieldsV1"] for entry in obj["metadata"].get("managedFields", ())]


def refusal(server: Handle, method: str, path: str, body: Any) -> str:
    with pytest.raises(RequestFailed) as refused:
        server.request(method, path, body)
    message: str = json.loads(str(refused.value).split(": ", 2)[2])["message"]
    return message


def deployment(**spec: Any) -> Any:
    pod = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    return {"metadata": {"name": "d"}, "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": pod, **spec}}


def test_an_empty_list_that_is_never_left_out_is_owned_but_stored_as_null(server: Handle) -> None:
    assert owned(server.request("POST", ROLES, {"metadata": {"name": "none"}})) == []
    created = server.request("POST", ROLES, {"metadata": {"name": "empty"}, "rules": []})
    assert owned(created) == [{"f:rules": {}}]
    assert created["rules"] is None
    assert server.request("GET", f"{ROLES}/empty")["rules"] is None


def test_an_empty_list_in_place_of_null_is_a_change_of_who_owns_it(server: Handle) -> None:
    path = "/api/v1/namespaces/default/limitranges"
    meta = {"name": "l", "labels": {"a": "b"}}
    labels = {"f:metadata": {"f:labels": {".": {}, "f:a": {}}}}
    assert owned(server.request("POST", path, {"metadata": meta, "spec": {}})) == [labels]
    changed = server.request("PUT", f"{path}/l", {"metadata": meta, "spec": {"limits": []}})
    assert changed["spec"] == {"limits": None}
    assert owned(changed) == [{**labels, "f:spec": {"f:limits": {}}}]


def test_refusals_show_empty_maps_and_lists_as_they_were_sent(server: Handle) -> None:
    body = deployment()
    body["spec"]["template"]["metadata"]["labels"] = {}
    assert "labels: Invalid value: {}: `selector`" in refusal(server, "POST", DEPLOYMENTS, body)
    del body["spec"]["template"]["metadata"]["labels"]
    assert "labels: Invalid value: null: `selector`" in refusal(server, "POST", DEPLOYMENTS, body)


def test_specs_that_look_alike_when_they_are_stored_are_judged_each_by_itself(server: Handle) -> None:
    containers = [{"name": "c", "image": "i"}]
    for overhead in ({}, None, {}, None):
        body = {"metadata": {"name": "p"}, "spec": {"containers": containers, "overhead": overhead}}
        if overhead is None:
            server.request("POST", f"{PODS}?dryRun=All", body)
        else:
            assert "Pod Overhead set without" in refusal(server, "POST", f"{PODS}?dryRun=All", body)


def test_what_a_refused_change_of_a_pod_would_make_empty_shows(server: Handle) -> None:
    spec = {"containers": [{"name": "c", "image": "i"}], "volumes": [{"name": "v", "emptyDir": {}}]}
    body = {"metadata": {"name": "changed"}, "spec": {**spec, "nodeSelector": {"a": "b"}}}
    server.request("POST", PODS, body)
    body["spec"]["volumes"] = []
    body["spec"]["nodeSelector"] = {}
    message = refusal(server, "PUT", f"{PODS}/changed", body)
    assert '+ "Volumes": [],' in message
    assert '+ "NodeSelector": {},' in message


def test_most_kinds_count_no_change_where_an_empty_list_is_sent_for_none(server: Handle) -> None:
    server.request("POST", DEPLOYMENTS, deployment())
    body = deployment()
    body["spec"]["selector"]["matchExpressions"] = []
    body["spec"]["template"]["spec"]["containers"][0]["args"] = []
    assert server.request("PUT", f"{DEPLOYMENTS}/d", body)["metadata"]["generation"] == 1


@pytest.mark.parametrize("kind", ["deployments", "daemonsets"])
def test_nor_where_the_list_is_never_left_out(server: Handle, kind: str) -> None:
    body = deployment()
    body["metadata"]["name"] = "projecting"
    body["spec"]["template"]["spec"]["volumes"] = [{"name": "v", "projected": {"sources": []}}]
    path = f"/apis/apps/v1/namespaces/default/{kind}"
    server.request("POST", path, body)
    again = server.request("PUT", f"{path}/projecting", body)
    assert again["spec"]["template"]["spec"]["volumes"][0]["projected"]["sources"] is None
    assert again["metadata"]["generation"] == 1
    counted = again["metadata"].get("annotations", {}).get("deprecated.daemonset.template.generation", "1")
    assert counted == "1"


def test_what_cannot_change_may_be_sent_empty_where_it_is_null(server: Handle) -> None:
    volumes = [{"name": "v", "projected": {"sources": []}}]
    pod = {
        "metadata": {"name": "projecting"},
        "spec": {"containers": [{"name": "c", "image": "i"}], "volumes": volumes},
    }
    server.request("POST", PODS, pod)
    assert server.request("PUT", f"{PODS}/projecting", pod)["metadata"]["generation"] == 1
    jobs = "/apis/batch/v1/namespaces/default/jobs"
    policy = {"podFailurePolicy": {"rules": []}}
    spec = {"template": {"spec": {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}}, **policy}
    server.request("POST", jobs, {"metadata": {"name": "j"}, "spec": spec})
    patched = server.request("PATCH", f"{jobs}/j", {"spec": {**policy, "suspend": False}})
    assert patched["metadata"]["generation"] == 1
    assert patched["spec"]["podFailurePolicy"] == {"rules": None}


def test_network_policies_count_one(server: Handle) -> None:
    body: Any = {"metadata": {"name": "n"}, "spec": {"podSelector": {"matchLabels": {"a": "b"}}}}
    server.request("POST", POLICIES, body)
    assert server.request("PUT", f"{POLICIES}/n", body)["metadata"]["generation"] == 1
    body["spec"]["policyTypes"] = []  # a default takes their place
    assert server.request("PUT", f"{POLICIES}/n", body)["metadata"]["generation"] == 1
    body["spec"]["podSelector"]["matchExpressions"] = []
    changed = server.request("PUT", f"{POLICIES}/n", body)
    assert changed["metadata"]["generation"] == 2
    assert changed["spec"]["podSelector"] == {"matchLabels": {"a": "b"}}


def test_immutable_data_may_not_become_an_empty_map_where_there_was_none(server: Handle) -> None:
    body = {"metadata": {"name": "c"}, "immutable": True}
    server.request("POST", CONFIGMAPS, body)
    assert server.request("PUT", f"{CONFIGMAPS}/c", {**body, "data": {}})["metadata"]["name"] == "c"
    assert "binaryData: Forbidden" in refusal(server, "PUT", f"{CONFIGMAPS}/c", {**body, "binaryData": {}})
    secrets = "/api/v1/namespaces/default/secrets"
    server.request("POST", secrets, body)
    assert "data: Forbidden" in refusal(server, "PUT", f"{secrets}/c", {**body, "data": {}})


def test_labels_that_are_sent_empty_take_what_is_filled_in(server: Handle) -> None:
    made = server.request("POST", "/api/v1/namespaces", {"metadata": {"name": "labeled", "labels": {}}})
    assert made["metadata"]["labels"] == {"kubernetes.io/metadata.name": "labeled"}
    resources = {"limits": {"cpu": "1"}, "requests": {}}
    containers = [{"name": "c", "image": "i", "resources": resources}]
    pod = server.request("POST", PODS, {"metadata": {"name": "filled"}, "spec": {"containers": containers}})
    assert pod["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "1"}


def test_policies_see_the_json_of_what_was_sent(server: Handle) -> None:
    rule = {"operations": ["CREATE"], "apiGroups": ["rbac.authorization.k8s.io"], "apiVersions": ["v1"]}
    expression = "!has(object.metadata.labels) && type(object.rules) == list && size(object.rules) == 0"
    policy = {
        "metadata": {"name": "empty-rules"},
        "spec": {
            "matchConstraints": {"resourceRules": [{**rule, "resources": ["roles"]}]},
            "matchConditions": [{"name": "mine", "expression": "object.metadata.name.startsWith('seen-')"}],
            "validations": [{"expression": expression}],
        },
    }
    server.request("POST", VALIDATIONS, policy)
    binding = {"metadata": {"name": "b"}, "spec": {"policyName": "empty-rules", "validationActions": ["Deny"]}}
    server.request("POST", f"{VALIDATIONS.removesuffix('ies')}ybindings", binding)

    def denied(body: Any) -> bool:
        try:
            server.request("POST", f"{ROLES}?dryRun=All", body)
        except RequestFailed as refused:
            return "denied request" in str(refused)
        return False

    def role(**fields: Any) -> Any:
        return {"metadata": {"name": "seen-a", "labels": {}}, **fields}

    while not denied(role(rules=[{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}])):
        pass
    assert denied(role(rules=None))
    assert not denied(role(rules=[]))


def test_an_applied_configuration_tells_an_empty_map_from_none(server: Handle) -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "applied"}, "immutable": True}
    server.request("POST", CONFIGMAPS, body)
    path = f"{CONFIGMAPS}/applied?fieldManager=m&force=true"
    headers = {"content-type": "application/apply-patch+yaml"}
    assert "binaryData" not in server.request("PATCH", path, {**body, "binaryData": None}, headers=headers)
    with pytest.raises(RequestFailed, match="binaryData: Forbidden"):
        server.request("PATCH", path, {**body, "binaryData": {}}, headers=headers)
