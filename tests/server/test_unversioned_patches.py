"""Patches that take the version from an object."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from watchkeeper.testing import Handle, Server
from watchkeeper.testing.handle import RequestFailed

PATH = "/api/v1/namespaces/default/configmaps"
JSON_PATCH = {"Content-Type": "application/json-patch+json"}


@pytest.fixture(scope="module")
def server() -> Iterator[Handle]:
    with Server(insecure_http=True, controllers=()) as handle:
        handle.request("POST", PATH, {"metadata": {"name": "a"}, "data": {"k": "1"}})
        yield handle


@pytest.mark.parametrize("patch", [{"apiVersion": None}, {"apiVersion": "", "kind": None}])
def test_an_object_without_a_version_has_no_name(server: Handle, patch: object) -> None:
    with pytest.raises(RequestFailed, match="name must be provided") as refused:
        server.request("PATCH", f"{PATH}/a", patch)
    assert refused.value.status == 400
    with pytest.raises(RequestFailed, match=r"unknown field .*data.*, unknown field .*metadata") as refused:
        server.request("PATCH", f"{PATH}/a?fieldValidation=Strict", patch)
    assert refused.value.status == 422


def test_the_kind_may_be_left_out(server: Handle) -> None:
    patched = server.request("PATCH", f"{PATH}/a", {"kind": None, "data": {"k": "2"}})
    assert (patched["kind"], patched["data"]) == ("ConfigMap", {"k": "2"})
    removed = [{"op": "remove", "path": "/kind"}, {"op": "remove", "path": "/apiVersion"}]
    with pytest.raises(RequestFailed, match="name must be provided"):
        server.request("PATCH", f"{PATH}/a", removed, headers=JSON_PATCH)


@pytest.mark.parametrize(("value", "told"), [([], "array"), ({}, "object"), (False, "bool"), (0, "number")])
def test_a_version_that_is_no_text_is_told(server: Handle, value: object, told: str) -> None:
    patch = [{"op": "add", "path": "/apiVersion", "value": value}]
    with pytest.raises(RequestFailed) as refused:
        server.request("PATCH", f"{PATH}/a?fieldValidation=Strict", patch, headers=JSON_PATCH)
    assert refused.value.status == 422
    why = f"json: cannot unmarshal {told} into Go struct field .apiVersion of type string"
    assert refused.value.answer["message"].endswith(f"couldn't get version/kind; json parse error: {why}")
