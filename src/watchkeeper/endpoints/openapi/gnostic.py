"""The v2 document in protobuf, as package openapi.v2 of gnostic defines it.

Clients of the Go libraries ask for nothing else: kubectl validates lists with it, checks there whether a kind can be
dry-run, and explains kinds from it on request; older clients do all their validation with it. Messages are written by
a table: for each field of a JSON object, its number and how its value is written. Extensions hold their value as YAML,
of which JSON is a part. Values that proto3 does not write (0, false, "") are left out. Maps are repeated entries, so
the content of a large one may be written in pieces.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import orjson

CONTENT_TYPE = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"

Write = Callable[[int, Any], bytes]
Table = Mapping[str, tuple[int, Write]]

_VARINT, _FIXED64, _BYTES = 0, 1, 2


def paths_content(paths: Mapping[str, Any]) -> bytes:
    """The content of a document's paths, or a piece of it."""
    return _entries(2, paths, _path_item)


def definitions_content(definitions: Mapping[str, Any]) -> bytes:
    """The content of a document's definitions, or a piece of it."""
    return _entries(1, definitions, _schema)


def document_pieces(
    before: Mapping[str, Any], paths: Sequence[bytes], definitions: Sequence[bytes], after: Mapping[str, Any]
) -> list[bytes]:
    """A document, to be joined; `before` and `after` are what comes before its paths and after its definitions."""
    return [
        _fields(_DOCUMENT, before, 16),
        _start(8, sum(map(len, paths))),
        *paths,
        _start(9, sum(map(len, definitions))),
        *definitions,
        _fields(_DOCUMENT, after, 16),
    ]


def _varint(value: int) -> bytes:
    if value < 0x80:
        return bytes((value & 0x7F,)) if value >= 0 else _varint(value + (1 << 64))
    found = bytearray()
    while value >= 0x80:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


_STARTS = [_varint(number << 3 | _BYTES) for number in range(64)]
_LENGTHS = [_varint(length) for length in range(1024)]


def _start(number: int, length: int) -> bytes:
    """What stands before the bytes of a field. Numbers of fields are below 64."""
    return _STARTS[number] + (_LENGTHS[length] if length < 1024 else _varint(length))


def _bytes(number: int, value: bytes) -> bytes:
    return _start(number, len(value)) + value


def _text(number: int, value: Any) -> bytes:
    return _bytes(number, str(value).encode()) if value else b""


def _bool(number: int, value: Any) -> bytes:
    return _varint(number << 3 | _VARINT) + b"\x01" if value is True else b""


def _integer(number: int, value: Any) -> bytes:
    return _varint(number << 3 | _VARINT) + _varint(int(value)) if value else b""


def _double(number: int, value: Any) -> bytes:
    return _varint(number << 3 | _FIXED64) + struct.pack("<d", value) if value else b""


def _any(number: int, value: Any) -> bytes:
    """Message Any: the value as YAML."""
    return _bytes(number, _bytes(2, orjson.dumps(value) + b"\n"))


def _fields(table: Table, obj: Mapping[str, Any], extensions: int) -> bytes:
    """The content of a message; extensions are its field of that number."""
    found = []
    for key, value in obj.items():
        entry = table.get(key)
        if entry is not None:
            number, write = entry
            found.append(write(number, value))
        elif key.startswith("x-"):
            found.append(_bytes(extensions, _text(1, key) + _any(2, value)))
    return b"".join(found)


def _message(table: Table, extensions: int, *within: int) -> Write:
    """A message, itself the only field, of number `within`, of another one, and so on outwards."""

    def write(number: int, value: Any) -> bytes:
        content = _fields(table, value, extensions)
        for field in within:
            content = _bytes(field, content)
        return _bytes(number, content)

    return write


def _repeated(write: Write) -> Write:
    return lambda number, values: b"".join([write(number, value) for value in values])


def _repeated_text(number: int, values: Iterable[str]) -> bytes:
    return b"".join([_bytes(number, value.encode()) for value in values])


def _entries(number: int, values: Mapping[str, Any], write: Write) -> bytes:
    """A map, as a repeated message of a name and a value."""
    return b"".join([_bytes(number, _text(1, name) + write(2, value)) for name, value in values.items()])


def _map(write: Write, field: int = 1) -> Write:
    """A map within a message that has nothing else."""
    return lambda number, values: _bytes(number, _entries(field, values, write))


# -- schemas ------------------------------------------------------------------------------------------------------


def _schema(number: int, value: Any) -> bytes:
    return _bytes(number, _fields(_SCHEMA, value, 31))


def _additional(number: int, value: Any) -> bytes:
    """What else an object may have: a schema, or whether anything."""
    return _bytes(number, _varint(2 << 3) + bytes((value,)) if isinstance(value, bool) else _schema(1, value))


def _type(number: int, value: Any) -> bytes:
    return _bytes(number, _repeated_text(1, [value] if isinstance(value, str) else value))


def _items(number: int, value: Any) -> bytes:
    return _bytes(number, b"".join([_schema(1, each) for each in (value if isinstance(value, list) else [value])]))


_SCHEMA: Table = {
    "$ref": (1, _text),
    "format": (2, _text),
    "title": (3, _text),
    "description": (4, _text),
    "default": (5, _any),
    "multipleOf": (6, _double),
    "maximum": (7, _double),
    "exclusiveMaximum": (8, _bool),
    "minimum": (9, _double),
    "exclusiveMinimum": (10, _bool),
    "maxLength": (11, _integer),
    "minLength": (12, _integer),
    "pattern": (13, _text),
    "maxItems": (14, _integer),
    "minItems": (15, _integer),
    "uniqueItems": (16, _bool),
    "maxProperties": (17, _integer),
    "minProperties": (18, _integer),
    "required": (19, _repeated_text),
    "enum": (20, _repeated(_any)),
    "additionalProperties": (21, _additional),
    "type": (22, _type),
    "items": (23, _items),
    "allOf": (24, _repeated(_schema)),
    "properties": (25, _map(_schema)),
    "readOnly": (27, _bool),
}


# -- operations ---------------------------------------------------------------------------------------------------

_BODY_PARAMETER: Table = {
    "description": (1, _text),
    "name": (2, _text),
    "in": (3, _text),
    "required": (4, _bool),
    "schema": (5, _schema),
}
_PARAMETER_START: Table = {"required": (1, _bool), "in": (2, _text), "description": (3, _text), "name": (4, _text)}
_QUERY_PARAMETER: Table = {**_PARAMETER_START, "type": (6, _text), "format": (7, _text), "uniqueItems": (20, _bool)}
_PATH_PARAMETER: Table = {**_PARAMETER_START, "type": (5, _text), "format": (6, _text), "uniqueItems": (19, _bool)}
# ParametersItem.parameter → Parameter.body_parameter, or Parameter.non_body_parameter → one message for each place.
_PARAMETERS: Mapping[str, Write] = {
    "body": _message(_BODY_PARAMETER, 6, 1, 1),
    "query": _message(_QUERY_PARAMETER, 23, 3, 2, 1),
    "path": _message(_PATH_PARAMETER, 22, 4, 2, 1),
}


def _parameter(number: int, value: Any) -> bytes:
    where = value["in"]
    if where == "body":
        return _PARAMETERS[where](number, value)
    return _plain_parameter(number, orjson.dumps(value))


@functools.lru_cache(maxsize=1000)
def _plain_parameter(number: int, encoded: bytes) -> bytes:
    """The same few parameters are in thousands of operations."""
    value = orjson.loads(encoded)
    return _PARAMETERS[value["in"]](number, value)


def _schema_item(number: int, value: Any) -> bytes:
    return _bytes(number, _schema(1, value))


_RESPONSE: Table = {"description": (1, _text), "schema": (2, _schema_item)}
_security = _map(lambda number, scopes: _bytes(number, _repeated_text(1, scopes)))

_OPERATION: Table = {
    "tags": (1, _repeated_text),
    "description": (3, _text),
    "operationId": (5, _text),
    "produces": (6, _repeated_text),
    "consumes": (7, _repeated_text),
    "parameters": (8, _repeated(_parameter)),
    "responses": (9, _map(_message(_RESPONSE, 5, 1))),
    "schemes": (10, _repeated_text),
    "deprecated": (11, _bool),
}
_operation = _message(_OPERATION, 13)
_PATH_ITEM: Table = {
    "get": (2, _operation),
    "put": (3, _operation),
    "post": (4, _operation),
    "delete": (5, _operation),
    "options": (6, _operation),
    "head": (7, _operation),
    "patch": (8, _operation),
    "parameters": (9, _repeated(_parameter)),
}

_INFO: Table = {"title": (1, _text), "version": (2, _text), "description": (3, _text)}
_API_KEY: Table = {"type": (1, _text), "name": (2, _text), "in": (3, _text), "description": (4, _text)}
_path_item = _message(_PATH_ITEM, 10)
_DOCUMENT: Table = {
    "swagger": (1, _text),
    "info": (2, _message(_INFO, 7)),
    "security": (12, _repeated(_security)),
    "securityDefinitions": (13, _map(_message(_API_KEY, 5, 2))),
}
