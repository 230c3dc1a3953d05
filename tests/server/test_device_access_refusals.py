"""Who may not give out devices is told so together with what is wrong with the object."""

from __future__ import annotations

import json
from typing import Any

import pytest

from watchkeeper.testing import Server
from watchkeeper.testing.handle import Handle, RequestFailed

Object = dict[str, Any]
CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
RBAC = "/apis/rbac.authorization.k8s.io/v1"


def spec(**more: Any) -> Object:
    request = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1, **more}
    return {"devices": {"requests": [{"name": "r", "exactly": request}]}}


def fields(server: Handle, method: str, path: str, body: Object, **headers: str) -> list[str]:
    """The fields of the causes of a refusal, in their order."""
    with pytest.raises(RequestFailed) as refused:
        server.request(method, path, body, headers=headers)
    assert refused.value.status == 422
    status = json.loads(str(refused.value).split(": ", 2)[2])
    return [cause["field"] for cause in status["details"]["causes"]]


def test_access_of_administrators_is_told_of_with_what_is_wrong_with_a_claim() -> None:
    with Server(insecure_http=True, controllers=()) as server:
        wrong = spec(count=-1, adminAccess=True)
        count, access = "devices.requests[0].exactly.count", "spec.devices.requests[0].adminAccess"
        claim = {"metadata": {"name": "c"}, "spec": wrong}
        assert fields(server, "POST", CLAIMS, claim) == [access, f"spec.{count}"]
        template = {"metadata": {"name": "c"}, "spec": {"spec": wrong}}
        path = CLAIMS.replace("claims", "claimtemplates")
        assert fields(server, "POST", path, template) == [access, f"spec.spec.{count}"]
        rightly = {"metadata": {"name": "c"}, "spec": spec(count=-1)}
        assert fields(server, "POST", CLAIMS, rightly) == [f"spec.{count}"]


def test_rights_that_are_missing_are_told_of_with_what_is_wrong_with_a_status() -> None:
    role = {"apiGroups": ["resource.k8s.io"], "resources": ["resourceclaims/status"], "verbs": ["*"]}
    user = {"kind": "User", "name": "jane", "apiGroup": "rbac.authorization.k8s.io"}
    ref = {"kind": "ClusterRole", "name": "r", "apiGroup": "rbac.authorization.k8s.io"}
    with Server(insecure_http=True, controllers=()) as server:
        server.request("POST", f"{RBAC}/clusterroles", {"metadata": {"name": "r"}, "rules": [role]})
        server.request(
            "POST", f"{RBAC}/clusterrolebindings", {"metadata": {"name": "r"}, "roleRef": ref, "subjects": [user]}
        )
        made = server.request("POST", CLAIMS, {"metadata": {"name": "c"}, "spec": spec()})
        reserved = {"reservedFor": [{"resource": "pods", "name": "p", "uid": "u"}]}
        body = {**made, "status": reserved}
        path = f"{CLAIMS}/c/status"
        assert fields(server, "PUT", path, body) == ["status.reservedFor"]
        assert fields(server, "PUT", path, body, **{"Impersonate-User": "jane"}) == [
            "status.allocation",
            "status.reservedFor",
        ]
