"""What lists of built-in kinds can be selected by."""

from __future__ import annotations

import pytest

from watchkeeper.testing import Server
from watchkeeper.testing.handle import RequestFailed

PODS = "/api/v1/namespaces/default/pods"
SLICES = "/apis/resource.k8s.io/v1/resourceslices"


def test_what_has_no_namespace_is_not_selected_by_one_where_a_kind_says_what_it_is_selected_by() -> None:
    with Server(storage="memory:") as server:
        for path, words in (
            ("/api/v1/nodes", "field label not supported: metadata.namespace"),
            ("/api/v1/namespaces", "field label not supported: metadata.namespace"),
            (SLICES, "field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: metadata.namespace"),
        ):
            with pytest.raises(RequestFailed, match=words) as refused:
                server.request("GET", f"{path}?fieldSelector=metadata.namespace=x")
            assert refused.value.status == 400
        others = server.request("GET", "/apis/storage.k8s.io/v1/storageclasses?fieldSelector=metadata.namespace=x")
        pods = server.request("GET", f"{PODS}?fieldSelector=metadata.namespace=default")
    assert others["items"] == pods["items"] == []


def test_pods_are_selected_by_node_under_the_old_name_too() -> None:
    spec = {"containers": [{"name": "c", "image": "i"}]}
    with Server(storage="memory:") as server:
        for node in ("a", "b"):
            server.request("POST", PODS, {"metadata": {"name": node}, "spec": {**spec, "nodeName": node}})
        found = server.request("GET", f"{PODS}?fieldSelector=spec.host=b")
    assert [pod["metadata"]["name"] for pod in found["items"]] == ["b"]


def test_an_unknown_field_is_shown_quoted() -> None:
    with Server(storage="memory:") as server, pytest.raises(RequestFailed, match="not a known") as refused:
        server.request("GET", r"/api/v1/configmaps?fieldSelector=metadata\.name%3Dx")
    assert refused.value.answer["message"].startswith(r'"metadata\\.name" is not a known field selector')
