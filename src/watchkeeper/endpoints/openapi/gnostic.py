"""The v2 document in protobuf, as package openapi.v2 of gnostic defines it.

Clients of the Go libraries ask for nothing else: kubectl validates lists with it, checks there whether a kind can be
dry-run, and explains kinds from it on request; older clients do all their validation with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from watchkeeper.endpoints.openapi.messages import (
    Table,
    Write,
    any_value,
    boolean,
    double,
    entries,
    external_docs,
    fields,
    flag,
    integer,
    mapping,
    message,
    remembered,
    repeated,
    repeated_text,
    sized,
    start,
    text,
)

CONTENT_TYPE = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"


def paths_content(paths: Mapping[str, Any]) -> bytes:
    """The content of a document's paths, or a piece of it."""
    return entries(2, paths, _path_item)


def definitions_content(definitions: Mapping[str, Any]) -> bytes:
    """The content of a document's definitions, or a piece of it."""
    return entries(1, definitions, _schema)


def document_pieces(
    before: Mapping[str, Any], paths: Sequence[bytes], definitions: Sequence[bytes], after: Mapping[str, Any]
) -> list[bytes]:
    """A document, to be joined; `before` and `after` are what comes before its paths and after its definitions."""
    return [
        fields(_DOCUMENT, before, 16),
        start(8, sum(map(len, paths))),
        *paths,
        start(9, sum(map(len, definitions))),
        *definitions,
        fields(_DOCUMENT, after, 16),
    ]


# -- schemas ------------------------------------------------------------------------------------------------------


def _schema(number: int, value: Any) -> bytes:
    return sized(number, fields(_SCHEMA, value, 31))


def _additional(number: int, value: Any) -> bytes:
    """What else an object may have: a schema, or whether anything."""
    return sized(number, boolean(2, value) if isinstance(value, bool) else _schema(1, value))


def _type(number: int, value: Any) -> bytes:
    return sized(number, repeated_text(1, [value] if isinstance(value, str) else value))


def _items(number: int, value: Any) -> bytes:
    return sized(number, b"".join([_schema(1, each) for each in (value if isinstance(value, list) else [value])]))


_SCHEMA: Table = {
    "$ref": (1, text),
    "format": (2, text),
    "title": (3, text),
    "description": (4, text),
    "default": (5, any_value),
    "multipleOf": (6, double),
    "maximum": (7, double),
    "exclusiveMaximum": (8, flag),
    "minimum": (9, double),
    "exclusiveMinimum": (10, flag),
    "maxLength": (11, integer),
    "minLength": (12, integer),
    "pattern": (13, text),
    "maxItems": (14, integer),
    "minItems": (15, integer),
    "uniqueItems": (16, flag),
    "maxProperties": (17, integer),
    "minProperties": (18, integer),
    "required": (19, repeated_text),
    "enum": (20, repeated(any_value)),
    "additionalProperties": (21, _additional),
    "type": (22, _type),
    "items": (23, _items),
    "allOf": (24, repeated(_schema)),
    "properties": (25, mapping(_schema)),
    "readOnly": (27, flag),
    "externalDocs": (29, external_docs),
    "example": (30, any_value),
}


# -- operations ---------------------------------------------------------------------------------------------------

_BODY_PARAMETER: Table = {
    "description": (1, text),
    "name": (2, text),
    "in": (3, text),
    "required": (4, flag),
    "schema": (5, _schema),
}
_PARAMETER_START: Table = {"required": (1, flag), "in": (2, text), "description": (3, text), "name": (4, text)}
_QUERY_PARAMETER: Table = {**_PARAMETER_START, "type": (6, text), "format": (7, text), "uniqueItems": (20, flag)}
_PATH_PARAMETER: Table = {**_PARAMETER_START, "type": (5, text), "format": (6, text), "uniqueItems": (19, flag)}
# ParametersItem.parameter → Parameter.body_parameter, or Parameter.non_body_parameter → one message for each place.
_PARAMETERS: Mapping[str, Write] = {
    "body": message(_BODY_PARAMETER, 6, 1, 1),
    "query": message(_QUERY_PARAMETER, 23, 3, 2, 1),
    "path": message(_PATH_PARAMETER, 22, 4, 2, 1),
}


def _parameter(number: int, value: Any) -> bytes:
    where = value["in"]
    if where == "body":
        return _PARAMETERS[where](number, value)
    return _plain_parameter(number, value)


_plain_parameter = remembered(lambda number, value: _PARAMETERS[value["in"]](number, value))


def _schema_item(number: int, value: Any) -> bytes:
    return sized(number, _schema(1, value))


_RESPONSE: Table = {"description": (1, text), "schema": (2, _schema_item)}
_security = mapping(lambda number, scopes: sized(number, repeated_text(1, scopes)))

_OPERATION: Table = {
    "tags": (1, repeated_text),
    "description": (3, text),
    "operationId": (5, text),
    "produces": (6, repeated_text),
    "consumes": (7, repeated_text),
    "parameters": (8, repeated(_parameter)),
    "responses": (9, mapping(message(_RESPONSE, 5, 1))),
    "schemes": (10, repeated_text),
    "deprecated": (11, flag),
}
_operation = message(_OPERATION, 13)
_PATH_ITEM: Table = {
    "get": (2, _operation),
    "put": (3, _operation),
    "post": (4, _operation),
    "delete": (5, _operation),
    "options": (6, _operation),
    "head": (7, _operation),
    "patch": (8, _operation),
    "parameters": (9, repeated(_parameter)),
}

_INFO: Table = {"title": (1, text), "version": (2, text), "description": (3, text)}
_API_KEY: Table = {"type": (1, text), "name": (2, text), "in": (3, text), "description": (4, text)}
_path_item = message(_PATH_ITEM, 10)
_DOCUMENT: Table = {
    "swagger": (1, text),
    "info": (2, message(_INFO, 7)),
    "security": (12, repeated(_security)),
    "securityDefinitions": (13, mapping(message(_API_KEY, 5, 2))),
}
