"""The record of field owners on its way through the handlers: admission may spoil it, and it may be too much."""

from __future__ import annotations

import asyncio
import time
from types import SimpleNamespace
from typing import Any

import pytest

from watchkeeper.admission.interface import Attributes, BasePlugin, Chain, Operation
from watchkeeper.endpoints.handlers.write import Admission
from watchkeeper.endpoints.params import WriteParams
from watchkeeper.meta.gvk import GroupVersionKind, GroupVersionResource
from watchkeeper.request.user import User
from watchkeeper.testing import Server
from watchkeeper.testing.handle import RequestFailed

ENTRY = {
    "manager": "one",
    "operation": "Update",
    "apiVersion": "v1",
    "fieldsType": "FieldsV1",
    "fieldsV1": {"f:data": {}},
}


class Spoiler(BasePlugin):
    """Makes the record something else."""

    def __init__(self, record: Any) -> None:
        self.record = record

    def admit(self, attributes: Attributes) -> None:
        assert attributes.obj is not None
        attributes.obj["metadata"]["managedFields"] = self.record


def admitted(record: Any) -> tuple[Any, list[str]]:
    warnings: list[str] = []
    gvk, gvr = GroupVersionKind("", "v1", "ConfigMap"), GroupVersionResource("", "v1", "configmaps")
    request: Any = SimpleNamespace(
        info=SimpleNamespace(namespace="default", name="a", verb="update"),
        user=User("me"),
        warn=warnings.append,
        annotate=None,
        started=0.0,
        query="",
    )
    scope: Any = SimpleNamespace(
        services=SimpleNamespace(admission=Chain([Spoiler(record)])),
        info=SimpleNamespace(gvr=gvr),
        subresource="",
        hub=gvk,
        kind=SimpleNamespace(gvk=gvk),
        parent_kind=None,
        versions=None,
    )
    params = WriteParams(dry_run=False, field_manager="", field_validation="Warn", force=None)
    obj = {"metadata": {"name": "a", "managedFields": [ENTRY]}}
    outcome = asyncio.run(Admission(request, scope, params).mutate(Operation.CREATE, obj, None))
    return outcome["metadata"]["managedFields"], warnings


def test_a_record_that_admission_has_spoilt_is_put_back_with_a_warning() -> None:
    record, warnings = admitted([{**ENTRY, "operation": "Replace"}])
    assert record == [ENTRY]
    assert warnings == [
        ".metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating "
        "admission controller; please fix your requests: operation must be `Apply` or `Update`"
    ]


def test_a_record_that_admission_has_changed_counts() -> None:
    other = {**ENTRY, "manager": "two"}
    assert admitted([other]) == ([other], [])


def test_what_is_too_large_only_with_its_record_is_stored_without_it() -> None:
    numbers = {f"key{i:05}": i for i in range(60_000)}
    path = "/apis/example.io/v1/namespaces/default/things"
    with Server(insecure_http=True) as server:
        schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        definition = {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "things.example.io"},
            "spec": {
                "group": "example.io",
                "names": {"kind": "Thing", "plural": "things"},
                "scope": "Namespaced",
                "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
            },
        }
        server.request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
        thing = {"apiVersion": "example.io/v1", "kind": "Thing", "metadata": {"name": "a"}, "spec": {"x": 1}}
        small = created(server, path, thing)
        assert small["metadata"]["managedFields"]
        large = server.request("PUT", f"{path}/a", {**small, "spec": numbers})
        assert large["spec"] == numbers
        assert "managedFields" not in large["metadata"]
        for size, words in (
            (1_600_000, '"message":"etcdserver: request is too large","code":500'),
            (
                2_200_000,
                '"message":"rpc error: code = ResourceExhausted desc = trying to send message larger than max (',
            ),
        ):
            beyond = {"x": "y" * size}
            for method, name, body in (("PUT", "/a", large), ("POST", "", {**thing, "metadata": {"name": "b"}})):
                with pytest.raises(RequestFailed) as refused:
                    server.request(method, path + name, {**body, "spec": beyond})
                assert refused.value.status == 500
                assert words in str(refused.value)


def created(server: Server, path: str, body: Any) -> Any:
    """Create an object of a kind that is about to be served."""
    for _ in range(100):
        try:
            return server.request("POST", path, body)
        except RequestFailed:
            time.sleep(0.05)
    raise AssertionError("waited in vain")
