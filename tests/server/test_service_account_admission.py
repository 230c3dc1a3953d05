"""ServiceAccount, which is on where it is turned on: whom Pods act as, and which Secrets they may refer to."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from watchkeeper.admission.service_accounts import MOUNT_PATH
from watchkeeper.testing import Server
from watchkeeper.testing.handle import Handle, RequestFailed

Object = dict[str, Any]
CORE = "/api/v1/namespaces/default"
MIRROR = {"kubernetes.io/config.mirror": "x"}
ENFORCE = {"kubernetes.io/enforce-mountable-secrets": "true"}
OTHER = {"env": [{"name": "E", "valueFrom": {"secretKeyRef": {"name": "other", "key": "k"}}}]}
ELSEWHERE = {"envFrom": [{"secretRef": {"name": "other"}}]}
UNREFERENCED = "is not allowed because service account strict does not reference that"


@pytest.fixture(scope="module")
def server() -> Iterator[Handle]:
    with Server(enable_admission_plugins=("ServiceAccount",), insecure_http=True, controllers=()) as running:
        pull: Object = {"metadata": {"name": "default"}, "imagePullSecrets": [{"name": "pull"}]}
        strict: Object = {"metadata": {"name": "strict", "annotations": ENFORCE}, "secrets": [{"name": "mine"}]}
        for account in (pull, {**strict, "automountServiceAccountToken": False}):
            running.request("POST", f"{CORE}/serviceaccounts", account)
        yield running


def make(server: Handle, name: str, annotations: Object | None = None, **spec: Any) -> Object:
    body = {
        "metadata": {"name": name, "annotations": annotations or {}},
        "spec": {"containers": [{"name": "c", "image": "i"}], **spec},
    }
    return server.request("POST", f"{CORE}/pods", body)["spec"]


def refusal(server: Handle, name: str, annotations: Object | None = None, **spec: Any) -> tuple[int, str]:
    with pytest.raises(RequestFailed) as refused:
        make(server, name, annotations, **spec)
    answer = refused.value.answer
    return answer["code"], answer["message"].removeprefix(f'pods "{name}" is forbidden: ')


def mounts(spec: Object, field: str = "containers") -> list[Any]:
    return [container.get("volumeMounts") for container in spec[field]]


def test_a_pod_gets_the_account_of_its_namespace_with_a_token(server: Handle) -> None:
    spec = make(server, "plain")
    assert (spec["serviceAccountName"], spec["serviceAccount"]) == ("default", "default")
    assert spec["imagePullSecrets"] == [{"name": "pull"}]
    [volume] = spec["volumes"]
    assert volume["name"].startswith("kube-api-access-")
    namespace = {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
    assert volume["projected"] == {
        "defaultMode": 420,
        "sources": [
            {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
            {"configMap": {"items": [{"key": "ca.crt", "path": "ca.crt"}], "name": "kube-root-ca.crt"}},
            {"downwardAPI": {"items": [namespace]}},
        ],
    }
    assert mounts(spec) == [[{"name": volume["name"], "readOnly": True, "mountPath": MOUNT_PATH}]]


def test_what_a_pod_says_itself_stays(server: Handle) -> None:
    own = {"name": "v", "mountPath": MOUNT_PATH}
    first = {"name": "x", "image": "i", "volumeMounts": [own]}
    spec = make(
        server,
        "own",
        initContainers=[first],
        volumes=[{"name": "v", "emptyDir": {}}],
        imagePullSecrets=[{"name": "z"}],
    )
    assert spec["imagePullSecrets"] == [{"name": "z"}]
    assert mounts(spec, "initContainers") == [[own]]
    assert mounts(spec) == [[{"name": spec["volumes"][1]["name"], "readOnly": True, "mountPath": MOUNT_PATH}]]
    spec = make(server, "has", volumes=[{"name": "kube-api-access-mine", "emptyDir": {}}])
    assert [volume["name"] for volume in spec["volumes"]] == [mounts(spec)[0][0]["name"]] == ["kube-api-access-mine"]


def test_the_pod_and_then_the_account_say_whether_there_is_a_token(server: Handle) -> None:
    assert "volumes" not in make(server, "no", automountServiceAccountToken=False)
    assert "volumes" not in make(server, "account-says-no", serviceAccount="strict")
    assert "volumes" in make(server, "yes", serviceAccountName="strict", automountServiceAccountToken=True)


def test_the_account_of_a_pod_has_to_exist(server: Handle) -> None:
    why = 'error looking up service account default/nobody: serviceaccount "nobody" not found'
    assert refusal(server, "a", serviceAccountName="nobody") == (403, why)


def test_an_account_that_is_about_to_be_made_is_waited_for(server: Handle) -> None:
    server.request("POST", "/api/v1/namespaces", {"metadata": {"name": "fresh"}})
    body: Object = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    accounts = "/api/v1/namespaces/fresh/serviceaccounts"
    later = threading.Timer(0.3, server.request, ("POST", accounts, {"metadata": {"name": "default"}}))
    later.start()
    assert server.request("POST", "/api/v1/namespaces/fresh/pods", body)["spec"]["serviceAccountName"] == "default"
    later.join()
    server.request("DELETE", f"{accounts}/default")
    body["metadata"]["name"] = "q"
    with pytest.raises(RequestFailed) as refused:
        server.request("POST", "/api/v1/namespaces/fresh/pods", body)
    why = 'error looking up service account fresh/default: serviceaccount "default" not found'
    assert refused.value.answer["message"] == f'pods "q" is forbidden: {why}'


@pytest.mark.parametrize(
    ("spec", "what"),
    [
        ({"serviceAccountName": "strict"}, "reference service accounts"),
        ({"imagePullSecrets": [{"name": "z"}]}, "reference secrets"),
        ({"containers": [{"name": "c", "image": "i", **ELSEWHERE}]}, "reference secrets"),
        ({"volumes": [{"name": "v", "secret": {"secretName": "t"}}]}, "reference secrets"),
        ({"volumes": [{"name": "v", "projected": {"sources": [{"secret": {"name": "t"}}]}}]}, "reference secrets"),
        (
            {"volumes": [{"name": "v", "csi": {"driver": "x.y", "nodePublishSecretRef": {"name": "t"}}}]},
            "reference secrets",
        ),
        (
            {"volumes": [{"name": "v", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}]},
            "use ServiceAccountToken volume projections",
        ),
    ],
)
def test_the_mirror_of_a_static_pod_gets_nothing_of_the_cluster(server: Handle, spec: Object, what: str) -> None:
    assert refusal(server, "mirror", MIRROR, **spec) == (403, f"a mirror pod may not {what}")


def test_a_mirror_is_left_as_it_is(server: Handle) -> None:
    spec = make(server, "static", MIRROR, nodeName="n")
    assert not {"serviceAccountName", "volumes", "imagePullSecrets"} & set(spec)


@pytest.mark.parametrize(
    ("spec", "where"),
    [
        ({"volumes": [{"name": "v", "secret": {"secretName": "other"}}]}, "volume with "),
        ({"containers": [{"name": "c", "image": "i", **OTHER}]}, "container c with envVar E referencing "),
        ({"containers": [{"name": "c", "image": "i", **ELSEWHERE}]}, "container c with envFrom referencing "),
        ({"initContainers": [{"name": "d", "image": "i", **OTHER}]}, "init container d with envVar E referencing "),
    ],
)
def test_pods_of_an_account_that_says_so_refer_to_its_secrets_alone(server: Handle, spec: Object, where: str) -> None:
    why = f'{where}secret.secretName="other" {UNREFERENCED} secret'
    assert refusal(server, "s", serviceAccountName="strict", **spec) == (403, why)


def test_what_an_account_pulls_with_is_enforced_too(server: Handle) -> None:
    why = f'imagePullSecrets[0].name="z" {UNREFERENCED} imagePullSecret'
    assert refusal(server, "s", serviceAccountName="strict", imagePullSecrets=[{"name": "z"}]) == (403, why)
    volume = {"name": "v", "secret": {"secretName": "mine"}}
    assert make(server, "mine", serviceAccountName="strict", volumes=[volume])["serviceAccountName"] == "strict"


def test_ephemeral_containers_are_looked_at_as_well(server: Handle) -> None:
    make(server, "debugged", serviceAccountName="strict")
    pod = server.request("GET", f"{CORE}/pods/debugged")
    pod["spec"]["ephemeralContainers"] = [{"name": "d", "image": "i", **OTHER}]
    with pytest.raises(RequestFailed) as refused:
        server.request("PUT", f"{CORE}/pods/debugged/ephemeralcontainers", pod)
    why = f'ephemeral container d with envVar E referencing secret.secretName="other" {UNREFERENCED} secret'
    assert (refused.value.answer["code"], refused.value.answer["message"]) == (500, why)
