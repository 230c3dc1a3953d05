"""--runtime-config: which built-in versions and resources are served."""

from __future__ import annotations

import asyncio
import urllib.request
from typing import Any

import pytest

from watchkeeper.apis.schema_data import resources
from watchkeeper.endpoints.openapi.documents import OpenAPI
from watchkeeper.server.errors import StartupError
from watchkeeper.server.runtime_config import served_resources
from watchkeeper.testing import Server
from watchkeeper.testing.handle import Handle, RequestFailed

OLD = ("apps/v1beta1=true", "apps/v1beta2=true")
DEPLOYMENT = {
    "kind": "Deployment",
    "apiVersion": "apps/v1beta1",
    "metadata": {"name": "web"},
    "spec": {
        "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    },
}


def serving(*settings: str) -> Server:
    return Server(insecure_http=True, controllers=(), runtime_config=settings)


def versions(*settings: str) -> set[str]:
    return {str(info.gvr.group_version) for info in served_resources(settings)}


def header(server: Handle, path: str, name: str, accept: str = "application/json") -> str | None:
    headers = {"Authorization": f"Bearer {server.token}", "Accept": accept}
    with urllib.request.urlopen(urllib.request.Request(server.url + path, headers=headers)) as answer:
        found: str | None = answer.headers[name]
        return found


def test_nothing_old_is_served_unless_it_is_turned_on() -> None:
    assert served_resources(()) == resources()
    assert versions() & {"apps/v1beta1", "apps/v1beta2"} == set()
    assert versions(*OLD) - versions() == {"apps/v1beta1", "apps/v1beta2"}
    assert versions("api/beta=true") == versions("api/all=true") == versions()
    assert versions("api/all=true", "apps/v1beta2=true") - versions() == {"apps/v1beta2"}
    assert versions("api/all=false", "api/ga=true") == versions()
    assert versions("api/all=false", "v1=true") == {"v1"}
    assert versions("api/ga=false", "api/v1=true", "batch/v1") == {"v1", "batch/v1"}
    found = served_resources(("apps/v1/deployments=false", "apps/v1beta2/daemonsets=true"))
    names = {str(info.gvr.group_version) + "/" + info.gvr.resource for info in found}
    assert "apps/v1/deployments" not in names
    assert {name for name in names if "beta" in name} == {"apps/v1beta2/daemonsets"}


def test_versions_with_nothing_to_serve_may_be_named() -> None:
    settings = ("batch/v1beta1=true", "extensions/v1beta1=true", "storagemigration.k8s.io/v1beta1")
    assert served_resources(settings) == served_resources(())
    assert served_resources(("resource.k8s.io/v1beta1=false", "storage.k8s.io/v1beta1=0")) == served_resources(())


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (("api/all=false",), "invalid runtime-config with only api/all=false"),
        (("api/beta=maybe",), "invalid value api/beta=maybe"),
        (("apps/v9=true",), "group version apps/v9 that has not been registered"),
        (("nowhere.io/v1=true",), "unknown api groups nowhere.io/v1"),
        (("batch/v1beta1=x",), "invalid value of batch/v1beta1: x"),
        (
            ("resource.k8s.io/v1beta1",),
            "resource.k8s.io/v1beta1 cannot be turned on: watchkeeper does not serve resource.k8s.io/v1beta1",
        ),
        (("apps/v1=perhaps",), "invalid value of apps/v1: perhaps"),
        (("a/b/c/d=true",), "runtime-config invalid key a/b/c/d"),
        (("apps/v1/Deployments=true",), "resource is always lowercase plural"),
    ],
)
def test_what_cannot_be_meant_is_refused(settings: tuple[str, ...], message: str) -> None:
    with pytest.raises(StartupError, match=message):
        served_resources(settings)


def test_a_deployment_is_one_object_at_all_its_versions() -> None:
    with serving(*OLD) as server:
        old, new = (f"/apis/apps/{v}/namespaces/default/deployments" for v in ("v1beta1", "v1"))
        made = server.request("POST", old, DEPLOYMENT)
        assert (made["apiVersion"], made["spec"]["revisionHistoryLimit"]) == ("apps/v1beta1", 2)
        answer = server.request("POST", f"{old}/web/rollback", rollback("web", 3))
        assert answer["message"] == 'rollback request for deployment "web" succeeded'
        at_old, at_new = (server.request("GET", f"{path}/web") for path in (old, new))
        assert at_old["spec"]["rollbackTo"] == {"revision": 3}
        assert at_old["metadata"]["annotations"] == {"why": "bad"}
        assert "rollbackTo" not in at_new["spec"]
        assert at_new["metadata"]["annotations"]["deprecated.deployment.rollback.to"] == "3"
        assert at_new["metadata"]["labels"] == {"app": "web"}
        del at_old["spec"]["rollbackTo"]
        server.request("PUT", f"{old}/web", at_old)
        assert server.request("GET", f"{new}/web")["metadata"]["annotations"] == {"why": "bad"}


def rollback(name: str, revision: int) -> dict[str, Any]:
    kind = {"kind": "DeploymentRollback", "apiVersion": "apps/v1beta1", "name": name}
    return {**kind, "updatedAnnotations": {"why": "bad"}, "rollbackTo": {"revision": revision}}


def test_a_rollback_is_refused_for_the_reasons_of_the_reference() -> None:
    with serving(*OLD) as server:
        path = "/apis/apps/v1beta1/namespaces/default/deployments"
        server.request("POST", path, DEPLOYMENT)
        for body, status, words in (
            (rollback("other", 1), 400, "name in URL does not match name in DeploymentRollback object"),
            (rollback("web", -1), 422, "rollback.version: Invalid value: -1: must be greater than or equal to 0"),
        ):
            with pytest.raises(RequestFailed) as caught:
                server.request("POST", f"{path}/web/rollback", body)
            assert caught.value.status == status
            assert words in str(caught.value)
        with pytest.raises(RequestFailed) as caught:
            server.request("POST", f"{path}/gone/rollback", rollback("gone", 1))
        assert caught.value.status == 404


def test_scales_of_old_versions_are_their_own_kind() -> None:
    with serving(*OLD) as server:
        path = "/apis/apps/v1beta1/namespaces/default/deployments"
        server.request("POST", path, DEPLOYMENT)
        scale = server.request("GET", f"{path}/web/scale")
        assert scale["apiVersion"] == "apps/v1beta1"
        assert scale["status"] == {"replicas": 0, "selector": {"app": "web"}, "targetSelector": "app=web"}
        scale["spec"]["replicas"] = 4
        assert server.request("PUT", f"{path}/web/scale", scale)["spec"] == {"replicas": 4}
        assert server.request("GET", "/apis/apps/v1/namespaces/default/deployments/web")["spec"]["replicas"] == 4


def test_discovery_lists_new_versions_first_and_answers_warn() -> None:
    with serving(*OLD) as server:
        group = server.request("GET", "/apis/apps")
        assert [v["version"] for v in group["versions"]] == ["v1", "v1beta2", "v1beta1"]
        assert group["preferredVersion"]["version"] == "v1"
        names = [entry["name"] for entry in server.request("GET", "/apis/apps/v1beta1")["resources"]]
        assert names[1:5] == ["deployments", "deployments/rollback", "deployments/scale", "deployments/status"]
        path = "/apis/apps/{}/namespaces/default/deployments"
        assert header(server, path.format("v1beta1"), "Warning") == (
            '299 - "apps/v1beta1 Deployment is deprecated in v1.8+, unavailable in v1.16+; use apps/v1 Deployment"'
        )
        assert "deprecated in v1.9+" in (header(server, path.format("v1beta2"), "Warning") or "")
        assert header(server, path.format("v1"), "Warning") is None
        schemas = server.request("GET", "/openapi/v3/apis/apps/v1beta1")["components"]["schemas"]
        assert "rollbackTo" in schemas["io.k8s.api.apps.v1beta1.DeploymentSpec"]["properties"]


def test_documents_do_not_know_what_is_not_served() -> None:
    off, on = (asyncio.run(OpenAPI(served_resources(settings), "v1.36.0").v2()).body for settings in ((), OLD))
    assert b"apps.v1beta1." not in off
    assert b"apps.v1beta1.RollbackConfig" in on


def test_what_is_turned_off_is_gone_and_the_server_works_without() -> None:
    settings = ("api/all=false", "v1=true", "apps/v1=true", "apps/v1/daemonsets=false")
    with Server(insecure_http=True, runtime_config=settings) as server:
        assert [g["name"] for g in server.request("GET", "/apis")["groups"]] == ["apps"]
        server.request("POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "c"}})
        with pytest.raises(RequestFailed) as caught:
            server.request("GET", "/apis/apps/v1/daemonsets")
        assert caught.value.status == 404
        definitions = server.request("GET", "/openapi/v2")["paths"]
        assert "/apis/apps/v1/deployments" in definitions
        assert "/apis/batch/v1/jobs" not in definitions
