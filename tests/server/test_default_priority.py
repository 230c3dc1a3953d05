"""The priority class that is the default of all pods."""

from __future__ import annotations

from typing import Any

import pytest

from watchkeeper.testing import Server
from watchkeeper.testing.handle import RequestFailed

PODS = "/api/v1/namespaces/default/pods"
CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"


def pod(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


def test_a_pod_without_a_class_is_of_the_default_one() -> None:
    with Server(storage="memory:") as server:
        before = server.request("POST", PODS, pod("before"))
        server.request("POST", CLASSES, {"metadata": {"name": "usual"}, "value": 7, "globalDefault": True})
        after = server.request("POST", PODS, pod("after"))
    assert (before["spec"]["priority"], before["spec"].get("priorityClassName")) == (0, None)
    assert (after["spec"]["priority"], after["spec"]["priorityClassName"]) == (7, "usual")


def test_there_is_one_default_class_at_most() -> None:
    first = {"metadata": {"name": "first"}, "value": 7, "globalDefault": True}
    with Server(storage="memory:") as server:
        server.request("POST", CLASSES, first)
        with pytest.raises(RequestFailed) as created:
            server.request("POST", CLASSES, {**first, "metadata": {"name": "second"}})
        server.request("POST", CLASSES, {"metadata": {"name": "second"}, "value": 8})
        with pytest.raises(RequestFailed) as changed:
            server.request(
                "PUT", CLASSES + "/second", {"metadata": {"name": "second"}, "value": 8, "globalDefault": True}
            )
        again = server.request("PUT", CLASSES + "/first", {**first, "description": "usual"})
    why = "PriorityClass first is already marked as default. Only one default can exist"
    for refusal in (created.value, changed.value):
        assert refusal.status == 403
        assert f'priorityclasses.scheduling.k8s.io \\"second\\" is forbidden: {why}' in str(refusal)
    assert again["description"] == "usual"


def test_a_pod_of_an_unknown_class_is_named_by_what_its_name_is_made_of() -> None:
    unknown = {"metadata": {"generateName": "web-"}, "spec": {**pod("p")["spec"], "priorityClassName": "none"}}
    with Server(storage="memory:") as server, pytest.raises(RequestFailed) as refused:
        server.request("POST", PODS, unknown)
    assert 'pods \\"web-\\" is forbidden: no PriorityClass with name none was found' in str(refused.value)


@pytest.mark.parametrize("name", ["../x", ".."])
def test_a_class_whose_name_is_a_path_is_not_found(name: str) -> None:
    body = pod("p")
    body["spec"]["priorityClassName"] = name
    with Server(storage="memory:") as server, pytest.raises(RequestFailed) as refused:
        server.request("POST", PODS, body)
    assert f"no PriorityClass with name {name} was found" in str(refused.value)
