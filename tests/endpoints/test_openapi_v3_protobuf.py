"""The v3 documents in protobuf say what the JSON ones say. They are read here by the numbers of their own messages."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
import pytest

from watchkeeper.apis.schema_data import resources
from watchkeeper.endpoints.openapi import OpenAPI
from watchkeeper.endpoints.openapi.gnostic_v3 import schemas_content
from watchkeeper.runtime.protobuf import ProtobufReader

NAMED = {"schema": "SchemaOrReference", "path": "PathItem", "response": "ResponseOr", "media": "Media", "any": "Any"}
MESSAGES: dict[str, dict[int, tuple[str, str, str]]] = {
    "Document": {
        1: ("openapi", "string", ""),
        2: ("info", "Info", ""),
        4: ("paths", "Map path", ""),
        5: ("components", "Components", ""),
    },
    "Info": {1: ("title", "string", ""), 6: ("version", "string", "")},
    "Components": {1: ("schemas", "Map schema", ""), 7: ("securitySchemes", "Schemes", "")},
    "Schemes": {1: ("all", "Named scheme", "list")},
    "Named scheme": {1: ("name", "string", ""), 2: ("value", "SchemeOr", "")},
    "SchemeOr": {1: ("scheme", "Scheme", "")},
    "Scheme": {1: ("type", "string", ""), 3: ("name", "string", ""), 4: ("in", "string", "")},
    "SchemaOrReference": {1: ("schema", "Schema", ""), 2: ("reference", "Reference", "")},
    "Reference": {1: ("$ref", "string", "")},
    "Docs": {1: ("description", "string", ""), 2: ("url", "string", "")},
    "Schema": {
        6: ("externalDocs", "Docs", ""),
        7: ("example", "Any", ""),
        11: ("maximum", "double", ""),
        19: ("minItems", "int64", ""),
        20: ("uniqueItems", "bool", ""),
        23: ("required", "string", "list"),
        24: ("enum", "Any", "list"),
        25: ("type", "string", ""),
        26: ("allOf", "SchemaOrReference", "list"),
        27: ("oneOf", "SchemaOrReference", "list"),
        30: ("items", "Items", ""),
        31: ("properties", "Map schema", ""),
        32: ("additionalProperties", "Additional", ""),
        33: ("default", "Default", ""),
        35: ("format", "string", ""),
        36: ("extensions", "Named any", "list"),
    },
    "Any": {2: ("yaml", "string", "")},
    "Items": {1: ("schema", "SchemaOrReference", "list")},
    "Additional": {1: ("schema", "SchemaOrReference", ""), 2: ("boolean", "bool", "")},
    "Default": {1: ("number", "double", ""), 2: ("boolean", "bool", ""), 3: ("string", "string", "")},
    "PathItem": {
        4: ("get", "Operation", ""),
        10: ("patch", "Operation", ""),
        13: ("parameters", "ParameterOr", "list"),
    },
    "Operation": {
        1: ("tags", "string", "list"),
        5: ("operationId", "string", ""),
        6: ("parameters", "ParameterOr", "list"),
        7: ("requestBody", "BodyOr", ""),
        8: ("responses", "Responses", ""),
        13: ("extensions", "Named any", "list"),
    },
    "ParameterOr": {1: ("parameter", "Parameter", "")},
    "Parameter": {
        1: ("name", "string", ""),
        2: ("in", "string", ""),
        4: ("required", "bool", ""),
        10: ("schema", "SchemaOrReference", ""),
    },
    "BodyOr": {1: ("body", "Body", "")},
    "Body": {2: ("content", "Map media", ""), 3: ("required", "bool", "")},
    "Responses": {2: ("all", "Named response", "list")},
    "ResponseOr": {1: ("response", "Response", "")},
    "Response": {1: ("description", "string", ""), 3: ("content", "Map media", "")},
    "Media": {1: ("schema", "SchemaOrReference", "")},
    **{f"Named {n}": {1: ("name", "string", ""), 2: ("value", kind, "")} for n, kind in NAMED.items()},
    **{f"Map {n}": {1: ("all", f"Named {n}", "list")} for n in NAMED},
}
READER = ProtobufReader(MESSAGES)


@pytest.fixture(scope="module")
def openapi() -> OpenAPI:
    return OpenAPI(resources(), "v1.36.0")


def read(openapi: OpenAPI, path: str) -> Any:
    made = asyncio.run(openapi.v3_protobuf(path))
    assert made is not None
    return READER.read("Document", made.body)


def by_name(entries: dict[str, Any]) -> dict[str, Any]:
    return {entry["name"]: entry["value"] for entry in entries.get("all", [])}


def extensions(value: dict[str, Any]) -> dict[str, Any]:
    return {entry["name"]: orjson.loads(entry["value"]["yaml"]) for entry in value["extensions"]}


@pytest.mark.parametrize("path", ["apis/apps/v1", "api/v1", "apis", "version", "apis/batch"])
def test_it_names_the_same_paths_and_schemas(openapi: OpenAPI, path: str) -> None:
    as_json = asyncio.run(openapi.v3(path))
    assert as_json is not None
    wanted, found = orjson.loads(as_json.body), read(openapi, path)
    assert (found["openapi"], found["info"]) == ("3.0.0", wanted["info"])
    assert list(by_name(found["paths"])) == list(wanted["paths"])
    assert list(by_name(found["components"]["schemas"])) == list(wanted["components"]["schemas"])
    (security,) = found["components"]["securitySchemes"]["all"]
    assert security["value"]["scheme"] == {"type": "apiKey", "name": "authorization", "in": "header"}


def test_a_document_that_needs_no_schemas_has_none(openapi: OpenAPI) -> None:
    as_json = asyncio.run(openapi.v3("openid/v1/jwks"))
    assert as_json is not None
    assert list(orjson.loads(as_json.body)["components"]) == ["securitySchemes"]
    assert list(read(openapi, "openid/v1/jwks")["components"]) == ["securitySchemes"]


def test_it_has_the_hash_of_the_document_in_json(openapi: OpenAPI) -> None:
    made = asyncio.run(openapi.v3_protobuf("apis/apps/v1"))
    assert made is not None
    assert made.hash == openapi.v3_hash("apis/apps/v1")
    assert asyncio.run(openapi.v3_protobuf("apis/nosuch/v1")) is None


def test_operations_keep_what_a_client_looks_up(openapi: OpenAPI) -> None:
    item = by_name(read(openapi, "apis/apps/v1")["paths"])["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]
    patch = item["patch"]
    assert patch["operationId"] == "patchAppsV1NamespacedDeployment"
    assert extensions(patch)["x-kubernetes-group-version-kind"]["kind"] == "Deployment"
    assert {"dryRun", "fieldValidation"} <= {each["parameter"]["name"] for each in patch["parameters"]}
    assert item["parameters"][0]["parameter"]["required"] is True
    assert item["parameters"][0]["parameter"]["schema"]["schema"]["type"] == "string"
    assert "application/strategic-merge-patch+json" in by_name(patch["requestBody"]["body"]["content"])
    answer = by_name(patch["responses"])["200"]["response"]
    shown = by_name(answer["content"])["application/json"]["schema"]
    assert shown == {"reference": {"$ref": "#/components/schemas/io.k8s.api.apps.v1.Deployment"}}


def test_schemas_keep_their_limits_defaults_and_references() -> None:
    schema = {
        "type": "object",
        "additionalProperties": True,
        "required": ["n"],
        "x-kubernetes-map-type": "atomic",
        "properties": {
            "n": {"type": "number", "maximum": 2.5, "enum": [1, "a"], "default": 2},
            "l": {"type": "array", "minItems": 300, "uniqueItems": True, "items": {"$ref": "#/x"}, "default": {}},
            "s": {"allOf": [{"$ref": "#/y"}], "default": "", "oneOf": [{"type": "string"}]},
            "z": {"type": "integer", "default": 0},
            "e": {"example": {"a": [1]}, "externalDocs": {"url": "https://x"}},
            "m": {"additionalProperties": {"type": "string"}, "default": False},
        },
    }
    (entry,) = READER.read("Map schema", schemas_content({"S": schema}))["all"]
    found = entry["value"]["schema"]
    assert (found["additionalProperties"], found["required"]) == ({"boolean": True}, ["n"])
    assert extensions(found) == {"x-kubernetes-map-type": "atomic"}
    fields = {name: value["schema"] for name, value in by_name(found["properties"]).items()}
    assert (fields["n"]["maximum"], fields["n"]["default"]) == (2.5, {"number": 2.0})
    assert [orjson.loads(each["yaml"]) for each in fields["n"]["enum"]] == [1, "a"]
    assert (fields["l"]["minItems"], fields["l"]["uniqueItems"], fields["l"]["default"]) == (300, True, {})
    assert fields["l"]["items"]["schema"] == [{"reference": {"$ref": "#/x"}}]
    assert (fields["s"]["allOf"], fields["s"]["default"]) == ([{"reference": {"$ref": "#/y"}}], {"string": ""})
    assert fields["s"]["oneOf"] == [{"schema": {"type": "string"}}]
    assert fields["m"]["additionalProperties"] == {"schema": {"schema": {"type": "string"}}}
    assert fields["m"]["default"] == {"boolean": False}
    assert fields["z"]["default"] == {"number": 0.0}
    assert orjson.loads(fields["e"]["example"]["yaml"]) == {"a": [1]}
    assert fields["e"]["externalDocs"] == {"url": "https://x"}
