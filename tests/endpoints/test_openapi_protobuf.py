"""The v2 document in protobuf says what the JSON one says. It is read here by the numbers of its own messages."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
import pytest

from watchkeeper.apis.schema_data import resources
from watchkeeper.endpoints.openapi import OpenAPI
from watchkeeper.endpoints.openapi.gnostic import definitions_content, document_pieces
from watchkeeper.runtime.protobuf import ProtobufReader

NAMED = {"schema": "Schema", "path": "PathItem", "response": "ResponseValue", "any": "Any"}
MESSAGES: dict[str, dict[int, tuple[str, str, str]]] = {
    "Document": {
        1: ("swagger", "string", ""),
        2: ("info", "Info", ""),
        8: ("paths", "Paths", ""),
        9: ("definitions", "Map schema", ""),
        13: ("securityDefinitions", "Security", ""),
    },
    "Info": {1: ("title", "string", ""), 2: ("version", "string", "")},
    "Security": {1: ("all", "Named security", "list")},
    "Named security": {1: ("name", "string", ""), 2: ("value", "SecurityItem", "")},
    "SecurityItem": {2: ("apiKey", "ApiKey", "")},
    "ApiKey": {1: ("type", "string", ""), 2: ("name", "string", ""), 3: ("in", "string", "")},
    "Paths": {2: ("all", "Named path", "list")},
    "Map schema": {1: ("all", "Named schema", "list")},
    "Schema": {
        1: ("$ref", "string", ""),
        2: ("format", "string", ""),
        7: ("maximum", "double", ""),
        15: ("minItems", "int64", ""),
        16: ("uniqueItems", "bool", ""),
        19: ("required", "string", "list"),
        20: ("enum", "Any", "list"),
        21: ("additionalProperties", "Additional", ""),
        22: ("type", "Type", ""),
        23: ("items", "Items", ""),
        25: ("properties", "Map schema", ""),
        29: ("externalDocs", "Docs", ""),
        30: ("example", "Any", ""),
        31: ("extensions", "Named any", "list"),
    },
    "Docs": {1: ("description", "string", ""), 2: ("url", "string", "")},
    "Any": {2: ("yaml", "string", "")},
    "Additional": {1: ("schema", "Schema", ""), 2: ("boolean", "bool", "")},
    "Type": {1: ("value", "string", "list")},
    "Items": {1: ("schema", "Schema", "list")},
    "PathItem": {
        2: ("get", "Operation", ""),
        8: ("patch", "Operation", ""),
        9: ("parameters", "ParametersItem", "list"),
    },
    "Operation": {
        5: ("operationId", "string", ""),
        7: ("consumes", "string", "list"),
        8: ("parameters", "ParametersItem", "list"),
        9: ("responses", "Map response", ""),
        13: ("extensions", "Named any", "list"),
    },
    "Map response": {1: ("all", "Named response", "list")},
    "ResponseValue": {1: ("response", "Response", "")},
    "Response": {1: ("description", "string", ""), 2: ("schema", "SchemaItem", "")},
    "SchemaItem": {1: ("schema", "Schema", "")},
    "ParametersItem": {1: ("parameter", "Parameter", "")},
    "Parameter": {1: ("body", "Body", ""), 2: ("nonBody", "NonBody", "")},
    "Body": {2: ("name", "string", ""), 4: ("required", "bool", ""), 5: ("schema", "Schema", "")},
    "NonBody": {3: ("query", "Query", ""), 4: ("path", "Path", "")},
    "Query": {2: ("in", "string", ""), 4: ("name", "string", ""), 6: ("type", "string", "")},
    "Path": {1: ("required", "bool", ""), 4: ("name", "string", ""), 5: ("type", "string", "")},
    **{f"Named {n}": {1: ("name", "string", ""), 2: ("value", kind, "")} for n, kind in NAMED.items()},
}


@pytest.fixture(scope="module")
def openapi() -> OpenAPI:
    return OpenAPI(resources(), "v1.36.0")


@pytest.fixture(scope="module")
def document(openapi: OpenAPI) -> Any:
    return ProtobufReader(MESSAGES).read("Document", asyncio.run(openapi.v2_protobuf()).body)


def by_name(entries: dict[str, Any]) -> dict[str, Any]:
    return {entry["name"]: entry["value"] for entry in entries["all"]}


def extensions(value: dict[str, Any]) -> dict[str, Any]:
    return {entry["name"]: orjson.loads(entry["value"]["yaml"]) for entry in value["extensions"]}


def test_it_names_the_same_paths_and_definitions(openapi: OpenAPI, document: Any) -> None:
    as_json = orjson.loads(asyncio.run(openapi.v2()).body)
    assert document["swagger"] == "2.0"
    assert document["info"] == {"title": "Kubernetes", "version": "v1.36.0"}
    assert list(by_name(document["paths"])) == list(as_json["paths"])
    assert list(by_name(document["definitions"])) == list(as_json["definitions"])
    (security,) = document["securityDefinitions"]["all"]
    assert security["value"]["apiKey"] == {"type": "apiKey", "name": "authorization", "in": "header"}


def test_definitions_keep_types_references_and_extensions(document: Any) -> None:
    definitions = by_name(document["definitions"])
    deployment = definitions["io.k8s.api.apps.v1.Deployment"]
    assert deployment["type"] == {"value": ["object"]}
    kinds = extensions(deployment)["x-kubernetes-group-version-kind"]
    assert kinds == [{"group": "apps", "kind": "Deployment", "version": "v1"}]
    spec = by_name(definitions["io.k8s.api.core.v1.PodSpec"]["properties"])
    assert spec["containers"]["items"]["schema"] == [{"$ref": "#/definitions/io.k8s.api.core.v1.Container"}]
    assert extensions(spec["containers"])["x-kubernetes-patch-merge-key"] == "name"
    assert spec["nodeSelector"]["additionalProperties"]["schema"]["type"] == {"value": ["string"]}
    assert definitions["io.k8s.api.core.v1.Container"]["required"] == ["name"]


def test_operations_keep_what_a_client_looks_up(document: Any) -> None:
    paths = by_name(document["paths"])
    item = paths["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]
    patch = item["patch"]
    assert patch["operationId"] == "patchAppsV1NamespacedDeployment"
    assert "application/strategic-merge-patch+json" in patch["consumes"]
    assert extensions(patch)["x-kubernetes-group-version-kind"]["kind"] == "Deployment"
    queries = [p["parameter"]["nonBody"]["query"]["name"] for p in patch["parameters"] if "nonBody" in p["parameter"]]
    assert {"dryRun", "fieldValidation"} <= set(queries)
    assert patch["parameters"][0]["parameter"]["body"]["required"] is True
    assert item["parameters"][0]["parameter"]["nonBody"]["path"] == {"required": True, "name": "name", "type": "string"}
    answers = by_name(patch["responses"])
    assert answers["200"]["response"]["schema"]["schema"] == {"$ref": "#/definitions/io.k8s.api.apps.v1.Deployment"}


def test_limits_and_open_objects_of_custom_schemas_are_kept() -> None:
    schema = {
        "type": "object",
        "additionalProperties": True,
        "properties": {
            "n": {"type": "number", "maximum": 2.5, "enum": [1, "a"]},
            "l": {"minItems": 300, "type": "array"},
            "e": {"example": {"a": [1]}, "externalDocs": {"url": "https://x", "description": "d"}},
        },
    }
    written = b"".join(document_pieces({}, [], [definitions_content({"A": schema})], {}))
    read = ProtobufReader(MESSAGES).read("Document", written)
    found = by_name(read["definitions"])["A"]
    assert found["additionalProperties"] == {"boolean": True}
    properties = by_name(found["properties"])
    assert properties["n"]["maximum"] == 2.5
    assert [orjson.loads(each["yaml"]) for each in properties["n"]["enum"]] == [1, "a"]
    assert properties["l"]["minItems"] == 300
    assert orjson.loads(properties["e"]["example"]["yaml"]) == {"a": [1]}
    assert properties["e"]["externalDocs"] == {"url": "https://x", "description": "d"}
