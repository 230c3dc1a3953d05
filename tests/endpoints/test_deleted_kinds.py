"""What a DELETE answers, kind by kind, and which objects a PUT may create."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from watchkeeper.testing import Server
from watchkeeper.testing.handle import Handle

STORAGE = "/apis/storage.k8s.io/v1"
DEVICES = "/apis/resource.k8s.io/v1"
CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
RUNTIMES = "/apis/node.k8s.io/v1/runtimeclasses"


@pytest.fixture(scope="module")
def server() -> Iterator[Handle]:
    with Server(insecure_http=True) as running:
        yield running


def ask(server: Handle, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    """The code and the body of an answer."""
    answer = httpx.request(method, server.url + path, headers={"Authorization": f"Bearer {server.token}"}, json=body)
    return answer.status_code, answer.json()


@pytest.mark.parametrize(
    ("path", "kind", "fields"),
    [
        (f"{STORAGE}/storageclasses", "StorageClass", {"provisioner": "p"}),
        (f"{STORAGE}/csidrivers", "CSIDriver", {"spec": {}}),
        (f"{STORAGE}/csinodes", "CSINode", {"spec": {"drivers": []}}),
        (f"{STORAGE}/volumeattributesclasses", "VolumeAttributesClass", {"driverName": "d", "parameters": {"a": "b"}}),
        (f"{DEVICES}/deviceclasses", "DeviceClass", {"spec": {}}),
        (f"{DEVICES}/namespaces/default/resourceclaims", "ResourceClaim", {"spec": {}}),
        (f"{DEVICES}/namespaces/default/resourceclaimtemplates", "ResourceClaimTemplate", {"spec": {"spec": {}}}),
        (f"{STORAGE}/namespaces/default/csistoragecapacities", "Status", {"storageClassName": "s"}),
        (CLASSES, "Status", {"value": 1}),
    ],
)
def test_some_kinds_answer_a_delete_with_what_is_gone(server: Handle, path: str, kind: str, fields: Any) -> None:
    code, created = ask(server, "POST", path, {"metadata": {"name": "a"}, **fields})
    assert code == 201, created
    code, answer = ask(server, "DELETE", f"{path}/a")
    assert (code, answer["kind"]) == (200, kind)


def test_the_priority_classes_of_the_system_stay(server: Handle) -> None:
    code, answer = ask(server, "DELETE", f"{CLASSES}/system-node-critical")
    why = "this is a system priority class and cannot be deleted"
    assert (code, answer["reason"]) == (403, "Forbidden")
    assert answer["message"] == f'priorityclasses.scheduling.k8s.io "system-node-critical" is forbidden: {why}'
    assert ask(server, "GET", f"{CLASSES}/system-node-critical")[0] == 200


def test_a_put_creates_a_runtime_class(server: Handle) -> None:
    body = {"metadata": {"name": "r"}, "handler": "h"}
    assert ask(server, "PUT", f"{RUNTIMES}/r", body)[0] == 201
    code, answer = ask(server, "PUT", f"{RUNTIMES}/r", body)
    assert code == 422
    assert answer["details"]["causes"][0]["field"] == "metadata.resourceVersion"
