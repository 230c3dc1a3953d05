"""What evictions, resizes and other writes below a Pod leave behind, and who is recorded as owning it."""

from __future__ import annotations

import base64
import contextlib
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from watchkeeper.testing import Handle, Server
from watchkeeper.testing.handle import RequestFailed

Object = dict[str, Any]
PODS = "/api/v1/namespaces/default/pods"
OTHER_UID = "11111111-2222-3333-4444-555555555555"


@pytest.fixture(scope="module")
def server() -> Iterator[Handle]:
    with Server(insecure_http=True, controllers=()) as handle:
        yield handle


def refused(server: Handle, method: str, path: str, body: Object | None = None) -> RequestFailed:
    with pytest.raises(RequestFailed) as caught:
        server.request(method, path, body)
    return caught.value


def pod(server: Handle, name: str, node: str = "n", **labels: str) -> Object:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "100m"}, "limits": {"cpu": "200m"}}}
    spec = {"nodeName": node, "containers": [container]}
    return server.request("POST", PODS, {"metadata": {"name": name, "labels": labels}, "spec": spec})


def running(server: Handle, name: str, **labels: str) -> None:
    created = pod(server, name, **labels)
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    server.request("PUT", f"{PODS}/{name}/status", created | {"status": status})


def evict(name: str, **options: Any) -> Object:
    return {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}, "deleteOptions": options}


def conditions(server: Handle, name: str) -> list[str]:
    return [c["type"] for c in server.request("GET", f"{PODS}/{name}")["status"].get("conditions", ())]


def test_an_eviction_of_another_pod_leaves_no_mark(server: Handle) -> None:
    running(server, "not-meant")
    error = refused(server, "POST", f"{PODS}/not-meant/eviction", evict("not-meant", preconditions={"uid": OTHER_UID}))
    assert error.status == 409
    assert f"the UID in the precondition ({OTHER_UID}) does not match the UID in record" in str(error)
    stale = evict("not-meant", preconditions={"resourceVersion": "1"})
    assert refused(server, "POST", f"{PODS}/not-meant/eviction", stale).status == 409
    assert conditions(server, "not-meant") == ["Ready"]


def test_a_pod_that_waits_is_marked_and_deleted_as_it_was_read(server: Handle) -> None:
    pod(server, "pending")
    server.request("POST", f"{PODS}/pending/eviction", evict("pending"))
    assert conditions(server, "pending") == ["DisruptionTarget"]
    assert server.request("GET", f"{PODS}/pending")["metadata"]["deletionTimestamp"]


def test_a_version_that_is_asked_for_is_that_before_the_mark(server: Handle) -> None:
    created = pod(server, "exact")
    version = created["metadata"]["resourceVersion"]
    server.request("POST", f"{PODS}/exact/eviction", evict("exact", preconditions={"resourceVersion": version}))
    assert server.request("GET", f"{PODS}/exact")["metadata"]["deletionTimestamp"]


def test_an_empty_version_is_one_that_no_pod_has_where_nothing_is_marked(server: Handle) -> None:
    running(server, "unversioned")
    body = evict("unversioned", preconditions={"resourceVersion": ""})
    error = refused(server, "POST", f"{PODS}/unversioned/eviction?dryRun=All", body)
    assert error.status == 409
    assert "the ResourceVersion in the precondition () does not match the ResourceVersion in record" in str(error)
    server.request("POST", f"{PODS}/unversioned/eviction", body)
    assert server.request("GET", f"{PODS}/unversioned")["metadata"]["deletionTimestamp"]


def unbound(server: Handle, name: str) -> None:
    spec = {"containers": [{"name": "c", "image": "i"}]}
    server.request("POST", PODS, {"metadata": {"name": name}, "spec": spec})


def test_repeated_owners_of_a_request_are_told_before_admission(server: Handle) -> None:
    unbound(server, "unbound")
    owner = {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u"}
    binding = {
        "metadata": {"name": "unbound", "ownerReferences": [owner, owner]},
        "target": {"kind": "Node", "name": "n"},
    }
    with httpx.Client(base_url=server.url, headers={"Authorization": f"Bearer {server.token}"}) as client:
        answer = client.post(f"{PODS}/unbound/binding?dryRun=All", json=binding)
    assert answer.status_code == 201
    (warning,) = answer.headers.get_list("Warning")
    assert warning.startswith('299 - ".metadata.ownerReferences contains duplicate entries; API server dedups')


@pytest.mark.parametrize("node", ["../n", "..", "a/b"])
def test_a_binding_may_name_a_node_that_cannot_be(server: Handle, node: str) -> None:
    name = f"bound-{len(node)}"
    unbound(server, name)
    body = {"metadata": {"name": name}, "target": {"kind": "Node", "name": node}}
    assert server.request("POST", f"{PODS}/{name}/binding?dryRun=All", body)["status"] == "Success"


def test_an_eviction_takes_the_policies_of_deletions(server: Handle) -> None:
    running(server, "policy")
    error = refused(server, "POST", f"{PODS}/policy/eviction", evict("policy", propagationPolicy="Sideways"))
    assert error.status == 422
    assert "propagationPolicy: Unsupported value: " in str(error)
    server.request("POST", f"{PODS}/policy/eviction", evict("policy", propagationPolicy="Foreground"))
    assert server.request("GET", f"{PODS}/policy")["metadata"]["finalizers"] == ["foregroundDeletion"]


def test_an_eviction_knows_one_stage_to_leave_out(server: Handle) -> None:
    running(server, "stages")
    error = refused(server, "POST", f"{PODS}/stages/eviction", evict("stages", dryRun=["Some"]))
    assert error.status == 422
    assert "dryRun: Unsupported value: " in str(error)
    error = refused(server, "POST", f"{PODS}/stages/eviction?dryRun=All", evict("stages", dryRun=["Some"]))
    assert error.status == 500
    assert "Non-matching dry-run options in request and content: [All] and [Some]" in str(error)
    assert "deletionTimestamp" not in server.request("GET", f"{PODS}/stages")["metadata"]


def test_an_eviction_reads_its_pod(server: Handle) -> None:
    running(server, "unread")
    unread = {"ignoreStoreReadErrorWithClusterBreakingPotential": True}
    error = refused(server, "POST", f"{PODS}/unread/eviction", evict("unread", **unread))
    assert error.status == 422
    assert "can not be set for pod eviction, try after removing the option" in str(error)
    assert conditions(server, "unread") == ["Ready"]


def test_an_eviction_owns_what_it_takes_from_a_budget(server: Handle) -> None:
    running(server, "counted", app="counted")
    path = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
    spec = {"minAvailable": 0, "selector": {"matchLabels": {"app": "counted"}}}
    budget = server.request("POST", path, {"metadata": {"name": "counting"}, "spec": spec})
    budget["status"] = {"disruptionsAllowed": 2, "observedGeneration": 1, "currentHealthy": 1, "desiredHealthy": 0}
    server.request("PUT", f"{path}/counting/status?fieldManager=controller", {**budget, "status": budget["status"]})
    server.request("POST", f"{PODS}/counted/eviction", evict("counted"))
    found = server.request("GET", f"{path}/counting")
    assert found["status"]["disruptionsAllowed"] == 1
    entry = next(e for e in found["metadata"]["managedFields"] if e["manager"] == "kube-apiserver")
    assert (entry["operation"], entry["apiVersion"], entry["subresource"]) == ("Update", "policy/v1", "status")
    assert entry["fieldsV1"] == {
        "f:status": {"f:disruptedPods": {".": {}, "f:counted": {}}, "f:disruptionsAllowed": {}}
    }
    other = next(e for e in found["metadata"]["managedFields"] if e["manager"] == "controller")
    assert "f:disruptionsAllowed" not in other["fieldsV1"]["f:status"]


def test_several_budgets_are_an_error(server: Handle) -> None:
    running(server, "covered", app="covered")
    for name in ("one", "two"):
        spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "covered"}}}
        path = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
        server.request("POST", path, {"metadata": {"name": name}, "spec": spec})
    error = refused(server, "POST", f"{PODS}/covered/eviction", evict("covered"))
    assert error.status == 500
    assert "more than one PodDisruptionBudget" in str(error)


@pytest.mark.parametrize("subresource", ["resize", "ephemeralcontainers"])
def test_what_is_sent_is_recorded_even_where_it_is_not_taken(server: Handle, subresource: str) -> None:
    name = f"recorded-{subresource}"
    created = pod(server, name, node="")
    created["metadata"]["labels"] = {"ignored": "yes"}
    created["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "150m"
    created["spec"]["ephemeralContainers"] = [{"name": "debug", "image": "i"}]
    changed = server.request("PUT", f"{PODS}/{name}/{subresource}?fieldManager=other", created)
    assert "labels" not in changed["metadata"]
    entry = next(e for e in changed["metadata"]["managedFields"] if e["manager"] == "other")
    assert entry["subresource"] == subresource
    assert "f:ignored" in entry["fieldsV1"]["f:metadata"]["f:labels"]


def signing_request() -> str:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "u")])
    request = x509.CertificateSigningRequestBuilder().subject_name(name).sign(key, hashes.SHA256())
    return base64.b64encode(request.public_bytes(serialization.Encoding.PEM)).decode()


def test_of_a_signing_request_only_what_can_be_changed_is_owned(server: Handle) -> None:
    spec = {"signerName": "example.com/s", "usages": ["client auth"], "request": signing_request()}
    path = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
    created = server.request("POST", path, {"metadata": {"name": "r", "labels": {"l": "1"}}, "spec": spec})
    recorded = [e["fieldsV1"] for e in created["metadata"]["managedFields"]]
    assert recorded == [{"f:metadata": {"f:labels": {".": {}, "f:l": {}}}}]


def test_a_request_for_a_token_tells_who_sent_what(server: Handle) -> None:
    server.request("POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "s"}})
    path = "/api/v1/namespaces/default/serviceaccounts/s/token"
    answer = server.request("POST", f"{path}?fieldManager=me", {"spec": {"audiences": ["a"]}})
    (entry,) = answer["metadata"]["managedFields"]
    assert (entry["manager"], entry["operation"], entry["subresource"]) == ("me", "Update", "token")
    assert entry["fieldsV1"]["f:spec"] == {"f:audiences": {}, "f:expirationSeconds": {}}
    assert refused(server, "POST", path, {"spec": {"boundObjectRef": {}}}).status == 400


def test_a_binding_without_a_name_binds_nothing(server: Handle) -> None:
    error = refused(server, "POST", "/api/v1/namespaces/default/bindings", {"target": {"name": "n"}})
    assert (error.status, str(error).count("Name parameter required.")) == (400, 1)


def test_events_know_owners_at_the_version_of_their_group_only(server: Handle) -> None:
    about = {"kind": "Pod", "name": "p", "namespace": "default"}
    event = {"metadata": {"name": "e"}, "involvedObject": about, "reason": "R", "message": "m", "type": "Normal"}
    server.request("POST", "/api/v1/namespaces/default/events?fieldManager=old", event)
    path = "/apis/events.k8s.io/v1/namespaces/default/events/e"
    changed = server.request("GET", path)
    changed["metadata"]["labels"] = {"l": "1"}
    changed = server.request("PUT", f"{path}?fieldManager=new", changed)
    assert [e["manager"] for e in changed["metadata"]["managedFields"]] == ["new"]


def test_a_pod_that_no_node_has_has_no_log_and_it_is_only_read(server: Handle) -> None:
    pod(server, "silent", node="")
    request = urllib.request.Request(
        f"{server.url}{PODS}/silent/log", headers={"Authorization": f"Bearer {server.token}"}
    )
    with urllib.request.urlopen(request, timeout=5) as answer:
        assert (answer.status, answer.read(), answer.headers["Content-Type"]) == (204, b"", None)
    assert refused(server, "PUT", f"{PODS}/silent/log", {}).status == 405
    assert refused(server, "DELETE", f"{PODS}/silent/exec").status == 405


def may(server: Handle, user: str, *verbs: str) -> None:
    parts = ["pods/exec", "pods/attach", "pods/portforward", "pods/log"]
    rules = [{"apiGroups": [""], "resources": parts, "verbs": list(verbs)}]
    path = "/apis/rbac.authorization.k8s.io/v1/namespaces/default"
    server.request("POST", f"{path}/roles", {"metadata": {"name": user}, "rules": rules})
    bound = {
        "metadata": {"name": user},
        "subjects": [{"kind": "User", "name": user, "apiGroup": "rbac.authorization.k8s.io"}],
        "roleRef": {"kind": "Role", "name": user, "apiGroup": "rbac.authorization.k8s.io"},
    }
    server.request("POST", f"{path}/rolebindings", bound)


@pytest.mark.parametrize("name", ["exec", "attach", "portforward"])
def test_who_may_only_read_connects_to_no_pod(server: Handle, name: str) -> None:
    pod(server, f"of-readers-{name}", node="")
    may(server, f"reader-{name}", "get")
    may(server, f"writer-{name}", "get", "create")
    path = f"{PODS}/of-readers-{name}/{name}?command=ls"
    with pytest.raises(RequestFailed) as caught:
        server.request("GET", path, headers={"Impersonate-User": f"reader-{name}"})
    assert caught.value.status == 403
    assert caught.value.answer["message"] == f'pods "of-readers-{name}" is forbidden: '
    assert caught.value.answer["details"] == {"name": f"of-readers-{name}", "kind": "pods"}
    with pytest.raises(RequestFailed) as caught:
        server.request("GET", path, headers={"Impersonate-User": f"writer-{name}"})
    assert caught.value.answer["message"] == f"pod of-readers-{name} does not have a host assigned"


def test_a_create_that_is_allowed_connects_without_a_right_to_read(server: Handle) -> None:
    pod(server, "of-creators", node="")
    may(server, "creator", "create")
    with pytest.raises(RequestFailed) as caught:
        server.request("POST", f"{PODS}/of-creators/exec?command=ls", headers={"Impersonate-User": "creator"})
    assert caught.value.status == 400


@pytest.mark.parametrize("name", ["log", "exec", "attach", "portforward"])
def test_only_a_proxy_has_paths_behind_it(server: Handle, name: str) -> None:
    error = refused(server, "GET", f"{PODS}/nowhere/{name}/further")
    assert error.status == 404
    assert "could not find the requested resource" in str(error)
    assert r"pods \"nowhere\" not found" in str(refused(server, "GET", f"{PODS}/nowhere/proxy/further"))


@pytest.mark.parametrize(
    ("accept", "status", "says"),
    [
        ("text/plain", 406, "only the following media types are accepted: application/json"),
        ("text/plain, application/json", 204, ""),
        ("text/html", 406, r"Available representations: text/plain, application/json, application/yaml"),
        ("application/json;as=Table;g=meta.k8s.io;v=v1", 406, "only the following media types are accepted"),
        ("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", 500, "does not implement the Object"),
        ("application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1", 406, "(*rest.LocationStreamer)"),
    ],
)
def test_a_log_is_got_in_the_forms_of_objects(server: Handle, accept: str, status: int, says: str) -> None:
    with contextlib.suppress(RequestFailed):
        pod(server, "told", node="")
    headers = {"Authorization": f"Bearer {server.token}", "Accept": accept}
    try:
        with urllib.request.urlopen(urllib.request.Request(f"{server.url}{PODS}/told/log", headers=headers)) as answer:
            found = answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        found = error.code, error.read().decode()
    assert found[0] == status
    assert says in found[1]


@pytest.mark.parametrize(
    ("ports", "says"),
    [
        ("80,90", "does not have a host assigned"),
        ("80,x", r"cannot convert to []int32: strconv.ParseUint: parsing \"x\": invalid syntax"),
        ("-1", r"parsing \"-1\": invalid syntax"),
        ("", r"parsing \"\": invalid syntax"),
        ("65536", r"parsing \"65536\": value out of range"),
    ],
)
def test_forwarded_ports_are_read_as_go_does(server: Handle, ports: str, says: str) -> None:
    with contextlib.suppress(RequestFailed):
        pod(server, "harbor", node="")
    error = refused(server, "POST", f"{PODS}/harbor/portforward?ports={ports}")
    assert error.status == 400
    assert says in str(error)
