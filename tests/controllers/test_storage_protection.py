"""Claims, volumes and attribute classes go when nothing uses them any more, and not before."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from tests.waiting import eventually, exists

from watchkeeper.testing import Handle, Server
from watchkeeper.testing.handle import RequestFailed

Object = dict[str, Any]
BASE = "/api/v1/namespaces/default"
CLAIMS = f"{BASE}/persistentvolumeclaims"
VOLUMES = "/api/v1/persistentvolumes"
CLASSES = "/apis/storage.k8s.io/v1/volumeattributesclasses"


@pytest.fixture(scope="module")
def server() -> Iterator[Handle]:
    names = ("namespace", "pvc-protection", "pv-protection", "vac-protection")
    with Server(insecure_http=True, controllers=names) as handle:
        yield handle


def claim(name: str, **spec: Any) -> Object:
    needed = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    return {"metadata": {"name": name}, "spec": needed | spec}


def pod(name: str, volume: Object, node: str = "n") -> Object:
    spec = {
        "terminationGracePeriodSeconds": 0,
        "nodeName": node,
        "containers": [{"name": "c", "image": "i"}],
        "volumes": [{"name": "v"} | volume],
    }
    return {"metadata": {"name": name}, "spec": spec}


def make_claim(server: Handle, name: str) -> str:
    made = server.request("POST", CLAIMS, claim(name))
    assert made["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]
    return f"{CLAIMS}/{name}"


def test_a_claim_that_nothing_uses_goes_at_once(server: Handle) -> None:
    path = make_claim(server, "idle")
    server.request("DELETE", path)
    assert eventually(lambda: not exists(server, path))


@pytest.mark.parametrize(
    ("name", "volume"),
    [("kept", {"persistentVolumeClaim": {"claimName": "kept"}}), ("p-v", {"ephemeral": None})],
)
def test_a_claim_outlives_its_deletion_until_the_pod_is_gone(server: Handle, name: str, volume: Object) -> None:
    if "ephemeral" in volume:
        volume = {"ephemeral": {"volumeClaimTemplate": {"spec": claim("x")["spec"]}}}
    path = make_claim(server, name)
    server.request("POST", f"{BASE}/pods", pod("p", volume))
    server.request("DELETE", path)
    time.sleep(0.3)
    assert exists(server, path)
    server.request("DELETE", f"{BASE}/pods/p")
    assert eventually(lambda: not exists(server, path))


def test_a_pod_that_no_node_has_yet_keeps_nothing(server: Handle) -> None:
    path = make_claim(server, "wanted")
    server.request("POST", f"{BASE}/pods", pod("waiting", {"persistentVolumeClaim": {"claimName": "wanted"}}, node=""))
    server.request("DELETE", path)
    assert eventually(lambda: not exists(server, path))


def test_a_namespace_with_claims_ends(server: Handle) -> None:
    server.request("POST", "/api/v1/namespaces", {"metadata": {"name": "shop"}})
    server.request("POST", "/api/v1/namespaces/shop/persistentvolumeclaims", claim("c"))
    server.request("DELETE", "/api/v1/namespaces/shop")
    assert eventually(lambda: not exists(server, "/api/v1/namespaces/shop"))


def test_a_bound_volume_stays_until_it_is_released(server: Handle) -> None:
    spec = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/x"}}
    made = server.request("POST", VOLUMES, {"metadata": {"name": "pv"}, "spec": spec})
    path = f"{VOLUMES}/pv"
    made["status"] = {"phase": "Bound"}
    server.request("PUT", f"{path}/status", made)
    server.request("DELETE", path)
    time.sleep(0.3)
    assert exists(server, path)
    made = server.request("GET", path)
    made["status"]["phase"] = "Released"
    server.request("PUT", f"{path}/status", made)
    assert eventually(lambda: not exists(server, path))


def test_an_attribute_class_stays_while_a_claim_names_it(server: Handle) -> None:
    server.request(
        "POST", CLASSES, {"metadata": {"name": "fast"}, "driverName": "d.example.com", "parameters": {"a": "b"}}
    )
    server.request("POST", CLAIMS, claim("classy", volumeAttributesClassName="fast"))
    server.request("DELETE", f"{CLASSES}/fast")
    time.sleep(0.3)
    assert exists(server, f"{CLASSES}/fast")
    server.request("DELETE", f"{CLAIMS}/classy")
    assert eventually(lambda: not exists(server, f"{CLASSES}/fast"))


def test_a_claim_without_its_finalizer_gets_it_again(server: Handle) -> None:
    path = make_claim(server, "bared")
    bare = server.request("GET", path)
    bare["metadata"]["finalizers"] = ["example.com/other"]
    server.request("PUT", path, bare)

    def finalizers() -> list[str]:
        found: list[str] = server.request("GET", path)["metadata"]["finalizers"]
        return found

    assert eventually(lambda: finalizers() == ["example.com/other", "kubernetes.io/pvc-protection"])
    server.request("DELETE", path)
    assert eventually(lambda: finalizers() == ["example.com/other"])


def test_a_claim_that_cannot_be_let_go_keeps_no_other_from_being_protected(server: Handle) -> None:
    group, rules = (
        "admissionregistration.k8s.io/v1",
        {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["UPDATE"]},
    )
    matching = {"resourceRules": [{**rules, "resources": ["persistentvolumeclaims"]}]}
    refusal = {"expression": "object.metadata.name != 'stuck' || object.metadata.?finalizers.orValue([]) != []"}
    spec = {"matchConstraints": matching, "validations": [refusal]}
    server.request("POST", f"/apis/{group}/validatingadmissionpolicies", {"metadata": {"name": "hold"}, "spec": spec})
    bound = {"policyName": "hold", "validationActions": ["Deny"]}
    bindings = f"/apis/{group}/validatingadmissionpolicybindings"
    server.request("POST", bindings, {"metadata": {"name": "hold"}, "spec": bound})
    stuck, other = make_claim(server, "stuck"), make_claim(server, "beside")

    def is_refused() -> bool:
        try:
            server.request("PATCH", f"{stuck}?dryRun=All", {"metadata": {"finalizers": None}})
        except RequestFailed:
            return True
        return False

    assert eventually(is_refused)
    server.request("DELETE", stuck)
    server.request("PATCH", other, {"metadata": {"finalizers": None}})
    assert eventually(lambda: "finalizers" in server.request("GET", other)["metadata"])
    assert exists(server, stuck)
    server.request("DELETE", f"{bindings}/hold")
