"""Objects that cannot be decrypted or decoded: every read says so, and they can be removed, by those who may."""

from __future__ import annotations

import json
import time
import urllib.request
from pathlib import Path
from typing import Any

import orjson
import pytest
from stored_values import put
from tests.waiting import eventually

from watchkeeper.testing import Server
from watchkeeper.testing.handle import Handle, RequestFailed

SECRETS = "/api/v1/namespaces/default/secrets"
OPTION = "ignoreStoreReadErrorWithClusterBreakingPotential"
UNSAFE = {"apiVersion": "v1", "kind": "DeleteOptions", OPTION: True}
TOKENS = (
    'admin-token,admin,1,"system:masters"\nplain-token,plain,2,"deleters"\nunsafe-token,unsafe,3,"deleters,breakers"\n'
)


def serving(tmp_path: Path, **options: Any) -> Server:
    return Server(storage=f"sqlite:{tmp_path / 'db'}", insecure_http=True, controllers=(), **options)


def secret(name: str, **metadata: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, **metadata}}


def refusal(server: Handle, method: str, path: str, body: Any = None, **options: Any) -> dict[str, Any]:
    with pytest.raises(RequestFailed) as caught:
        server.request(method, path, body, **options)
    found: dict[str, Any] = json.loads(str(caught.value).partition(f"{caught.value.status}: ")[2])
    assert found["code"] == caught.value.status
    return found


def test_reads_name_the_object_and_say_what_is_wrong(tmp_path: Path) -> None:
    put(
        tmp_path / "db",
        {"/registry/secrets/default/cut": b'{"kind":"Sec', "/registry/secrets/default/odd": b"k8s:enc:x:y"},
    )
    with serving(tmp_path) as server:
        server.request("POST", SECRETS, secret("fine"))
        status = refusal(server, "GET", f"{SECRETS}/cut")
        assert (status["code"], status["reason"]) == (500, "InternalError")
        assert status["message"].startswith(
            "Internal error occurred: StorageError: corrupt object, Code: 7, Key: /registry/secrets/default/cut, "
            "ResourceVersion: 0, AdditionalErrorMsg: object not decodable revision="
        )
        assert "no encryption configuration says how" in refusal(server, "GET", f"{SECRETS}/odd")["message"]
        assert server.request("GET", f"{SECRETS}/fine")["metadata"]["name"] == "fine"
        for method, path, body in (
            ("PUT", f"{SECRETS}/cut", secret("cut")),
            ("DELETE", f"{SECRETS}/cut", None),
        ):
            status = refusal(server, method, path, body)
            assert (status["code"], status["reason"]) == (500, "InternalError")
            assert "/registry/secrets/default/cut" in status["message"]


def value(obj: dict[str, Any], *, ours: bool) -> bytes:
    """An object as this server stores it, or as people write it."""
    if not ours:
        return json.dumps(obj).encode()
    start = {name: obj[name] for name in ("kind", "apiVersion", "metadata")}
    return orjson.dumps({**start, **dict(sorted(obj.items()))})


def test_fields_of_another_type_are_not_read_from_what_people_have_stored(tmp_path: Path) -> None:
    odd = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "odd", "namespace": "default", "labels": ["x"]}}
    put(tmp_path / "db", {"/registry/secrets/default/odd": value(odd, ours=False)})
    with serving(tmp_path) as server:
        wrong = "json: cannot unmarshal array into Go struct field ObjectMeta.metadata.labels of type map[string]string"
        status = refusal(server, "GET", f"{SECRETS}/odd")
        assert status["code"] == 500
        assert wrong in status["message"]
        status = refusal(server, "GET", SECRETS)
        assert (status["code"], status["reason"]) == (500, "StorageReadError")
        assert wrong in status["details"]["causes"][0]["message"]
        server.request("DELETE", f"{SECRETS}/odd", UNSAFE)
        assert server.request("GET", SECRETS)["items"] == []


@pytest.mark.parametrize(
    "accept", ["application/json;as=Table;v=v1;g=meta.k8s.io", "application/vnd.kubernetes.protobuf,*/*"]
)
def test_what_fails_on_fields_of_another_type_names_the_object(tmp_path: Path, accept: str) -> None:
    metadata = {"name": "odd", "namespace": "default", "managedFields": 7}
    odd = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": 7}
    put(tmp_path / "db", {"/registry/configmaps/default/odd": value(odd, ours=True)})
    maps = "/api/v1/namespaces/default/configmaps"
    with serving(tmp_path) as server:
        for method, path, body in (
            ("GET", f"{maps}/odd", None),
            ("GET", maps, None),
            (
                "PUT",
                f"{maps}/odd",
                {"metadata": {"name": "odd"}},
            ),
        ):
            with pytest.raises(RequestFailed) as caught:
                server.request(method, path, body, headers={"Accept": accept})
            assert caught.value.status == 500
            assert "/registry/configmaps/default/odd" in str(caught.value)
            assert "panic" not in str(caught.value)
        server.request("DELETE", f"{maps}/odd")


def test_objects_without_a_uid_are_changed_used_and_deleted(tmp_path: Path) -> None:
    accounts = "/api/v1/namespaces/bare/serviceaccounts"
    owners = [{"apiVersion": "v1", "kind": "ConfigMap", "name": "gone", "uid": "u-1"}]
    objects: dict[str, dict[str, Any]] = {
        "/registry/namespaces/bare": {
            "kind": "Namespace",
            "metadata": {"name": "bare"},
            "spec": {"finalizers": ["kubernetes"]},
        },
        "/registry/serviceaccounts/bare/a": {
            "kind": "ServiceAccount",
            "metadata": {"name": "a", "namespace": "bare", "ownerReferences": owners},
        },
    }
    put(tmp_path / "db", {k: value({"apiVersion": "v1", **obj}, ours=False) for k, obj in objects.items()})
    with Server(storage=f"sqlite:{tmp_path / 'db'}", insecure_http=True) as server:
        server.request("PATCH", "/api/v1/namespaces/bare", {"metadata": {"labels": {"a": "b"}}})
        server.request("PATCH", f"{accounts}/a", {"metadata": {"labels": {"a": "b"}}})
        spec = {"spec": {"expirationSeconds": 600}}
        assert server.request("POST", f"{accounts}/a/token", spec)["status"]["token"]
        server.request("DELETE", "/api/v1/namespaces/bare")
        eventually(lambda: is_gone(server, "/api/v1/namespaces/bare"))


def test_a_list_has_one_cause_for_each_broken_object(tmp_path: Path) -> None:
    keys = [f"/registry/secrets/default/{name}" for name in ("a", "b")]
    put(tmp_path / "db", dict.fromkeys(keys, b"junk"))
    with serving(tmp_path) as server:
        server.request("POST", SECRETS, secret("fine"))
        for path in (SECRETS, "/api/v1/secrets", f"{SECRETS}?limit=1", f"{SECRETS}?resourceVersion=0"):
            status = refusal(server, "GET", path)
            assert (status["code"], status["reason"]) == (500, "StorageReadError")
            assert status["message"] == "failed to read one or more secrets from the storage"
            assert (status["details"]["name"], status["details"]["kind"]) == ("list", "secrets")
            causes = status["details"]["causes"]
            assert {cause["reason"] for cause in causes} == {"UnexpectedServerResponse"}
            assert [cause["field"] for cause in causes] == keys[: len(causes)]
            assert causes
        assert server.request("GET", "/api/v1/namespaces/kube-system/secrets")["items"] == []
        path = f"{SECRETS}?watch=true&timeoutSeconds=5"
        request = urllib.request.Request(server.url + path, headers={"Authorization": f"Bearer {server.token}"})
        with urllib.request.urlopen(request) as answer:
            [event] = [json.loads(line) for line in answer]
        assert event["type"] == "ERROR"
        assert event["object"]["reason"] == "StorageReadError"


def test_what_cannot_be_read_is_removed_on_demand_and_what_can_be_is_deleted_as_ever(tmp_path: Path) -> None:
    put(tmp_path / "db", {"/registry/secrets/default/broken": b"junk", "/registry/namespaces/torn": b"junk"})
    with serving(tmp_path) as server:
        server.request("POST", SECRETS, secret("fine"))
        server.request("POST", SECRETS, secret("held", finalizers=["example.com/hold"]))
        assert server.request("DELETE", f"{SECRETS}/held", UNSAFE)["metadata"]["finalizers"] == ["example.com/hold"]
        assert refusal(server, "DELETE", f"{SECRETS}/absent", UNSAFE)["code"] == 404
        answer = server.request("DELETE", f"{SECRETS}/broken", UNSAFE)
        assert answer["status"] == "Success"
        assert answer["details"] == {"name": "broken", "kind": "Secret"}
        assert refusal(server, "GET", f"{SECRETS}/broken")["code"] == 404
        assert [item["metadata"]["name"] for item in server.request("GET", SECRETS)["items"]] == ["fine", "held"]
        server.request("DELETE", "/api/v1/namespaces/torn?" + OPTION + "=true")
        assert refusal(server, "GET", "/api/v1/namespaces/torn")["code"] == 404


def test_the_option_stands_alone_for_what_cannot_be_read(tmp_path: Path) -> None:
    put(tmp_path / "db", {"/registry/secrets/default/broken": b"junk"})
    with serving(tmp_path) as server:
        for more in (
            {"dryRun": ["All"]},
            {"propagationPolicy": "Orphan"},
            {"orphanDependents": True},
            {"gracePeriodSeconds": 1},
            {"preconditions": {"uid": "x"}},
        ):
            status = refusal(server, "DELETE", f"{SECRETS}/broken", {**UNSAFE, **more})
            assert status["code"] == 422
            assert f"cannot be set together with .{next(iter(more))}" in status["message"]


def test_the_option_says_nothing_to_what_can_be_read_nor_to_collections() -> None:
    with Server(insecure_http=True, controllers=()) as server:
        server.request("POST", SECRETS, secret("fine"))
        dry = server.request("DELETE", f"{SECRETS}/fine", {**UNSAFE, "dryRun": ["All"], "gracePeriodSeconds": 1})
        assert dry["status"] == "Success"
        assert [item["metadata"]["name"] for item in server.request("DELETE", SECRETS, UNSAFE)["items"]] == ["fine"]
        assert server.request("GET", SECRETS)["items"] == []


def test_it_takes_a_right_of_its_own(tmp_path: Path) -> None:
    put(tmp_path / "db", {"/registry/secrets/default/broken": b"junk"})
    (tmp_path / "tokens").write_text(TOKENS)
    with serving(tmp_path, token_auth_file=tmp_path / "tokens") as server:
        for group, verbs in (("deleters", ["delete"]), ("breakers", ["unsafe-delete-ignore-read-errors"])):
            grant(server, group, verbs)
        plain, unsafe = ({"Authorization": f"Bearer {name}-token"} for name in ("plain", "unsafe"))
        status = refusal(server, "DELETE", f"{SECRETS}/broken", UNSAFE, headers=plain)
        assert (status["code"], status["reason"]) == (403, "Forbidden")
        assert status["message"].startswith(
            'secrets "broken" is forbidden: not permitted to do "unsafe-delete-ignore-read-errors", reason: '
        )
        server.request("DELETE", f"{SECRETS}/broken", UNSAFE, headers=unsafe)


def grant(server: Handle, group: str, verbs: list[str]) -> None:
    rbac = "/apis/rbac.authorization.k8s.io/v1"
    rule = {"apiGroups": [""], "resources": ["secrets"], "verbs": verbs}
    server.request("POST", f"{rbac}/clusterroles", {"metadata": {"name": group}, "rules": [rule]})
    binding = {
        "metadata": {"name": group},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": group},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": group}],
    }
    server.request("POST", f"{rbac}/clusterrolebindings", binding)


@pytest.mark.parametrize(
    "key",
    [
        "/registry/services/specs/default/x",
        "/registry/clusterroles/x",
        "/registry/clusterrolebindings/x",
        "/registry/apiextensions.k8s.io/customresourcedefinitions/x.y",
        "/registry/priorityclasses/x",
    ],
)
def test_a_server_starts_for_the_repair_of_what_it_needs_itself(tmp_path: Path, key: str) -> None:
    put(tmp_path / "db", {key: b"junk"})
    paths = {
        "services": "/api/v1/namespaces/default/services/x",
        "clusterroles": "/apis/rbac.authorization.k8s.io/v1/clusterroles/x",
        "clusterrolebindings": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/x",
        "apiextensions.k8s.io": "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/x.y",
        "priorityclasses": "/apis/scheduling.k8s.io/v1/priorityclasses/x",
    }
    with serving(tmp_path) as server:
        path = paths[key.split("/")[2]]
        assert refusal(server, "GET", path)["code"] == 500
        server.request("DELETE", path, UNSAFE)
        assert server.request("GET", path.rpartition("/")[0])["kind"].endswith("List")


@pytest.mark.parametrize(
    ("key", "path", "content"),
    [
        (
            "/registry/clusterroles/x",
            "/apis/rbac.authorization.k8s.io/v1/clusterroles/x",
            {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "rules": ["odd"]},
        ),
        (
            "/registry/validatingwebhookconfigurations/x",
            "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/x",
            {
                "apiVersion": "admissionregistration.k8s.io/v1",
                "kind": "ValidatingWebhookConfiguration",
                "webhooks": ["odd"],
            },
        ),
    ],
)
@pytest.mark.parametrize("ours", [False, True])
def test_a_server_starts_for_the_repair_of_what_it_makes_nothing_of(
    tmp_path: Path, key: str, path: str, content: dict[str, Any], *, ours: bool
) -> None:
    put(tmp_path / "db", {key: value({**content, "metadata": {"name": "x", "uid": "u"}}, ours=ours)})
    with serving(tmp_path) as server:
        with pytest.raises(RequestFailed):
            server.request("GET", "/readyz")
        server.request("DELETE", path, None if ours else UNSAFE)
        eventually(lambda: is_ready(server))
        assert is_ready(server)


@pytest.mark.parametrize("ours", [False, True])
def test_nothing_is_written_past_a_policy_that_nobody_understands(tmp_path: Path, *, ours: bool) -> None:
    group = "admissionregistration.k8s.io"
    broken = {"apiVersion": f"{group}/v1", "kind": "ValidatingAdmissionPolicy", "metadata": {"name": "x", "uid": "u"}}
    put(tmp_path / "db", {"/registry/validatingadmissionpolicies/x": value({**broken, "spec": "odd"}, ours=ours)})
    configmaps = "/api/v1/namespaces/default/configmaps"
    with serving(tmp_path) as server:
        found = refusal(server, "POST", configmaps, {"metadata": {"name": "c"}})
        assert (found["code"], found["message"]) == (
            403,
            'configmaps "c" is forbidden: not yet ready to handle request',
        )
        server.request("DELETE", f"/apis/{group}/v1/validatingadmissionpolicies/x", None if ours else UNSAFE)
        eventually(lambda: is_ready(server))
        assert server.request("POST", configmaps, {"metadata": {"name": "c"}})["metadata"]["name"] == "c"


def is_ready(server: Handle) -> bool:
    try:
        server.request("GET", "/readyz")
    except RequestFailed:
        return False
    except ValueError:
        pass  # it is not JSON, but an answer
    return True


def definition() -> dict[str, Any]:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    versions = [{"name": n, "served": True, "storage": n == "v1", "schema": schema} for n in ("v1", "v2")]
    names = {"plural": "carts", "singular": "cart", "kind": "Cart", "listKind": "CartList"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "carts.shop.example.com"},
        "spec": {"group": "shop.example.com", "names": names, "scope": "Namespaced", "versions": versions},
    }


def test_broken_custom_resources_are_removed_at_any_version(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        server.request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition())
    put(tmp_path / "db", {f"/registry/shop.example.com/carts/default/{n}": b"junk" for n in ("a", "b")})
    with serving(tmp_path) as server:
        for name, version in (("a", "v1"), ("b", "v2")):
            carts = f"/apis/shop.example.com/{version}/namespaces/default/carts"
            status = refusal(server, "GET", carts)
            assert status["message"] == "failed to read one or more carts.shop.example.com from the storage"
            assert status["details"]["group"] == "shop.example.com"
            assert (
                f"/registry/shop.example.com/carts/default/{name}"
                in refusal(server, "GET", f"{carts}/{name}")["message"]
            )
            assert server.request("DELETE", f"{carts}/{name}", UNSAFE)["details"] == {"name": name, "kind": "Cart"}
        assert server.request("GET", carts)["items"] == []


def test_controllers_do_their_work_on_what_can_be_read(tmp_path: Path) -> None:
    put(tmp_path / "db", {"/registry/secrets/default/broken": b"junk"})
    maps = "/api/v1/namespaces/default/configmaps"
    with Server(storage=f"sqlite:{tmp_path / 'db'}", insecure_http=True) as server:
        owner = server.request("POST", maps, {"metadata": {"name": "owner"}})["metadata"]
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["uid"]}
        server.request("POST", maps, {"metadata": {"name": "dependent", "ownerReferences": [reference]}})
        server.request("POST", "/api/v1/namespaces", {"metadata": {"name": "gone"}})
        server.request("DELETE", f"{maps}/owner")
        server.request("DELETE", "/api/v1/namespaces/gone")
        eventually(lambda: is_gone(server, f"{maps}/dependent") and is_gone(server, "/api/v1/namespaces/gone"))


def is_gone(server: Handle, path: str) -> bool:
    try:
        server.request("GET", path)
    except RequestFailed as error:
        return error.status == 404
    return False


@pytest.mark.parametrize(
    ("key", "spec"),
    [
        ("/registry/priorityclasses/broken", {}),
        ("/registry/priorityclasses/broken", {"priorityClassName": "broken"}),
        ("/registry/limitranges/default/broken", {}),
        ("/registry/resourcequotas/default/broken", {}),
        ("/registry/runtimeclasses/broken", {"runtimeClassName": "broken"}),
        ("/registry/minions/broken", {"nodeName": "broken"}),
    ],
)
def test_a_pod_that_is_judged_by_what_cannot_be_read_is_refused_with_its_key(
    tmp_path: Path, key: str, spec: dict[str, Any]
) -> None:
    put(tmp_path / "db", {key: b"junk"})
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}
    with serving(tmp_path) as server:
        status = refusal(server, "POST", "/api/v1/namespaces/default/pods", pod)
        assert status["code"] == 500
        assert "panic" not in status["message"]
        assert key in json.dumps(status)


def test_a_webhook_behind_what_cannot_be_read_is_one_that_cannot_be_reached(tmp_path: Path) -> None:
    put(tmp_path / "db", {"/registry/services/specs/default/hook": b"junk"})
    hook = {
        "name": "a.example.com",
        "sideEffects": "None",
        "failurePolicy": "Ignore",
        "admissionReviewVersions": ["v1"],
        "clientConfig": {"service": {"name": "hook", "namespace": "default"}},
        "rules": [{"operations": ["*"], "apiGroups": [""], "apiVersions": ["*"], "resources": ["secrets"]}],
    }
    hooks = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
    with serving(tmp_path) as server:
        stored = server.request("POST", hooks, {"metadata": {"name": "h"}, "webhooks": [hook]})
        assert server.request("POST", SECRETS, secret("ignored"))["kind"] == "Secret"
        stored["webhooks"][0]["failurePolicy"] = "Fail"
        server.request("PUT", f"{hooks}/h", stored)
        message = refusal(server, "POST", SECRETS, secret("refused"))["message"]
        assert message.startswith('Internal error occurred: failed calling webhook "a.example.com"')
        assert "/registry/services/specs/default/hook" in message


def test_what_tells_of_custom_versions_stays_until_all_definitions_can_be_read(tmp_path: Path) -> None:
    services = "/apis/apiregistration.k8s.io/v1/apiservices"
    made = {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": "v1.gone.io", "uid": "u", "labels": {"kube-aggregator.kubernetes.io/automanaged": "true"}},
        "spec": {"group": "gone.io", "version": "v1", "groupPriorityMinimum": 1, "versionPriority": 1},
    }
    broken = "/registry/apiextensions.k8s.io/customresourcedefinitions/broken.io"
    stored = {broken: b"junk", "/registry/apiregistration.k8s.io/apiservices/v1.gone.io": orjson.dumps(made)}
    put(tmp_path / "db", stored)
    with serving(tmp_path) as server:
        time.sleep(0.5)
        assert server.request("GET", f"{services}/v1.gone.io")["spec"]["group"] == "gone.io"
        server.request("DELETE", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/broken.io", UNSAFE)
        eventually(lambda: is_gone(server, f"{services}/v1.gone.io"))
