from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from typing import Any

import orjson
import pytest

from watchkeeper.apis.catalog import ResourceInfo, SubresourceInfo
from watchkeeper.apis.schema_data import resources
from watchkeeper.endpoints.openapi import CustomVersion, OpenAPI
from watchkeeper.endpoints.openapi.definitions import definition
from watchkeeper.endpoints.openapi.dialect import Dialect
from watchkeeper.meta.gvk import GroupVersion, GroupVersionKind, GroupVersionResource

DEPLOYMENT = {"group": "apps", "kind": "Deployment", "version": "v1"}
ITEM = "/apis/apps/v1/namespaces/{namespace}/deployments/{name}"


@pytest.fixture(scope="module")
def openapi() -> OpenAPI:
    return OpenAPI(resources(), "v1.36.0")


@pytest.fixture(scope="module")
def v2(openapi: OpenAPI) -> Any:
    return orjson.loads(asyncio.run(openapi.v2()).body)


@pytest.fixture(scope="module")
def apps(openapi: OpenAPI) -> Any:
    return document(openapi, "apis/apps/v1")


def document(openapi: OpenAPI, path: str) -> Any:
    found = asyncio.run(openapi.v3(path))
    assert found is not None
    return orjson.loads(found.body)


def robots(schema: dict[str, Any] | None) -> CustomVersion:
    kind = GroupVersionKind("example.io", "v1", "Robot")
    status = SubresourceInfo("status", kind, ("get", "patch", "update"))
    info = ResourceInfo(
        gvr=GroupVersionResource("example.io", "v1", "robots"),
        kind=kind,
        singular="robot",
        namespaced=True,
        verbs=("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"),
        subresources=(status,),
    )
    return CustomVersion(info, "RobotList", None if schema is None else orjson.dumps(schema))


def test_v2_has_paths_that_say_what_they_do_to_which_kind(v2: Any) -> None:
    assert v2["swagger"] == "2.0"
    path = v2["paths"][ITEM]
    assert sorted(m for m in path if m != "parameters") == ["delete", "get", "patch", "put"]
    assert path["patch"]["x-kubernetes-action"] == "patch"
    assert path["patch"]["x-kubernetes-group-version-kind"] == DEPLOYMENT
    assert "application/strategic-merge-patch+json" in path["patch"]["consumes"]
    assert path["get"]["operationId"] == "readAppsV1NamespacedDeployment"


def test_v2_has_definitions_with_what_clients_merge_by(v2: Any) -> None:
    deployment = v2["definitions"]["io.k8s.api.apps.v1.Deployment"]
    assert sorted(deployment["properties"]) == ["apiVersion", "kind", "metadata", "spec", "status"]
    assert deployment["x-kubernetes-group-version-kind"] == [DEPLOYMENT]
    containers = v2["definitions"]["io.k8s.api.core.v1.PodSpec"]["properties"]["containers"]
    assert containers["x-kubernetes-patch-merge-key"] == "name"
    assert containers["x-kubernetes-list-map-keys"] == ["name"]
    assert v2["definitions"]["io.k8s.apimachinery.pkg.api.resource.Quantity"] == {"type": "string"}
    selector = v2["definitions"]["io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector"]
    assert selector["x-kubernetes-map-type"] == "atomic"


def test_collections_say_nothing_of_how_they_merge(v2: Any) -> None:
    definitions = v2["definitions"]
    pods = definitions["io.k8s.api.core.v1.PodList"]["properties"]["items"]
    assert (pods["type"], "x-kubernetes-list-type" in pods) == ("array", False)
    volume = definitions["io.k8s.api.core.v1.ConfigMapVolumeSource"]["properties"]["items"]
    assert volume["x-kubernetes-list-type"] == "atomic"


def test_every_reference_leads_somewhere(openapi: OpenAPI, v2: Any) -> None:
    assert references(asyncio.run(openapi.v2()).body, "definitions") <= v2["definitions"].keys()
    for path in orjson.loads(openapi.v3_index().body)["paths"]:
        found = asyncio.run(openapi.v3(path))
        assert found is not None
        schemas = orjson.loads(found.body)["components"].get("schemas", {})
        assert references(found.body, "components/schemas") <= schemas.keys(), path


def references(body: bytes, where: str) -> set[str]:
    return {name.decode() for name in re.findall(b'"#/' + where.encode() + b'/([^"]+)"', body)}


def test_operation_ids_are_unique(v2: Any) -> None:
    ids = [
        operation["operationId"]
        for path in v2["paths"].values()
        for method, operation in path.items()
        if method != "parameters"
    ]
    assert len(ids) == len(set(ids))


def test_v2_says_nothing_of_fields_where_a_definition_keeps_unknown_ones() -> None:
    openapi = OpenAPI(resources(), "v1.36.0")
    custom = robots({"type": "object", "properties": {"arms": {"type": "integer"}}})
    openapi.set_custom(custom)
    assert "arms" in orjson.loads(asyncio.run(openapi.v2()).body)["definitions"]["io.example.v1.Robot"]["properties"]
    openapi.set_custom(replace(custom, keep_unknown=True))
    shown = orjson.loads(asyncio.run(openapi.v2()).body)["definitions"]["io.example.v1.Robot"]
    assert sorted(shown) == ["type", "x-kubernetes-group-version-kind"]
    fields = document(openapi, "apis/example.io/v1")["components"]["schemas"]["io.example.v1.Robot"]["properties"]
    assert "arms" in fields


def test_the_index_leads_to_documents_by_the_hash_of_their_content(openapi: OpenAPI) -> None:
    paths = orjson.loads(openapi.v3_index().body)["paths"]
    assert {"api/v1", "apis/apps/v1", "apis/batch/v1", "apis/apiextensions.k8s.io/v1", "version"} <= paths.keys()
    path, _, digest = paths["apis/apps/v1"]["serverRelativeURL"].partition("?hash=")
    assert path == "/openapi/v3/apis/apps/v1"
    found = asyncio.run(openapi.v3("apis/apps/v1"))
    assert found is not None
    assert found.hash == digest
    assert asyncio.run(openapi.v3("apis/nosuch.example.io/v1")) is None


def test_v3_has_operations_with_their_options(apps: Any) -> None:
    assert apps["openapi"].startswith("3.")
    patch = apps["paths"][ITEM]["patch"]
    assert sorted(p["name"] for p in patch["parameters"]) == ["dryRun", "fieldManager", "fieldValidation", "force"]
    assert "application/apply-patch+yaml" in patch["requestBody"]["content"]
    listing = apps["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments"]["get"]
    assert "application/json;stream=watch" in listing["responses"]["200"]["content"]


def test_v3_says_what_unset_fields_hold(apps: Any) -> None:
    schemas = apps["components"]["schemas"]
    template = schemas["io.k8s.api.apps.v1.DeploymentSpec"]["properties"]["template"]
    assert template == {
        "allOf": [{"$ref": "#/components/schemas/io.k8s.api.core.v1.PodTemplateSpec"}],
        "default": {},
    }
    assert schemas["io.k8s.api.core.v1.ContainerPort"]["properties"]["protocol"]["default"] == "TCP"
    assert schemas["io.k8s.apimachinery.pkg.util.intstr.IntOrString"]["format"] == "int-or-string"


def test_v3_refers_plainly_to_what_a_field_says_nothing_of_itself() -> None:
    rule = definition("io.k8s.api.networking.v1.IngressRule", Dialect.V3)["properties"]
    assert rule["http"] == Dialect.V3.ref("io.k8s.api.networking.v1.HTTPIngressRuleValue")
    path = definition("io.k8s.api.networking.v1.HTTPIngressPath", Dialect.V3)["properties"]
    assert path["backend"]["allOf"] == [Dialect.V3.ref("io.k8s.api.networking.v1.IngressBackend")]


def test_a_v3_document_has_only_what_its_group_needs(apps: Any) -> None:
    assert "io.k8s.api.core.v1.Container" in apps["components"]["schemas"]
    assert "io.k8s.api.core.v1.Service" not in apps["components"]["schemas"]


def test_custom_resources_come_change_and_go() -> None:
    openapi = OpenAPI(resources(), "v1.36.0")
    before = openapi.v3_index().hash
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "description": "What it shall be",
                "properties": {
                    "size": {"type": "integer", "nullable": True},
                    "port": {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
                },
            }
        },
    }
    openapi.set_custom(robots(schema))
    assert openapi.v3_index().hash != before
    found = document(openapi, "apis/example.io/v1")
    robot = found["components"]["schemas"]["io.example.v1.Robot"]
    assert robot["properties"]["spec"] == schema["properties"]["spec"]
    assert robot["properties"]["metadata"]["allOf"][0]["$ref"].endswith("meta.v1.ObjectMeta")
    assert robot["x-kubernetes-group-version-kind"] == [{"group": "example.io", "kind": "Robot", "version": "v1"}]
    patch = found["paths"]["/apis/example.io/v1/namespaces/{namespace}/robots/{name}"]["patch"]
    assert "application/strategic-merge-patch+json" not in patch["requestBody"]["content"]
    status = "/apis/example.io/v1/namespaces/{namespace}/robots/{name}/status"
    assert found["paths"][status]["put"]["operationId"] == "replaceExampleIoV1NamespacedRobotStatus"

    in_v2 = orjson.loads(asyncio.run(openapi.v2()).body)["definitions"]["io.example.v1.Robot"]
    assert in_v2["properties"]["spec"]["properties"] == {"size": {}, "port": {"x-kubernetes-int-or-string": True}}

    hash_before = asyncio.run(openapi.v3("apis/example.io/v1"))
    openapi.set_custom(robots(None))
    assert asyncio.run(openapi.v3("apis/example.io/v1")) != hash_before
    assert "properties" not in document(openapi, "apis/example.io/v1")["components"]["schemas"]["io.example.v1.Robot"]

    openapi.remove_custom(GroupVersion("example.io", "v1"), "robots")
    assert asyncio.run(openapi.v3("apis/example.io/v1")) is None
    assert openapi.v3_index().hash == before
    assert "io.example.v1.Robot" not in orjson.loads(asyncio.run(openapi.v2()).body)["definitions"]


def test_v2_keeps_built_in_definitions_under_their_names() -> None:
    kind = GroupVersionKind("core.api.k8s.io", "v1", "Pod")
    gvr = GroupVersionResource("core.api.k8s.io", "v1", "pods")
    custom = robots({"type": "object", "properties": {"probe": {"type": "boolean"}}})
    openapi = OpenAPI(resources(), "v1.36.0")
    openapi.set_custom(replace(custom, info=replace(custom.info, gvr=gvr, kind=kind), list_kind="PodList"))
    v2 = orjson.loads(asyncio.run(openapi.v2()).body)
    definitions = v2["definitions"]
    assert "spec" in definitions["io.k8s.api.core.v1.Pod"]["properties"]
    assert "probe" in definitions["io.k8s.api.core.v1.Pod_v2"]["properties"]
    items = definitions["io.k8s.api.core.v1.PodList_v2"]["properties"]["items"]["items"]
    assert items == {"$ref": "#/definitions/io.k8s.api.core.v1.Pod_v2"}
    read = v2["paths"]["/apis/core.api.k8s.io/v1/namespaces/{namespace}/pods/{name}"]["get"]
    assert read["responses"]["200"]["schema"] == {"$ref": "#/definitions/io.k8s.api.core.v1.Pod_v2"}
    built_in = v2["paths"]["/api/v1/namespaces/{namespace}/pods/{name}"]["get"]
    assert built_in["responses"]["200"]["schema"] == {"$ref": "#/definitions/io.k8s.api.core.v1.Pod"}
    schemas = document(openapi, "apis/core.api.k8s.io/v1")["components"]["schemas"]
    assert "probe" in schemas["io.k8s.api.core.v1.Pod"]["properties"]


def robot(spec: dict[str, Any], *, v2: bool = False) -> Any:
    """What documents say of the spec of a robot."""
    openapi = OpenAPI(resources(), "v1.36.0")
    openapi.set_custom(robots({"type": "object", "properties": {"spec": spec}}))
    if v2:
        definitions = orjson.loads(asyncio.run(openapi.v2()).body)["definitions"]
    else:
        definitions = document(openapi, "apis/example.io/v1")["components"]["schemas"]
    return definitions["io.example.v1.Robot"]["properties"]["spec"]


def test_what_all_custom_resources_have_is_described_as_their_authors_cannot() -> None:
    openapi = OpenAPI(resources(), "v1.36.0")
    openapi.set_custom(robots({"type": "object", "properties": {"kind": {"type": "string", "description": "Ours"}}}))
    in_v2 = orjson.loads(asyncio.run(openapi.v2()).body)["definitions"]
    for found in (in_v2, document(openapi, "apis/example.io/v1")["components"]["schemas"]):
        one, many = found["io.example.v1.Robot"], found["io.example.v1.RobotList"]
        for fields in (one["properties"], many["properties"]):
            assert fields["apiVersion"]["description"].startswith("APIVersion defines")
            assert fields["kind"]["description"].startswith("Kind is")
            assert fields["metadata"]["description"].startswith("Standard ")
        meta = found["io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"]["properties"]
        assert meta["creationTimestamp"]["description"].startswith("CreationTimestamp is a timestamp")
        assert all(field["description"] for field in meta.values())
        assert many["description"] == "RobotList is a list of Robot"
        assert many["properties"]["items"]["description"] == "List of robots."


def test_embedded_resources_have_what_all_objects_have() -> None:
    text = {"type": "string"}
    inner: dict[str, Any] = {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "properties": {"kind": {"type": "string", "maxLength": 5}, "spec": text},
        "required": ["spec", "kind"],
    }
    spec = {"type": "object", "properties": {"list": {"type": "array", "items": inner}}}
    for v2 in (False, True):
        found = robot(spec, v2=v2)["properties"]["list"]["items"]
        assert found["properties"].keys() == {"apiVersion", "kind", "metadata", "spec"}
        assert found["properties"]["kind"].keys() == {"type", "description"}
        assert "ObjectMeta" in str(found["properties"]["metadata"])
        assert found["required"] == ["spec", "kind", "apiVersion"]
    open_ended = {"type": "object", "additionalProperties": {**inner, "x-kubernetes-preserve-unknown-fields": True}}
    assert "metadata" in robot(open_ended)["additionalProperties"]["properties"]
    assert robot(open_ended, v2=True)["additionalProperties"] == {
        "x-kubernetes-embedded-resource": True,
        "x-kubernetes-preserve-unknown-fields": True,
        "required": ["spec", "kind"],
    }


@pytest.mark.parametrize(
    ("schema", "shown"),
    [
        ({"type": "array", "items": {"type": "string"}, "nullable": True}, {}),
        ({"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {"a": {"type": "string"}}}, {}),
        ({"type": "array", "x-kubernetes-preserve-unknown-fields": True, "items": {"type": "string"}}, {}),
        ({"type": "string", "x-kubernetes-preserve-unknown-fields": True}, {"type": "string"}),
        ({"type": "string", "default": "x", "example": "y", "externalDocs": {"url": "z"}}, None),
        ({"x-kubernetes-int-or-string": True, "pattern": "a", "anyOf": [{"maximum": 5}]}, {"pattern": "a"}),
        (
            {"type": "object", "properties": {"a": {"nullable": True}, "b": {}}, "required": ["a", "b"]},
            {"type": "object", "properties": {"a": {}, "b": {}}, "required": ["b"]},
        ),
        (
            {"type": "object", "additionalProperties": {"type": "string", "nullable": True}, "required": ["a"]},
            {"type": "object", "additionalProperties": {}},
        ),
    ],
)
def test_v2_has_no_types_where_its_readers_would_refuse_too_much(schema: Any, shown: Any) -> None:
    found = robot({"type": "object", "properties": {"a": schema}}, v2=True)["properties"]["a"]
    kept = {k: True for k in ("x-kubernetes-preserve-unknown-fields", "x-kubernetes-int-or-string") if k in schema}
    if shown is None:
        shown = {k: v for k, v in schema.items() if k != "default"}
    assert found == {**shown, **kept}


def test_v3_says_in_plain_words_what_is_an_integer_or_text() -> None:
    mark, either = {"x-kubernetes-int-or-string": True}, [{"type": "integer"}, {"type": "string"}]
    in_all = [{"anyOf": either}, {"maxLength": 3}]
    for schema, shown in (
        ({}, {"anyOf": either}),
        ({"anyOf": either}, {"anyOf": either}),
        ({"allOf": in_all}, {"allOf": in_all}),
        ({"anyOf": [{"maximum": 5}]}, {"anyOf": [{"maximum": 5}], "allOf": [{"anyOf": either}]}),
        ({"allOf": [{"maxLength": 3}]}, {"anyOf": either, "allOf": [{"maxLength": 3}]}),
    ):
        found = robot({"type": "object", "properties": {"a": {**schema, **mark}}})
        assert found["properties"]["a"] == {**shown, **mark}


@pytest.mark.parametrize("v2", [False, True])
def test_rules_are_shown_as_they_were_written(v2: bool) -> None:
    rules = [{"rule": "self > 0", "reason": "FieldValueForbidden"}, {"rule": "self > oldSelf", "optionalOldSelf": True}]
    of_items = {"type": "array", "items": {"type": "integer", "x-kubernetes-validations": rules}}
    found = robot({"type": "object", "properties": {"a": of_items}}, v2=v2)
    assert found["properties"]["a"]["items"]["x-kubernetes-validations"] == rules


def test_selectable_fields_are_told() -> None:
    openapi = OpenAPI(resources(), "v1.36.0")
    openapi.set_custom(replace(robots({"type": "object"}), selectable=(".spec.color", ".spec.size")))
    in_v2 = orjson.loads(asyncio.run(openapi.v2()).body)["definitions"]
    for definitions in (in_v2, document(openapi, "apis/example.io/v1")["components"]["schemas"]):
        for name in ("Robot", "RobotList"):
            found = definitions[f"io.example.v1.{name}"]["x-kubernetes-selectable-fields"]
            assert found == [{"fieldPath": "spec.color"}, {"fieldPath": "spec.size"}]


CORE = "/api/v1/namespaces/{namespace}"


def named(parameters: Any) -> list[str]:
    return [parameter["name"] for parameter in parameters]


def methods(item: Any) -> list[str]:
    return sorted(method for method in item if method != "parameters")


def test_what_all_operations_of_a_path_take_is_said_once(openapi: OpenAPI) -> None:
    paths = document(openapi, "api/v1")["paths"]
    item = paths[f"{CORE}/configmaps"]
    assert named(item["parameters"]) == ["namespace", "pretty"]
    assert "shardSelector" in named(item["get"]["parameters"])
    assert named(item["post"]["parameters"]) == ["dryRun", "fieldManager", "fieldValidation"]
    evict = paths[f"{CORE}/pods/{{name}}/eviction"]
    assert "parameters" not in evict["post"]
    assert named(evict["parameters"]) == ["dryRun", "fieldManager", "fieldValidation", "name", "namespace", "pretty"]


def test_old_paths_of_watches_are_told_of_for_built_in_kinds(apps: Any) -> None:
    paths = apps["paths"]
    watch = "/apis/apps/v1/watch"
    of_one = paths[f"{watch}/namespaces/{{namespace}}/deployments/{{name}}"]["get"]
    assert (of_one["x-kubernetes-action"], of_one["operationId"]) == ("watch", "watchAppsV1NamespacedDeployment")
    everywhere = paths[f"{watch}/deployments"]["get"]
    assert everywhere["operationId"] == "watchAppsV1DeploymentListForAllNamespaces"
    assert everywhere["x-kubernetes-action"] == "watchlist"
    (answer, *_) = everywhere["responses"]["200"]["content"].values()
    assert answer["schema"]["$ref"].endswith("WatchEvent")
    assert paths["/apis/apps/v1/"]["get"]["operationId"] == "getAppsV1APIResources"


def test_connections_have_the_options_of_what_they_lead_to(openapi: OpenAPI) -> None:
    paths = document(openapi, "api/v1")["paths"]
    run = paths[f"{CORE}/pods/{{name}}/exec"]
    assert named(run["parameters"]) == ["command", "container", "name", "namespace", "stderr", "stdin", "stdout", "tty"]
    proxy = paths[f"{CORE}/services/{{name}}/proxy/{{path}}"]
    assert methods(proxy) == ["delete", "get", "head", "options", "patch", "post", "put"]
    assert named(proxy["parameters"]) == ["name", "namespace", "path", "path"]
    log = named(paths[f"{CORE}/pods/{{name}}/log"]["parameters"])
    assert {"follow", "tailLines", "pretty"} <= set(log)
    assert "sinceTime" not in log


def test_some_kinds_are_the_answer_to_their_deletion(v2: Any) -> None:
    for kind, answer in (("pods", "core.v1.Pod"), ("configmaps", "meta.v1.Status")):
        deletion = v2["paths"][f"{CORE}/{kind}/{{name}}"]["delete"]
        assert deletion["responses"]["200"]["schema"]["$ref"].endswith(answer)
        assert deletion["consumes"] == ["*/*"]


def test_v2_tells_of_paths_that_are_no_resources_and_of_nothing_that_no_path_needs(v2: Any) -> None:
    assert v2["paths"]["/version/"]["get"]["operationId"] == "getCodeVersion"
    assert v2["paths"]["/apis/rbac.authorization.k8s.io/"]["get"]["tags"] == ["rbacAuthorization"]
    assert "io.k8s.api.core.v1.PodLogOptions" not in v2["definitions"]
    assert v2["definitions"]["io.k8s.api.core.v1.SeccompProfile"]["x-kubernetes-unions"][0]["discriminator"] == "type"
    assert v2["definitions"]["io.k8s.api.networking.v1.HTTPIngressPath"]["properties"]["pathType"]["enum"]


def test_options_of_every_group_are_named_as_those_of_the_documents_own(apps: Any) -> None:
    options = apps["components"]["schemas"]["io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"]
    assert [kind["group"] for kind in options["x-kubernetes-group-version-kind"]] == ["", "apps"]


def test_custom_resources_are_told_of_as_custom_ones(openapi: OpenAPI) -> None:
    openapi.set_custom(robots({"type": "object"}))
    found = document(openapi, "apis/example.io/v1")
    openapi.remove_custom(GroupVersion("example.io", "v1"), "robots")
    assert found["info"] == {"title": "Kubernetes CRD Swagger", "version": "v0.1.0"}
    assert not any("/watch/" in path for path in found["paths"])
    item = found["paths"]["/apis/example.io/v1/namespaces/{namespace}/robots/{name}"]
    assert named(item["get"]["parameters"]) == ["resourceVersion"]
    assert list(item["put"]["requestBody"]["content"]) == ["application/json", "application/yaml"]
    assert list(item["patch"]["responses"]) == ["200", "401"]
