"""How often kinds judge the metadata of an updated object: bad metadata makes as many causes, as clients count them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from watchkeeper.testing import Handle, Server
from watchkeeper.testing.handle import RequestFailed

Object = dict[str, Any]
BASE = "/namespaces/default"
RULES = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]
KINDS: dict[str, tuple[str, Object]] = {
    "configmap": (f"/api/v1{BASE}/configmaps", {}),
    "limitrange": (f"/api/v1{BASE}/limitranges", {"spec": {"limits": []}}),
    "event": (f"/api/v1{BASE}/events", {"involvedObject": {"namespace": "default"}}),
    "lease": (f"/apis/coordination.k8s.io/v1{BASE}/leases", {"spec": {}}),
    "role": (f"/apis/rbac.authorization.k8s.io/v1{BASE}/roles", {"rules": RULES}),
    "endpointslice": (f"/apis/discovery.k8s.io/v1{BASE}/endpointslices", {"addressType": "IPv4", "endpoints": []}),
    "csinode": ("/apis/storage.k8s.io/v1/csinodes", {"spec": {"drivers": []}}),
    "runtimeclass": ("/apis/node.k8s.io/v1/runtimeclasses", {"handler": "h"}),
    "webhooks": ("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", {"webhooks": []}),
}


@pytest.fixture(scope="module")
def server() -> Iterator[Handle]:
    with Server(insecure_http=True, controllers=()) as handle:
        yield handle


def causes(server: Handle, path: str, obj: Object, **metadata: Any) -> int:
    """How many causes there are against an update with this metadata; 0: it is taken."""
    changed = obj | {"metadata": obj["metadata"] | metadata}
    try:
        server.request("PUT", f"{path}/{obj['metadata']['name']}?dryRun=All", changed)
    except RequestFailed as error:
        assert error.status == 422
        return len(error.answer["details"]["causes"])
    return 0


@pytest.mark.parametrize(
    ("kind", "label", "finalizer", "plain_finalizer", "prefix"),
    [
        ("configmap", 4, 2, 2, 1),
        ("limitrange", 3, 2, 1, 1),
        ("event", 2, 1, 0, 0),
        ("lease", 3, 1, 0, 0),
        ("role", 4, 2, 2, 0),
        ("endpointslice", 3, 2, 1, 1),
        ("csinode", 3, 2, 1, 1),
        ("runtimeclass", 4, 2, 0, 1),
        ("webhooks", 3, 2, 0, 1),
    ],
)
def test_bad_metadata_of_an_update_is_told_once_for_each_judge(
    server: Handle, kind: str, label: int, finalizer: int, plain_finalizer: int, prefix: int
) -> None:
    path, body = KINDS[kind]
    obj = server.request("POST", path, {"metadata": {"name": "judged"}, **body})
    assert causes(server, path, obj, labels={"a b": "c"}) == label
    assert causes(server, path, obj, finalizers=["X/y"]) == finalizer
    assert causes(server, path, obj, finalizers=["orphan", "foregroundDeletion"]) == finalizer
    assert causes(server, path, obj, finalizers=["plain"]) == plain_finalizer
    assert causes(server, path, obj, generateName="X_") == prefix


POD = {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}
CRON_JOB = {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": {"spec": POD}}}}


@pytest.mark.parametrize(
    ("kind", "spec", "expected"), [("cronjobs", CRON_JOB, 2), ("jobs", {"template": {"spec": POD}}, 3)]
)
def test_bad_metadata_beside_a_status_is_told_once_for_each_judge(
    server: Handle, kind: str, spec: Object, expected: int
) -> None:
    path = f"/apis/batch/v1{BASE}/{kind}"
    obj = server.request("POST", path, {"metadata": {"name": "judged"}, "spec": spec})
    with pytest.raises(RequestFailed) as refusal:
        server.request("PUT", f"{path}/judged/status", obj | {"metadata": obj["metadata"] | {"labels": {"a b": "c"}}})
    assert len(refusal.value.answer["details"]["causes"]) == expected


def test_a_scale_has_the_finalizers_of_built_in_kinds(server: Handle) -> None:
    path = f"/apis/apps/v1{BASE}/deployments"
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": POD["containers"]}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    server.request("POST", path, {"metadata": {"name": "scaled"}, "spec": spec})
    scale = {"metadata": {"name": "scaled", "namespace": "default", "finalizers": ["plain"]}, "spec": {"replicas": 2}}
    with pytest.raises(RequestFailed, match="name is neither a standard finalizer name nor is it fully qualified"):
        server.request("PUT", f"{path}/scaled/scale", scale)


def test_a_status_without_labels_leaves_those_of_the_template(server: Handle) -> None:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": POD["containers"]}}
    job_template = {"metadata": {"labels": {"a": "b"}}, "spec": POD}
    for path, spec in (
        (f"/api/v1{BASE}/replicationcontrollers", {"template": template}),
        (f"/apis/batch/v1{BASE}/jobs", {"template": job_template}),
    ):
        obj = server.request("POST", path, {"metadata": {"name": "labeled"}, "spec": spec})
        labels = obj["spec"]["template"]["metadata"]["labels"]
        assert obj["metadata"]["labels"] == labels
        bare = obj | {"metadata": obj["metadata"] | {"labels": {}}}
        bare["spec"] = obj["spec"] | {"template": {"spec": obj["spec"]["template"]["spec"]}}
        written = server.request("PUT", f"{path}/labeled/status", bare)
        assert written["metadata"]["labels"] == labels
