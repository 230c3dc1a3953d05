"""Annotations in which init containers were once, which Pods and templates do not keep."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from watchkeeper.testing import Server
from watchkeeper.testing.handle import Handle

OLD = {
    "pod.alpha.kubernetes.io/init-containers": "[]",
    "pod.beta.kubernetes.io/init-containers": "[]",
    "pod.alpha.kubernetes.io/init-container-statuses": "[]",
    "pod.beta.kubernetes.io/init-container-statuses": "[]",
}
POD_SPEC = {"containers": [{"name": "c", "image": "i:1"}]}
PODS = "/api/v1/namespaces/default/pods"


@pytest.fixture(scope="module")
def server() -> Iterator[Handle]:
    with Server(insecure_http=True, controllers=()) as running:
        yield running


def ask(server: Handle, method: str, path: str, body: Any, content_type: str = "application/json") -> Any:
    headers = {"Authorization": f"Bearer {server.token}", "Content-Type": content_type}
    answer = httpx.request(method, server.url + path, content=json.dumps(body), headers=headers)
    assert answer.status_code in (200, 201), answer.text
    return answer.json()


@pytest.mark.parametrize(("others", "kept"), [({"k": "v"}, {"k": "v"}), ({}, None)])
def test_a_pod_does_not_keep_them(server: Handle, others: dict[str, str], kept: dict[str, str] | None) -> None:
    name = "with" if others else "without"
    body = {"metadata": {"name": name, "annotations": OLD | others}, "spec": POD_SPEC}
    created = ask(server, "POST", PODS, body)
    assert created["metadata"].get("annotations") == kept
    owned = created["metadata"]["managedFields"][0]["fieldsV1"].get("f:metadata", {})
    assert owned == ({"f:annotations": {".": {}, "f:k": {}}} if others else {})
    for media_type in ("merge-patch", "strategic-merge-patch"):
        patch = {"metadata": {"annotations": OLD}}
        patched = ask(server, "PATCH", f"{PODS}/{name}", patch, f"application/{media_type}+json")
        assert patched["metadata"].get("annotations") == kept
        assert patched["metadata"]["resourceVersion"] == created["metadata"]["resourceVersion"]
    applied = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "annotations": OLD}}
    path = f"{PODS}/{name}?fieldManager=m"
    assert ask(server, "PATCH", path, applied, "application/apply-patch+yaml")["metadata"].get("annotations") == kept


def test_a_template_does_not_keep_them_but_what_it_is_part_of_does(server: Handle) -> None:
    template = {"metadata": {"labels": {"a": "b"}, "annotations": OLD}, "spec": POD_SPEC}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    body = {"metadata": {"name": "d", "annotations": OLD}, "spec": spec}
    created = ask(server, "POST", "/apis/apps/v1/namespaces/default/deployments", body)
    assert created["metadata"]["annotations"] == OLD
    assert created["spec"]["template"]["metadata"] == {"labels": {"a": "b"}}
    body = {"metadata": {"name": "t"}, "template": template}
    created = ask(server, "POST", "/api/v1/namespaces/default/podtemplates", body)
    assert created["template"]["metadata"] == {"labels": {"a": "b"}}
