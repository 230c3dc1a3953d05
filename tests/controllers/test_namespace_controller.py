"""What a namespace that ends tells of itself, and who is recorded to have told it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.waiting import eventually

from watchkeeper.controllers.namespace import Remaining, with_conditions
from watchkeeper.testing import Handle, Server
from watchkeeper.testing.handle import RequestFailed

Object = dict[str, Any]
MERGE = "application/merge-patch+json"
FAILURE, LEFT, HELD = "NamespaceDeletionContentFailure", "NamespaceContentRemaining", "NamespaceFinalizersRemaining"


@pytest.fixture(scope="module")
def server() -> Iterator[Handle]:
    with Server(insecure_http=True, controllers=("namespace", "garbage-collector")) as handle:
        yield handle


def terminating(server: Handle, name: str, *, finalizers: list[str], grace: int) -> Object:
    """A namespace that is to go and has a Pod on a node, once its conditions are there."""
    server.request("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    spec = {"nodeName": "n", "terminationGracePeriodSeconds": grace, "containers": [{"name": "c", "image": "i"}]}
    pod = {"metadata": {"name": "p", "finalizers": finalizers}, "spec": spec}
    server.request("POST", f"/api/v1/namespaces/{name}/pods", pod)
    server.request("POST", f"/api/v1/namespaces/{name}/configmaps", {"metadata": {"name": "after-the-pods"}})
    server.request("DELETE", f"/api/v1/namespaces/{name}")

    def told() -> bool:
        return bool(server.request("GET", f"/api/v1/namespaces/{name}")["status"].get("conditions"))

    assert eventually(told)
    return server.request("GET", f"/api/v1/namespaces/{name}")


def told_by(namespace: Object) -> dict[str, str]:
    return {c["type"]: c["status"] for c in namespace["status"]["conditions"]}


def test_while_pods_are_left_nothing_is_counted_and_nothing_else_is_deleted(server: Handle) -> None:
    namespace = terminating(server, "held", finalizers=["example.com/hold"], grace=30)
    assert set(told_by(namespace).values()) == {"False"}
    assert server.request("GET", "/api/v1/namespaces/held/configmaps/after-the-pods")["metadata"]["name"]


def test_pods_that_have_had_their_time_are_a_failure(server: Handle) -> None:
    server.request("POST", "/api/v1/namespaces", {"metadata": {"name": "late"}})
    spec = {"nodeName": "n", "terminationGracePeriodSeconds": 1, "containers": [{"name": "c", "image": "i"}]}
    server.request("POST", "/api/v1/namespaces/late/pods", {"metadata": {"name": "p"}, "spec": spec})
    server.request("DELETE", "/api/v1/namespaces/late")

    def failed() -> bool:
        namespace = server.request("GET", "/api/v1/namespaces/late")
        return any(c["type"] == FAILURE and c["status"] == "True" for c in namespace["status"].get("conditions", ()))

    assert eventually(failed)
    namespace = server.request("GET", "/api/v1/namespaces/late")
    message = next(c["message"] for c in namespace["status"]["conditions"] if c["type"] == FAILURE)
    assert message == (
        "Failed to delete all resource types, 1 remaining: "
        "unexpected items still remain in namespace: late for gvr: /v1, Resource=pods"
    )
    assert told_by(namespace)[LEFT] == "False"


def test_the_conditions_belong_to_the_controller(server: Handle) -> None:
    namespace = terminating(server, "owned", finalizers=["example.com/hold"], grace=0)
    entries = [e for e in namespace["metadata"]["managedFields"] if e["manager"] == "kube-controller-manager"]
    assert [(e["operation"], e["subresource"]) for e in entries] == [("Update", "status")]
    assert 'k:{"type":"NamespaceContentRemaining"}' in entries[0]["fieldsV1"]["f:status"]["f:conditions"]


def test_what_the_collector_takes_away_belongs_to_nobody_any_more(server: Handle) -> None:
    owner = server.request("POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "owner"}})
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
    metadata = {"name": "dependent", "ownerReferences": [reference], "labels": {"l": "1"}}
    server.request("POST", "/api/v1/namespaces/default/configmaps", {"metadata": metadata})
    server.request("DELETE", "/api/v1/namespaces/default/configmaps/owner", {"propagationPolicy": "Orphan"})
    path = "/api/v1/namespaces/default/configmaps/dependent"
    assert eventually(lambda: "ownerReferences" not in server.request("GET", path)["metadata"])
    entries = server.request("GET", path)["metadata"]["managedFields"]
    assert [e["fieldsV1"] for e in entries] == [{"f:metadata": {"f:labels": {".": {}, "f:l": {}}}}]


def test_a_namespace_that_is_not_to_orphan_deletes_its_dependents_first(server: Handle) -> None:
    metadata = {"name": "not-orphaning", "finalizers": ["example.com/hold"]}
    server.request("POST", "/api/v1/namespaces", {"metadata": metadata})
    options = {"orphanDependents": False}
    answer = server.request("DELETE", "/api/v1/namespaces/not-orphaning", options)
    assert answer["metadata"]["finalizers"] == ["example.com/hold", "foregroundDeletion"]


def test_what_is_served_at_an_older_version_alone_goes_with_its_namespace() -> None:
    old = ("autoscaling/v2=false",)
    with Server(insecure_http=True, controllers=("namespace",), runtime_config=old) as server:
        server.request("POST", "/api/v1/namespaces", {"metadata": {"name": "old"}})
        target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
        scaler = {"metadata": {"name": "a"}, "spec": {"maxReplicas": 1, "scaleTargetRef": target}}
        server.request("POST", "/apis/autoscaling/v1/namespaces/old/horizontalpodautoscalers", scaler)
        server.request("DELETE", "/api/v1/namespaces/old")

        def is_gone() -> bool:
            try:
                server.request("GET", "/api/v1/namespaces/old")
            except RequestFailed as error:
                return error.status == 404
            return False

        assert eventually(is_gone)


def test_conditions_of_others_stay_in_their_places() -> None:
    foreign = {"type": "Example", "status": "True"}
    old = {"type": LEFT, "status": "False", "lastTransitionTime": "2020-01-01T00:00:00Z", "reason": "r", "message": "m"}
    remaining = Remaining()
    remaining.resources["configmaps."] = 1
    changed = with_conditions([foreign, old], remaining)
    assert changed[0] == foreign
    assert changed[1]["message"] == "Some resources are remaining: configmaps. has 1 resource instances"
    assert changed[1]["lastTransitionTime"] != old["lastTransitionTime"]
    assert len(changed) == 6


def test_a_condition_that_keeps_its_status_keeps_its_time() -> None:
    old = {"type": HELD, "status": "True", "lastTransitionTime": "2020-01-01T00:00:00Z", "reason": "r", "message": "m"}
    remaining = Remaining()
    remaining.finalizers["example.com/a"] = 2
    changed = with_conditions([old], remaining)[0]
    assert changed["message"].endswith("example.com/a in 2 resource instances")
    assert changed["lastTransitionTime"] == "2020-01-01T00:00:00Z"


def test_failures_are_told_in_order() -> None:
    failed = {c["type"]: c["message"] for c in with_conditions([], Remaining(failures=["z", "a"]))}[FAILURE]
    assert failed == "Failed to delete all resource types, 2 remaining: a, z"


def test_a_namespace_is_emptied_without_the_finalizer_of_kubernetes_as_long_as_it_has_another(server: Handle) -> None:
    path = "/api/v1/namespaces/handed-over"
    server.request("POST", "/api/v1/namespaces", {"metadata": {"name": "handed-over"}})
    server.request("POST", f"{path}/configmaps", {"metadata": {"name": "inside"}})
    held = {"metadata": {"name": "handed-over"}, "spec": {"finalizers": ["example.com/hold"]}}
    server.request("PUT", f"{path}/finalize", held)
    server.request("DELETE", path)
    assert eventually(lambda: not server.request("GET", f"{path}/configmaps")["items"])
    assert eventually(lambda: bool(server.request("GET", path)["status"].get("conditions")))
    assert server.request("GET", path)["spec"]["finalizers"] == ["example.com/hold"]


def test_the_finalizers_that_stay_are_sorted(server: Handle) -> None:
    spec = {"finalizers": ["z.example.com/hold", "kubernetes", "a.example.com/hold"]}
    server.request("POST", "/api/v1/namespaces", {"metadata": {"name": "held-twice"}, "spec": spec})
    server.request("DELETE", "/api/v1/namespaces/held-twice")

    def finalizers() -> list[str]:
        found: list[str] = server.request("GET", "/api/v1/namespaces/held-twice")["spec"]["finalizers"]
        return found

    assert eventually(lambda: "kubernetes" not in finalizers())
    assert finalizers() == ["a.example.com/hold", "z.example.com/hold"]


def message_of(namespace: Object, condition: str) -> str:
    return next((c["message"] for c in namespace["status"].get("conditions", ()) if c["type"] == condition), "")


def held_namespace(server: Handle, name: str, path: str, obj: Object) -> Object:
    """A namespace that is to go and has one object, with a finalizer, once its conditions are there."""
    server.request("POST", "/api/v1/namespaces", {"metadata": {"name": name, "finalizers": ["example.com/last"]}})
    assert eventually(lambda: created(server, path, obj))
    server.request("DELETE", f"/api/v1/namespaces/{name}")
    assert eventually(lambda: bool(message_of(server.request("GET", f"/api/v1/namespaces/{name}"), HELD)))
    return server.request("GET", f"/api/v1/namespaces/{name}")


def created(server: Handle, path: str, obj: Object) -> bool:
    try:
        server.request("POST", path, obj)
    except RequestFailed as error:
        assert error.status == 404
        return False
    return True


def test_events_are_counted_for_both_groups_that_serve_them(server: Handle) -> None:
    event = {"metadata": {"name": "e", "finalizers": ["example.com/a"]}, "involvedObject": {"namespace": "telling"}}
    namespace = held_namespace(server, "telling", "/api/v1/namespaces/telling/events", event)
    assert message_of(namespace, LEFT) == (
        "Some resources are remaining: events. has 1 resource instances, events.events.k8s.io has 1 resource instances"
    )
    assert message_of(namespace, HELD).endswith("remaining: example.com/a in 2 resource instances")


def test_a_custom_resource_is_counted_once_however_many_versions_it_has(server: Handle) -> None:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    versions = [{"name": v, "served": True, "storage": v == "v1", "schema": schema} for v in ("v1", "v2")]
    names = {"plural": "odds", "kind": "Odd"}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": versions}
    crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    server.request("POST", crds, {"metadata": {"name": "odds.example.com"}, "spec": spec})
    odd = {
        "apiVersion": "example.com/v1",
        "kind": "Odd",
        "metadata": {"name": "o", "finalizers": ["example.com/a"]},
    }
    namespace = held_namespace(server, "odd", "/apis/example.com/v1/namespaces/odd/odds", odd)
    assert message_of(namespace, LEFT).endswith("remaining: odds.example.com has 1 resource instances")
    assert message_of(namespace, HELD).endswith("remaining: example.com/a in 1 resource instances")


def test_a_namespace_that_is_let_go_owns_no_finalizers(server: Handle) -> None:
    metadata = {"name": "kept-by-metadata", "finalizers": ["example.com/last"]}
    server.request("POST", "/api/v1/namespaces", {"metadata": metadata})
    server.request("DELETE", "/api/v1/namespaces/kept-by-metadata")
    path = "/api/v1/namespaces/kept-by-metadata"
    assert eventually(lambda: server.request("GET", path)["spec"] == {})
    entries = server.request("GET", path)["metadata"]["managedFields"]
    assert "finalize" not in [e.get("subresource") for e in entries]
