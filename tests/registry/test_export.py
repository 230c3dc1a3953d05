"""Manifests hold what a client would write: another server takes them and comes to the same object."""

import base64
import copy
import functools
from collections.abc import Iterator
from typing import Any

import pytest

from watchkeeper.registry.export import export, is_exportable
from watchkeeper.testing import Server
from watchkeeper.testing.handle import Handle

LABELS = {"app": "x"}
POD_SPEC = {"containers": [{"name": "main", "image": "img:1"}]}
TEMPLATE = {"metadata": {"labels": LABELS}, "spec": POD_SPEC}


@pytest.fixture(scope="module")
def server() -> Iterator[Handle]:
    with Server() as handle:
        yield handle


def meta(name: str = "a", **fields: Any) -> Any:
    return {"name": name, **fields}


MANIFESTS: dict[str, Any] = {
    "/api/v1/namespaces": {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": meta("exported", labels=LABELS),
    },
    "/api/v1/namespaces/default/configmaps": {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": meta(annotations={"note": "1"}, finalizers=["example.com/held"]),
        "data": {"k": "v"},
    },
    "/api/v1/namespaces/default/services": {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": meta(),
        "spec": {"type": "LoadBalancer", "externalTrafficPolicy": "Local", "ports": [{"port": 80}]},
    },
    "/api/v1/namespaces/default/pods": {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": meta(),
        "spec": {**POD_SPEC, "priorityClassName": "system-node-critical"},
    },
    "/apis/batch/v1/namespaces/default/jobs": {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": meta(),
        "spec": {"template": {"metadata": {"labels": LABELS}, "spec": {**POD_SPEC, "restartPolicy": "Never"}}},
    },
    "/apis/apps/v1/namespaces/default/deployments": {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": meta(),
        "spec": {"selector": {"matchLabels": LABELS}, "template": TEMPLATE},
    },
    "/api/v1/namespaces/default/persistentvolumeclaims": {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": meta(),
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    },
}


@pytest.mark.parametrize("path", MANIFESTS)
def test_a_manifest_makes_the_same_object_again(server: Handle, path: str) -> None:
    stored = server.request("POST", path, MANIFESTS[path])
    manifest = export(stored)
    renamed = copy.deepcopy(manifest)
    renamed["metadata"]["name"] = "again"
    again = server.request("POST", path, renamed)
    assert {**export(again), "metadata": manifest["metadata"]} == manifest
    assert set(manifest["metadata"]) <= {"name", "namespace", "labels", "annotations", "finalizers"}
    assert "status" not in manifest


def test_what_the_server_and_its_clients_noted_is_left_out() -> None:
    obj = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": "a",
            "generateName": "a-",
            "namespace": "n",
            "uid": "u",
            "resourceVersion": "5",
            "generation": 3,
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "managedFields": [{}],
            "selfLink": "/x",
            "deletionTimestamp": "2026-01-01T00:00:00Z",
            "ownerReferences": [{"uid": "o"}],
            "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"},
            "finalizers": ["foregroundDeletion"],
        },
        "data": {"k": "v"},
    }
    before = copy.deepcopy(obj)
    manifest = export(obj)
    assert manifest == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "a", "namespace": "n"},
        "data": {"k": "v"},
    }
    manifest["data"]["k"] = "changed"
    assert obj == before


def exported(kind: str, api_version: str = "v1", **fields: Any) -> Any:
    return export({"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}, **fields})


def test_a_headless_service_stays_headless() -> None:
    spec = {"clusterIP": "None", "clusterIPs": ["None"], "ipFamilies": ["IPv6"], "ipFamilyPolicy": "SingleStack"}
    assert exported("Service", spec=spec)["spec"] == spec


def test_a_pod_has_no_place_yet() -> None:
    token = {"name": "kube-api-access-x1y2z", "projected": {}}
    mount = {"name": "kube-api-access-x1y2z", "mountPath": "/var/run/secrets"}
    own = {"name": "data", "emptyDir": {}}
    spec = {
        "nodeName": "n",
        "priority": 5,
        "ephemeralContainers": [{"name": "debug"}],
        "volumes": [own, token],
        "containers": [{"name": "c", "volumeMounts": [mount]}],
    }
    assert exported("Pod", spec=spec)["spec"] == {"volumes": [own], "containers": [{"name": "c"}]}


def test_a_pod_has_what_its_classes_will_say_then() -> None:
    spec = {"priority": 5, "preemptionPolicy": "Never", "overhead": {"cpu": "1"}, "priorityClassName": "p"}
    assert exported("Pod", spec=spec)["spec"] == {"overhead": {"cpu": "1"}, "priorityClassName": "p"}
    classes = {"runtimeClassName": "r", "priorityClassName": "p"}
    assert exported("Pod", spec={**spec, **classes})["spec"] == classes


def test_bindings_of_controllers_are_forgotten_and_those_of_people_kept() -> None:
    bound = {"name": "a", "annotations": {"pv.kubernetes.io/bound-by-controller": "yes"}}
    claim = {"name": "c", "namespace": "n", "uid": "u", "resourceVersion": "1"}
    volume: Any = functools.partial(dict, apiVersion="v1", kind="PersistentVolume")
    assert "claimRef" not in export(volume(metadata=bound, spec={"claimRef": claim}))["spec"]
    assert export(volume(metadata={"name": "a"}, spec={"claimRef": claim}))["spec"] == {
        "claimRef": {"name": "c", "namespace": "n"}
    }
    of_claim: Any = functools.partial(dict, apiVersion="v1", kind="PersistentVolumeClaim", spec={"volumeName": "v"})
    assert export(of_claim(metadata=bound))["spec"] == {}
    assert export(of_claim(metadata={"name": "a"}))["spec"] == {"volumeName": "v"}


def test_tokens_stay_where_they_are_good() -> None:
    secret = export(
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {
                "name": "a",
                "annotations": {"kubernetes.io/service-account.name": "s", "kubernetes.io/service-account.uid": "u"},
            },
            "type": "kubernetes.io/service-account-token",
            "data": {"token": base64.b64encode(b"t").decode(), "extra": ""},
        }
    )
    assert secret["data"] == {"extra": ""}
    assert secret["metadata"]["annotations"] == {"kubernetes.io/service-account.name": "s"}
    account = exported("ServiceAccount", secrets=[{"name": "a-token-12345"}, {"name": "mine"}])
    assert account["secrets"] == [{"name": "mine"}]
    assert "secrets" not in exported("ServiceAccount", secrets=[{"name": "a-token-12345"}])


def test_a_job_with_a_selector_of_its_own_keeps_it() -> None:
    spec = {"manualSelector": True, "selector": {"matchLabels": LABELS}, "template": TEMPLATE}
    assert exported("Job", "batch/v1", spec=spec)["spec"] == spec


def test_nodes_and_requests_forget_what_this_cluster_said() -> None:
    assert "spec" not in exported("Node", spec={"podCIDR": "10.1.0.0/24", "podCIDRs": ["10.1.0.0/24"]})
    spec = {"request": "x", "signerName": "example.com/s", "username": "me", "groups": ["g"]}
    csr = exported("CertificateSigningRequest", "certificates.k8s.io/v1", spec=spec)
    assert csr["spec"] == {"request": "x", "signerName": "example.com/s"}


@pytest.mark.parametrize(
    ("obj", "wanted"),
    [
        ({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "mine"}}, True),
        ({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kube-root-ca.crt"}}, False),
        ({"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"}}, False),
        ({"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "e"}}, False),
        ({"apiVersion": "example.io/v1", "kind": "Event", "metadata": {"name": "e"}}, True),
        ({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "kubernetes", "namespace": "default"}}, False),
        ({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "kubernetes", "namespace": "mine"}}, True),
        ({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kube-system"}}, False),
        ({"apiVersion": "v1", "kind": "Pod", "metadata": {"ownerReferences": [{"controller": True}]}}, False),
        ({"apiVersion": "v1", "kind": "Pod", "metadata": {"ownerReferences": [{"uid": "o"}]}}, True),
        ({"apiVersion": "v1", "kind": "Pod", "metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}, False),
        (
            {
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "ClusterRole",
                "metadata": {"labels": {"kubernetes.io/bootstrapping": "rbac-defaults"}},
            },
            False,
        ),
        (
            {
                "apiVersion": "discovery.k8s.io/v1",
                "kind": "EndpointSlice",
                "metadata": {"labels": {"endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io"}},
            },
            False,
        ),
        (
            {
                "apiVersion": "networking.k8s.io/v1",
                "kind": "IPAddress",
                "metadata": {"labels": {"ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io"}},
            },
            False,
        ),
    ],
)
def test_only_what_another_server_lacks_is_exported(obj: Any, wanted: bool) -> None:
    assert is_exportable(obj) is wanted
