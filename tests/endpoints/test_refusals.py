"""What requests are refused for on subresources, at other versions, or with options that are none."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from watchkeeper.testing import Server
from watchkeeper.testing.handle import Handle

PODS = "/api/v1/namespaces/default/pods"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
SERVICES = "/api/v1/namespaces/default/services"
CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
MERGE = "application/merge-patch+json"
OTHER = "11111111-2222-3333-4444-555555555555"


def pod(name: str, *containers: str) -> dict[str, Any]:
    items = [{"name": each, "image": "i"} for each in containers or ("main",)]
    return {"metadata": {"name": name}, "spec": {"containers": items, "initContainers": [{"name": "i", "image": "i"}]}}


def deployment() -> dict[str, Any]:
    labels = {"app": "d"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": "i"}]}}
    return {"metadata": {"name": "d"}, "spec": {"selector": {"matchLabels": labels}, "template": template}}


@pytest.fixture(scope="module")
def server() -> Iterator[Handle]:
    with Server(insecure_http=True) as running:
        running.request("POST", PODS, pod("a"))
        running.request("POST", PODS, pod("b", "x", "y"))
        running.request("POST", DEPLOYMENTS, deployment())
        service = {"metadata": {"name": "s"}, "spec": {"clusterIP": "None", "ports": [{"port": 80}]}}
        running.request("POST", SERVICES, service)
        _stand_behind_services(running)
        running.request("POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "worker"}})
        running.request("POST", "/api/v1/namespaces/default/secrets", {"metadata": {"name": "k"}})
        running.request("POST", CONFIGMAPS, {"metadata": {"name": "c"}})
        running.request("POST", "/api/v1/nodes", {"metadata": {"name": "n"}})
        yield running


def _stand_behind_services(server: Handle) -> None:
    """Endpoints without subsets, and some that name a Pod rightly and wrongly."""
    endpoints = "/api/v1/namespaces/default/endpoints"
    server.request("POST", endpoints, {"metadata": {"name": "hollow"}})
    service = {"selector": None, "ports": [{"name": "web", "port": 80}]}
    server.request("POST", SERVICES, {"metadata": {"name": "full"}, "spec": service})
    status = {"podIP": "10.1.2.3", "podIPs": [{"ip": "10.1.2.3"}]}
    server.request("PUT", f"{PODS}/b/status", server.request("GET", f"{PODS}/b") | {"status": status})
    target = {"kind": "Pod", "name": "b", "namespace": "default"}
    here, away = {"ip": "10.1.2.3", "targetRef": target}, {"ip": "10.1.2.4", "targetRef": target}
    lost = {"ip": "10.1.2.5", "targetRef": target | {"name": "lost"}}
    subsets = [
        {"addresses": [away, here], "ports": [{"name": "web", "port": 8080}]},
        {"addresses": [away, lost, {"ip": "10.1.2.6"}], "ports": [{"name": "away", "port": 8081}]},
    ]
    server.request("POST", endpoints, {"metadata": {"name": "full"}, "subsets": subsets})


def refused(server: Handle, method: str, path: str, body: Any = None, content_type: str = "application/json") -> Any:
    """The Status of a refusal."""
    headers = {"Authorization": f"Bearer {server.token}", "Content-Type": content_type}
    content = None if body is None else json.dumps(body)
    answer = httpx.request(method, server.url + path, content=content, headers=headers)
    assert answer.status_code >= 400, answer.text
    return answer.json()


@pytest.mark.parametrize(
    ("query", "code", "message"),
    [
        ("tailLines=-1", 422, "tailLines: Invalid value: -1: must be greater than or equal to 0"),
        ("limitBytes=0", 422, "limitBytes: Invalid value: 0: must be greater than 0"),
        ("sinceSeconds=0", 422, "sinceSeconds: Invalid value: 0: must be greater than 0"),
        (
            "sinceSeconds=1&sinceTime=2020-01-01T00:00:00Z",
            422,
            "is invalid: []: Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified",
        ),
        ("stream=All", 422, "stream: Forbidden: may not be specified"),
        ("sinceSeconds=1&sinceTime=", 422, "at most one of `sinceTime` or `sinceSeconds` may be specified"),
        ("tailLines=many", 400, 'strconv.ParseInt: parsing "many": invalid syntax'),
        ("tailLines=" + "9" * 19, 400, f'strconv.ParseInt: parsing "{"9" * 19}": value out of range'),
        ("tailLines=many&sinceSeconds=long", 400, 'strconv.ParseInt: parsing "long": invalid syntax'),
        (
            "sinceTime=today",
            400,
            'parsing time "today" as "2006-01-02T15:04:05Z07:00": cannot parse "today" as "2006"',
        ),
    ],
)
def test_a_log_is_asked_for_with_sound_bounds(server: Handle, query: str, code: int, message: str) -> None:
    status = refused(server, "GET", f"{PODS}/a/log?{query}")
    assert status["code"] == code
    assert status["message"].endswith(message)


def test_with_several_containers_one_must_be_named(server: Handle) -> None:
    status = refused(server, "GET", f"{PODS}/b/log")
    assert status["message"] == "a container name must be specified for pod b, choose one of: [i x y]"
    assert status["code"] == 400


@pytest.mark.parametrize(
    ("path", "code", "message"),
    [
        (f"{PODS}/a/proxy/", 400, "address not allowed"),
        (f"{PODS}/a:80/proxy/", 400, "address not allowed"),
        (f"{PODS}/ftp:a:80/proxy/", 400, 'invalid pod request "ftp:a:80"'),
        (f"{PODS}/absent:80/proxy/", 404, 'pods "absent" not found'),
        ("/api/v1/nodes/https:n:10250/proxy/", 500, "no preferred addresses found; known addresses: []"),
        ("/api/v1/nodes/absent:10250/proxy/healthz", 404, 'nodes "absent" not found'),
        ("/api/v1/nodes/ftp:n:21/proxy/", 400, 'invalid node request "ftp:n:21"'),
        (f"{SERVICES}/:80/proxy/", 400, 'invalid service request ":80"'),
        (f"{SERVICES}/s:81/proxy/", 503, 'no service port 81 found for service "s"'),
        (f"{SERVICES}/s:-1/proxy/", 503, 'no service port -1 found for service "s"'),
        (f"{SERVICES}/http:s:80/proxy/", 404, 'services "s" not found'),
        (f"{SERVICES}/absent/proxy/", 404, 'services "absent" not found'),
        (f"{SERVICES}/absent:80/proxy/", 404, 'services "absent" not found'),
        (f"{SERVICES}/absent:web/proxy/", 404, 'services "absent" not found'),
        (f"{SERVICES}/hollow/proxy/", 503, 'no endpoints available for service "hollow"'),
        (f"{SERVICES}/http:full:81/proxy/", 503, 'no service port 81 found for service "full"'),
        (f"{SERVICES}/http:full:other/proxy/", 503, 'no endpoints available for service "http:full:other"'),
        (f"{SERVICES}/full:away/proxy/", 503, 'no endpoints available for service "full:away"'),
    ],
)
def test_a_proxy_names_what_it_leads_to(server: Handle, path: str, code: int, message: str) -> None:
    status = refused(server, "GET", path)
    assert (status["code"], status["message"]) == (code, message)


@pytest.mark.parametrize("query", ["", "?dryRun=All"])
@pytest.mark.parametrize("expected", [{"uid": OTHER}, {"resourceVersion": "1"}])
def test_a_binding_is_about_the_pod_that_it_knows(server: Handle, query: str, expected: dict[str, str]) -> None:
    body = {"metadata": {"name": "a", **expected}, "target": {"name": "node-1"}}
    status = refused(server, "POST", f"{PODS}/a/binding{query}", body)
    assert (status["code"], status["reason"]) == (409, "Conflict")
    assert "AdditionalErrorMsg: Precondition failed: " in status["message"]


@pytest.mark.parametrize(("query", "root"), [("", "/registry"), ("?dryRun=All", "")])
def test_a_replacement_is_about_the_object_that_it_knows(server: Handle, query: str, root: str) -> None:
    body = {"metadata": {"name": "c", "uid": OTHER}}
    status = refused(server, "PUT", f"{CONFIGMAPS}/c{query}", body)
    assert status["code"] == 409
    assert f"StorageError: invalid object, Code: 4, Key: {root}/configmaps/default/c, " in status["message"]


def test_a_patched_scale_is_about_the_object_that_it_knows(server: Handle) -> None:
    status = refused(server, "PATCH", f"{DEPLOYMENTS}/d/scale", {"metadata": {"uid": OTHER}}, MERGE)
    assert (status["code"], status["details"]["kind"]) == (409, "deployments/scale")


def test_a_body_at_a_version_that_is_served_no_more_is_told_to_be_of_the_wrong_version(server: Handle) -> None:
    body = {"apiVersion": "extensions/v1beta1", "kind": "Deployment", "metadata": {"name": "e"}}
    status = refused(server, "POST", DEPLOYMENTS, body)
    assert status["message"] == (
        "the API version in the data (extensions/v1beta1) does not match the expected API version (apps/v1)"
    )
    status = refused(server, "POST", DEPLOYMENTS, {**body, "apiVersion": "apps/v3"})
    assert 'no kind "Deployment" is registered for version "apps/v3"' in status["message"]


def test_pods_are_evicted_by_clients_of_the_old_version_too(server: Handle) -> None:
    server.request("POST", PODS, pod("old"))
    body = {"apiVersion": "policy/v1beta1", "kind": "Eviction", "metadata": {"name": "old"}}
    assert server.request("POST", f"{PODS}/old/eviction", body)["status"] == "Success"
    assert refused(server, "GET", f"{PODS}/old")["code"] == 404


@pytest.mark.parametrize("version", ["v1", "apps/v1", "meta.k8s.io/v1"])
def test_options_of_a_deletion_may_be_of_any_group(server: Handle, version: str) -> None:
    body = {"kind": "DeleteOptions", "apiVersion": version, "dryRun": ["All"]}
    assert server.request("DELETE", f"{CONFIGMAPS}/c", body)["status"] == "Success"
    assert server.request("GET", f"{CONFIGMAPS}/c")["metadata"]["name"] == "c"


def test_options_of_a_deletion_must_be_such_options(server: Handle) -> None:
    status = refused(server, "DELETE", f"{CONFIGMAPS}/c", {"kind": "ConfigMap", "apiVersion": "v1"})
    assert status["message"].startswith('no kind "ConfigMap" is registered for version "v1" in scheme')
    status = refused(server, "DELETE", f"{CONFIGMAPS}/c", {"gracePeriodSeconds": "x"})
    assert status["message"] == (
        "json: cannot unmarshal string into Go struct field DeleteOptions.gracePeriodSeconds of type int64"
    )


@pytest.mark.parametrize(
    ("bound", "code", "message"),
    [
        (
            {"kind": "Pod", "name": "a"},
            400,
            'cannot bind token for serviceaccount "worker" to pod running with different serviceaccount name.',
        ),
        ({"kind": "ConfigMap", "name": "c"}, 400, "cannot bind token to object of type /v1, Kind=ConfigMap"),
        ({"apiVersion": "a/b", "kind": "Pod"}, 400, "cannot bind token to object of type a/b, Kind=Pod"),
        ({"apiVersion": "a/b/c", "kind": "Thing"}, 400, "cannot bind token to object of type /, Kind=Thing"),
        (
            {"apiVersion": "a/b/c", "kind": "Secret", "name": "k", "uid": OTHER},
            409,
            'Operation cannot be fulfilled on Secret "k": the UID',
        ),
        ({"kind": "Secret", "name": "k", "uid": OTHER}, 409, 'Operation cannot be fulfilled on Secret "k": the UID'),
    ],
)
def test_a_token_is_bound_to_what_it_may_be_bound_to(
    server: Handle, bound: dict[str, str], code: int, message: str
) -> None:
    body = {"spec": {"boundObjectRef": {"apiVersion": "v1", **bound}}}
    status = refused(server, "POST", "/api/v1/namespaces/default/serviceaccounts/worker/token", body)
    assert status["code"] == code
    assert status["message"].startswith(message)


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [
        ("GET", "/apis/authorization.k8s.io/v1/subjectaccessreviews", 405),
        ("GET", "/apis/authorization.k8s.io/v1/subjectaccessreviews/x", 404),
        ("POST", "/apis/authentication.k8s.io/v1/tokenreviews/x", 404),
        ("GET", "/apis/authorization.k8s.io/v1/localsubjectaccessreviews", 404),
        ("POST", "/api/v1/bindings", 404),
        ("GET", "/api/v1/namespaces/default/bindings/x", 404),
        ("DELETE", "/api/v1/namespaces/default/bindings", 405),
        ("POST", "/api/v1/pods", 405),
        ("DELETE", "/api/v1/componentstatuses/x", 405),
        ("GET", "/api/v1/proxy/namespaces/default", 404),
        ("GET", "/api/v1/proxy/namespaces/default/services/kubernetes", 404),
    ],
)
def test_a_path_is_there_when_any_method_is(server: Handle, method: str, path: str, code: int) -> None:
    status = refused(server, method, path, {} if method == "POST" else None)
    assert (status["code"], status["reason"]) == (code, "NotFound" if code == 404 else "MethodNotAllowed")


def test_a_refused_review_shows_non_resource_attributes_whole(server: Handle) -> None:
    spec = {"user": "u", "resourceAttributes": {}, "nonResourceAttributes": {"path": "/x"}}
    status = refused(server, "POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", {"spec": spec})
    (cause,) = status["details"]["causes"]
    told = 'Invalid value: {"Path":"/x","Verb":""}: cannot be specified in combination with resourceAttributes'
    assert (cause["field"], cause["message"]) == ("spec.nonResourceAttributes", told)


def test_a_refused_review_shows_metadata_in_the_order_of_its_types(server: Handle) -> None:
    owner = {"uid": "u", "name": "n", "kind": "K", "controller": True, "blockOwnerDeletion": True, "apiVersion": "v1"}
    metadata = {"ownerReferences": [owner], "labels": {"b": "c", "a": "b"}}
    body = {"metadata": metadata, "spec": {"user": "u", "nonResourceAttributes": {}}}
    status = refused(server, "POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", body)
    (cause,) = status["details"]["causes"]
    shown = (
        '{"labels":{"a":"b","b":"c"},"ownerReferences":[{"apiVersion":"v1","kind":"K","name":"n","uid":"u",'
        '"controller":true,"blockOwnerDeletion":true}],"managedFields":['
    )
    assert cause["field"] == "metadata"
    assert cause["message"].startswith(f"Invalid value: {shown}")


def test_a_token_is_asked_for_the_account_of_the_path(server: Handle) -> None:
    path = "/api/v1/namespaces/default/serviceaccounts/worker/token"
    status = refused(server, "POST", path, {"metadata": {"name": "other"}})
    words = 'Invalid value: "other": must match the service account name if specified'
    assert status["message"] == f'TokenRequest.authentication.k8s.io "worker" is invalid: metadata.name: {words}'
    status = refused(server, "POST", path, {"metadata": {"uid": OTHER}})
    assert (status["code"], status["details"]["kind"]) == (409, "TokenRequest")
    assert f"the UID in the token request ({OTHER}) does not match the UID of the service account" in status["message"]
    absent = refused(server, "POST", path.replace("worker", "absent"), {"spec": {"expirationSeconds": 1}})
    assert absent["code"] == 404


def test_the_status_of_a_kind_that_updates_create_creates_it_too_without_an_address(server: Handle) -> None:
    service = {"metadata": {"name": "by-status"}, "spec": {"ports": [{"port": 80}]}, "status": {"conditions": []}}
    made = server.request("PUT", f"{SERVICES}/by-status/status", service)
    assert "clusterIP" not in made["spec"]
    assert made["status"] == {"loadBalancer": {}}
    assert refused(server, "PUT", f"{DEPLOYMENTS}/absent/status", {"metadata": {"name": "absent"}})["code"] == 404


def test_applying_the_status_of_a_validating_policy_creates_the_policy(server: Handle) -> None:
    path = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/none/status"
    config = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy"}
    status = refused(
        server,
        "PATCH",
        f"{path}?fieldManager=m",
        {**config, "metadata": {"name": "none"}},
        "application/apply-patch+yaml",
    )
    assert (status["code"], status["reason"]) == (422, "Invalid")
    assert refused(server, "PUT", path, {**config, "metadata": {"name": "none"}})["code"] == 404


def test_a_place_for_a_namespace_may_be_empty_but_what_needs_one_is_refused(server: Handle) -> None:
    made = refused(server, "POST", "/api/v1/namespaces//configmaps", {"metadata": {"name": "n"}})
    assert (made["code"], made["message"]) == (422, 'ConfigMap "n" is invalid: metadata.namespace: Required value')
    for method, path in (("GET", "/c"), ("DELETE", "/c"), ("DELETE", "")):
        status = refused(server, method, f"/api/v1/namespaces//configmaps{path}")
        assert (status["code"], status["message"]) == (400, "Namespace parameter required.")
    assert server.request("GET", f"{CONFIGMAPS}/c")["metadata"]["name"] == "c"
    assert server.request("GET", "/api/v1/namespaces//configmaps")["items"]


def test_a_binding_is_judged_before_its_name_is_missed(server: Handle) -> None:
    path = "/api/v1/namespaces/default/bindings"
    assert refused(server, "POST", path, {})["message"] == "target.name: Required value"
    unnamed = refused(server, "POST", path, {"target": {"kind": "Node", "name": "x"}})
    assert (unnamed["code"], unnamed["message"]) == (400, "Name parameter required.")


def test_a_job_without_labels_is_not_blamed_for_those_of_its_pods(server: Handle) -> None:
    pods = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
    jobs = "/apis/batch/v1/namespaces/default/jobs"
    long = refused(server, "POST", jobs, {"metadata": {"name": "a" * 64}, "spec": {"template": pods}})
    assert {cause["field"] for cause in long["details"]["causes"]} == {"spec.template.labels"}
    made = server.request("POST", jobs, {"metadata": {"name": "a"}, "spec": {"template": pods}})
    assert made["metadata"]["labels"] == made["spec"]["template"]["metadata"]["labels"]


def test_names_of_device_classes_and_addresses_are_judged_as_they_are_declared(server: Handle) -> None:
    classes = "/apis/resource.k8s.io/v1/deviceclasses"
    (cause,) = refused(server, "POST", classes, {"metadata": {"name": "a" * 254}, "spec": {}})["details"]["causes"]
    assert cause["message"].endswith("must be no more than 253 bytes")
    causes = refused(server, "POST", classes, {"metadata": {"generateName": "Bad_"}, "spec": {}})["details"]["causes"]
    assert [cause["field"] for cause in causes] == ["metadata.name"]
    address = {"metadata": {"generateName": "a-"}, "spec": {"parentRef": {"resource": "services", "name": "x"}}}
    status = refused(server, "POST", "/apis/networking.k8s.io/v1/ipaddresses", address)
    assert status["details"]["name"] == "a-"
