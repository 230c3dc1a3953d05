"""What the server writes by itself has owners, as kube-apiserver tells them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from watchkeeper.server.token_tracking import reconciled, tracking
from watchkeeper.testing import Handle, RequestFailed
from watchkeeper.testing import Server as InProcess

SERVER, PRODUCER = "kube-apiserver", "api-priority-and-fairness-config-producer-v1"
RBAC, FLOW = "/apis/rbac.authorization.k8s.io/v1", "/apis/flowcontrol.apiserver.k8s.io/v1"
APPLY = "application/apply-patch+yaml"


@pytest.fixture(scope="module")
def server() -> Iterator[Handle]:
    with InProcess(insecure_http=True) as handle:
        yield handle


def entries(server: Handle, path: str) -> list[tuple[str, str, str]]:
    found = server.request("GET", path)["metadata"]["managedFields"]
    return [(entry["manager"], entry["operation"], entry.get("subresource", "")) for entry in found]


def fields(server: Handle, path: str, manager: str = SERVER) -> Any:
    found = server.request("GET", path)["metadata"]["managedFields"]
    (mine,) = [entry["fieldsV1"] for entry in found if entry["manager"] == manager]
    return mine


def test_a_namespace_and_a_class_are_the_servers(server: Handle) -> None:
    labels = {"f:labels": {".": {}, "f:kubernetes.io/metadata.name": {}}}
    assert fields(server, "/api/v1/namespaces/default") == {"f:metadata": labels}
    about = {"f:description": {}, "f:preemptionPolicy": {}, "f:value": {}}
    assert fields(server, "/apis/scheduling.k8s.io/v1/priorityclasses/system-node-critical") == about


def test_the_own_service_has_no_owner_of_what_it_was_given(server: Handle) -> None:
    spec = fields(server, "/api/v1/namespaces/default/services/kubernetes")["f:spec"]
    assert list(spec) == [
        "f:clusterIP",
        "f:internalTrafficPolicy",
        "f:ipFamilyPolicy",
        "f:ports",
        "f:sessionAffinity",
        "f:type",
    ]


def test_a_role_is_the_servers_but_for_what_it_collects(server: Handle) -> None:
    assert list(fields(server, f"{RBAC}/clusterroles/cluster-admin")) == ["f:metadata", "f:rules"]
    assert list(fields(server, f"{RBAC}/clusterroles/admin")) == ["f:aggregationRule", "f:metadata"]
    assert fields(server, f"{RBAC}/clusterroles/admin", "clusterrole-aggregation-controller") == {"f:rules": {}}
    binding = fields(server, f"{RBAC}/clusterrolebindings/cluster-admin")
    assert (binding["f:roleRef"], binding["f:subjects"]) == ({}, {})


def test_parts_of_the_server_have_names_of_their_own(server: Handle) -> None:
    consumer = ("api-priority-and-fairness-config-consumer-v1", "Apply", "status")
    assert entries(server, f"{FLOW}/flowschemas/exempt") == [consumer, (PRODUCER, "Update", "")]
    assert entries(server, f"{FLOW}/prioritylevelconfigurations/exempt") == [(PRODUCER, "Update", "")]
    cidr = "/apis/networking.k8s.io/v1/servicecidrs/kubernetes"
    ready = ("kubernetes-service-cidr-controller", "Apply", "status")
    assert entries(server, cidr) == [ready, (SERVER, "Update", "")]
    (condition,) = server.request("GET", cidr)["status"]["conditions"]
    assert condition["reason"] == ""
    owned = fields(server, cidr, ready[0])["f:status"]["f:conditions"]['k:{"type":"Ready"}']
    assert list(owned) == [".", "f:lastTransitionTime", "f:message", "f:status", "f:type"]


def test_what_is_written_for_a_service_or_a_definition_is_the_servers(server: Handle) -> None:
    service = {"metadata": {"name": "own"}, "spec": {"ports": [{"port": 80}]}}
    address = server.request("POST", "/api/v1/namespaces/default/services", service)["spec"]["clusterIP"]
    parent = fields(server, f"/apis/networking.k8s.io/v1/ipaddresses/{address}")["f:spec"]["f:parentRef"]
    assert list(parent) == [".", "f:name", "f:namespace", "f:resource"]
    assert entries(server, "/apis/apiregistration.k8s.io/v1/apiservices/v1.apps") == [(SERVER, "Update", "")]


def test_who_applies_other_values_meets_the_server(server: Handle) -> None:
    wanted = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
    wanted |= {"metadata": {"name": "system-node-critical"}, "description": "mine"}
    path = "/apis/scheduling.k8s.io/v1/priorityclasses/system-node-critical"
    told = 'Apply failed with 1 conflict: conflict with "kube-apiserver" using scheduling.k8s.io/v1: .description'
    with pytest.raises(RequestFailed) as refused:
        server.request("PATCH", f"{path}?fieldManager=me", wanted, headers={"Content-Type": APPLY})
    assert refused.value.answer["message"] == told


@pytest.mark.parametrize("since", ["yesterday", "", "2024-1-5", "20240105", "2024-02-30", "2024-01-05T00:00:00Z"])
def test_the_day_since_when_tokens_are_tracked_is_a_day(since: str) -> None:
    today = tracking()
    assert reconciled(today, today) is None
    assert reconciled({**today, "data": {"since": since, "x": "y"}}, today) == {
        **today,
        "data": {**today["data"], "x": "y"},
    }
