"""The v3 documents in protobuf, as package openapi.v3 of gnostic defines them.

Clients of the Go libraries ask for this form: kubectl looks up in it which query parameters an operation takes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from watchkeeper.endpoints.openapi.messages import (
    Table,
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

CONTENT_TYPE = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf"
_ZERO = b"\x09" + bytes(8)
"""The first field, a floating-point number, with value 0."""


def paths_content(paths: Mapping[str, Any]) -> bytes:
    """The content of a document's paths, or a piece of it."""
    return entries(1, paths, _path_item)


def schemas_content(schemas: Mapping[str, Any]) -> bytes:
    """The content of a document's schemas, or a piece of it."""
    return entries(1, schemas, _schema_or_reference)


def document_pieces(
    before: Mapping[str, Any], paths: Sequence[bytes], schemas: Sequence[bytes], components: Mapping[str, Any]
) -> list[bytes]:
    """A document, to be joined; `before` is what comes before its paths, `components` the other components."""
    schemas_start = start(1, sum(map(len, schemas))) if schemas else b""
    others = fields(_COMPONENTS, components, 10)
    return [
        fields(_DOCUMENT, before, 9),
        start(4, sum(map(len, paths))),
        *paths,
        start(5, len(schemas_start) + sum(map(len, schemas)) + len(others)),
        schemas_start,
        *schemas,
        others,
    ]


# -- schemas ------------------------------------------------------------------------------------------------------


def _schema(number: int, value: Any) -> bytes:
    return sized(number, fields(_SCHEMA, value, 36))


def _schema_or_reference(number: int, value: Any) -> bytes:
    return sized(number, sized(2, text(1, value["$ref"])) if "$ref" in value else _schema(1, value))


def _additional(number: int, value: Any) -> bytes:
    """What else an object may have: a schema, or whether anything."""
    known = boolean(2, value) if isinstance(value, bool) else _schema_or_reference(1, value)
    return sized(number, known)


def _items(number: int, value: Any) -> bytes:
    return sized(number, _schema_or_reference(1, value))


def _default(number: int, value: Any) -> bytes:
    """A number, a boolean or a text, of which one is written even if it is zero; nothing is said of other values."""
    if isinstance(value, bool):
        return sized(number, boolean(2, value))
    if isinstance(value, int | float):
        return sized(number, double(1, value) or _ZERO)
    return sized(number, sized(3, value.encode()) if isinstance(value, str) else b"")


_SCHEMA: Table = {
    "nullable": (1, flag),
    "readOnly": (3, flag),
    "writeOnly": (4, flag),
    "externalDocs": (6, external_docs),
    "example": (7, any_value),
    "deprecated": (8, flag),
    "title": (9, text),
    "multipleOf": (10, double),
    "maximum": (11, double),
    "exclusiveMaximum": (12, flag),
    "minimum": (13, double),
    "exclusiveMinimum": (14, flag),
    "maxLength": (15, integer),
    "minLength": (16, integer),
    "pattern": (17, text),
    "maxItems": (18, integer),
    "minItems": (19, integer),
    "uniqueItems": (20, flag),
    "maxProperties": (21, integer),
    "minProperties": (22, integer),
    "required": (23, repeated_text),
    "enum": (24, repeated(any_value)),
    "type": (25, text),
    "allOf": (26, repeated(_schema_or_reference)),
    "oneOf": (27, repeated(_schema_or_reference)),
    "anyOf": (28, repeated(_schema_or_reference)),
    "not": (29, _schema),
    "items": (30, _items),
    "properties": (31, mapping(_schema_or_reference)),
    "additionalProperties": (32, _additional),
    "default": (33, _default),
    "description": (34, text),
    "format": (35, text),
}


# -- operations ---------------------------------------------------------------------------------------------------

_PARAMETER: Table = {
    "name": (1, text),
    "in": (2, text),
    "description": (3, text),
    "required": (4, flag),
    "schema": (10, _schema_or_reference),
}
_parameter = remembered(message(_PARAMETER, 14, 1))

_content = mapping(message({"schema": (1, _schema_or_reference)}, 5))
_BODY: Table = {"description": (1, text), "content": (2, _content), "required": (3, flag)}
_RESPONSE: Table = {"description": (1, text), "content": (3, _content)}
_OPERATION: Table = {
    "tags": (1, repeated_text),
    "summary": (2, text),
    "description": (3, text),
    "operationId": (5, text),
    "parameters": (6, repeated(_parameter)),
    "requestBody": (7, message(_BODY, 4, 1)),
    "responses": (8, mapping(message(_RESPONSE, 5, 1), 2)),
    "deprecated": (10, flag),
}
_operation = message(_OPERATION, 13)
_PATH_ITEM: Table = {
    "get": (4, _operation),
    "put": (5, _operation),
    "post": (6, _operation),
    "delete": (7, _operation),
    "options": (8, _operation),
    "head": (9, _operation),
    "patch": (10, _operation),
    "parameters": (13, repeated(_parameter)),
}
_path_item = message(_PATH_ITEM, 14)

_INFO: Table = {"title": (1, text), "description": (2, text), "version": (6, text)}
_DOCUMENT: Table = {"openapi": (1, text), "info": (2, message(_INFO, 7))}
_SCHEME: Table = {"type": (1, text), "description": (2, text), "name": (3, text), "in": (4, text)}
_COMPONENTS: Table = {"securitySchemes": (7, mapping(message(_SCHEME, 9, 1)))}
