"""Reads Kubernetes objects in protobuf into the form that they have in JSON.

Clients that are built with the Go types, kubectl among them, write built-in kinds in protobuf; so does kube-apiserver
to etcd. A message is read by a table of field numbers, which the caller brings; unknown fields are left out, as the
reference does. What a zero value means in JSON is left to the decoder of the kind, which sees the same values here as
in JSON: a field that a Go struct holds by value is always in the message, a pointer only when it is set.
"""

from __future__ import annotations

import base64
import re
import struct
from collections.abc import Callable, Mapping
from typing import Any

import orjson

from watchkeeper.meta.instants import utc_text
from watchkeeper.runtime.quantity import Quantity, QuantityError
from watchkeeper.runtime.utf8 import text_of

MAGIC = b"k8s\x00"
"""What every object in protobuf begins with; a runtime.Unknown follows."""

META = "k8s.io.apimachinery.pkg.apis.meta.v1."
EXTENSIONS = "k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1."
_VARINT, _FIXED64, _BYTES, _END_GROUP, _FIXED32 = 0, 1, 2, 4, 5
_ENVELOPE = {1: "TypeMeta", 2: "Raw", 3: "ContentEncoding", 4: "ContentType"}
_TYPE_META = {1: "APIVersion", 2: "Kind"}
"""Numbers and names in Go of the fields of what an object is sent in, which says what it is."""
_MAX_DEPTH = 200
_COMMON_QUANTITY = re.compile("[0-9]{1,15}(?:m|[kMG]|[KMG]i)?")

Messages = Mapping[str, Mapping[int, tuple[str, str, str]]]
"""By the full name of a message: field numbers, and for each its name in JSON, its type, and "", "list" or "map"."""
Object = dict[str, Any]


class ProtobufError(ValueError):
    """Bytes that are not the message that they should be."""


class _WrongWire(ProtobufError):
    """A value of another wire type than its field has."""


class ProtobufReader:
    """Reads messages by a table."""

    def __init__(self, messages: Messages) -> None:
        self._messages = messages
        self._special = self._readers()

    def read(self, name: str, data: bytes) -> Object:
        """The fields of a message as in JSON. Raises ProtobufError, also for a message that the table does not know."""
        if name not in self._messages:
            raise ProtobufError(f"no message {name} is known")
        try:
            return self._message(name, data, 0)
        except (IndexError, struct.error, OverflowError) as error:
            raise ProtobufError(f"{name}: {error}") from None

    def _message(self, name: str, data: bytes, depth: int) -> Object:
        if depth > _MAX_DEPTH:
            raise ProtobufError("nested too deeply")
        table = self._messages[name]
        obj: Object = {}
        for number, wire, raw in _records(data, name):
            entry = table.get(number)
            if entry is None:
                continue
            field, kind, often = entry
            try:
                if not field:
                    obj |= self._message(kind, _length_delimited(raw, wire), depth + 1)
                elif often == "list":
                    obj.setdefault(field, []).extend(self._items(kind, wire, raw, depth))
                elif often == "map":
                    key, value = self._entry(kind, _length_delimited(raw, wire), depth)
                    obj.setdefault(field, {})[key] = value
                else:
                    obj[field] = self._value(kind, wire, raw, depth)
            except _WrongWire as error:
                raise _wrong_wire(error, _go_name(field, kind)) from None
        return obj

    def _value(self, kind: str, wire: int, raw: Any, depth: int) -> Any:
        scalar = _SCALARS.get(kind)
        if scalar is not None:
            expected, read = scalar
            if wire != expected:
                raise _WrongWire(str(wire))
            try:
                return read(raw)
            except UnicodeDecodeError:
                return text_of(raw)
        data = _length_delimited(raw, wire)
        special = self._special.get(kind)
        return special(data, depth) if special is not None else self._message(kind, data, depth + 1)

    def _items(self, kind: str, wire: int, raw: Any, depth: int) -> list[Any]:
        scalar = _SCALARS.get(kind)
        if scalar is not None and wire == _BYTES and scalar[0] == _VARINT:  # packed
            items, at = [], 0
            while at < len(raw):
                value, at = _varint(raw, at)
                items.append(scalar[1](value))
            return items
        return [self._value(kind, wire, raw, depth)]

    def _entry(self, kind: str, data: bytes, depth: int) -> tuple[str, Any]:
        key, value = "", ...
        for number, wire, raw in _records(data):
            if number == 1:
                key = text_of(_length_delimited(raw, wire))
            elif number == 2:
                value = self._value(kind, wire, raw, depth + 1)
        return key, self._value(kind, _BYTES, b"", depth + 1) if value is ... else value

    def _readers(self) -> dict[str, Callable[[bytes, int], Any]]:
        """Messages whose JSON is not an object of their fields."""

        def items(data: bytes, depth: int) -> Any:
            return [text_of(_length_delimited(raw, wire)) for number, wire, raw in _records(data) if number == 1]

        def schema_or_array(data: bytes, depth: int) -> Any:
            fields = dict(self._parts(data, {1: "schema", 2: "array"}, depth))
            return fields["array"] if "array" in fields else fields.get("schema")

        def schema_or_bool(data: bytes, depth: int) -> Any:
            fields = dict(self._parts(data, {2: "schema"}, depth))
            return fields["schema"] if "schema" in fields else bool(_scalars(data).get(1, 0))

        def schema_or_strings(data: bytes, depth: int) -> Any:
            fields = dict(self._parts(data, {1: "schema"}, depth))
            return (
                fields["schema"]
                if "schema" in fields
                else [text_of(_length_delimited(raw, wire)) for number, wire, raw in _records(data) if number == 2]
            )

        return {
            "k8s.io.apimachinery.pkg.api.resource.Quantity": _quantity,
            "k8s.io.apimachinery.pkg.util.intstr.IntOrString": _int_or_string,
            "k8s.io.apimachinery.pkg.runtime.RawExtension": _json,
            f"{META}Time": lambda data, depth: _time(data, micro=False),
            f"{META}MicroTime": lambda data, depth: _time(data, micro=True),
            f"{META}FieldsV1": _json,
            f"{META}Verbs": items,
            "k8s.io.api.authentication.v1.ExtraValue": items,
            "k8s.io.api.authorization.v1.ExtraValue": items,
            "k8s.io.api.certificates.v1.ExtraValue": items,
            f"{EXTENSIONS}JSON": _json,
            f"{EXTENSIONS}JSONSchemaPropsOrArray": schema_or_array,
            f"{EXTENSIONS}JSONSchemaPropsOrBool": schema_or_bool,
            f"{EXTENSIONS}JSONSchemaPropsOrStringArray": schema_or_strings,
        }

    def _parts(self, data: bytes, names: Mapping[int, str], depth: int) -> list[tuple[str, Any]]:
        found: Object = {}
        for number, wire, raw in _records(data):
            name = names.get(number)
            if name is None:
                continue
            schema = self._message(f"{EXTENSIONS}JSONSchemaProps", _length_delimited(raw, wire), depth + 1)
            if name == "array":
                found.setdefault(name, []).append(schema)
            else:
                found[name] = schema
        return list(found.items())


def read_envelope(data: bytes) -> tuple[str, str, bytes]:
    """apiVersion, kind and message of an object in protobuf. Raises ProtobufError."""
    if not data.startswith(MAGIC):
        prefix = " ".join(map(str, MAGIC))
        raise ProtobufError(f"provided data does not appear to be a protobuf message, expected prefix [{prefix}]")
    if data == MAGIC:
        raise ProtobufError("empty body")
    try:
        envelope = _fields(data[len(MAGIC) :], "Unknown", _ENVELOPE)
        named = _fields(envelope.get(1, b""), "TypeMeta", _TYPE_META)
        return text_of(named.get(1, b"")), text_of(named.get(2, b"")), envelope.get(2, b"")
    except (IndexError, struct.error, UnicodeDecodeError) as error:
        raise ProtobufError(str(error)) from None


def _fields(data: bytes, name: str, fields: Mapping[int, str]) -> dict[int, bytes]:
    """By number, the values of a message whose fields are bytes or messages. `fields`: their names in Go."""
    found: dict[int, bytes] = {}
    for number, wire, raw in _records(data, name):
        if number in fields:
            if wire != _BYTES:
                raise _wrong_wire(wire, fields[number])
            found[number] = raw
    return found


def _wrong_wire(wire: object, field: str) -> ProtobufError:
    return ProtobufError(f"proto: wrong wireType = {wire} for field {field}")


def _go_name(field: str, kind: str) -> str:
    """The name of a field of a struct; metadata and what has no name of its own are embedded."""
    if not field or field == "metadata":
        return kind.rpartition(".")[2]
    return field[0].upper() + field[1:]


def _records(data: bytes, name: str = "") -> list[tuple[int, int, Any]]:
    """Number, wire type and value of each field of a message: an int for varints, else bytes."""
    found: list[tuple[int, int, Any]] = []
    at, end = 0, len(data)
    while at < end:
        key, at = _varint(data, at)
        number, wire = key >> 3, key & 7
        if wire == _END_GROUP:
            raise ProtobufError(f"proto: {name.rpartition('.')[2]}: wiretype end group for non-group")
        if not number:
            raise ProtobufError(f"proto: {name.rpartition('.')[2]}: illegal tag {number} (wire type {wire})")
        value: Any
        if wire == _VARINT:
            value, at = _varint(data, at)
        elif wire == _BYTES:
            length, at = _varint(data, at)
            value, at = data[at : at + length], at + length
        elif wire in (_FIXED64, _FIXED32):
            length = 8 if wire == _FIXED64 else 4
            value, at = data[at : at + length], at + length
        else:
            raise ProtobufError(f"proto: illegal wireType {wire}")
        if at > end:
            raise ProtobufError("unexpected EOF")
        found.append((number, wire, value))
    return found


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(data):
            raise ProtobufError("unexpected EOF")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > 63:
            raise ProtobufError("proto: integer overflow")


def _length_delimited(raw: Any, wire: int) -> bytes:
    if wire != _BYTES:
        raise _WrongWire(str(wire))
    value: bytes = raw
    return value


def _signed(bits: int) -> Callable[[int], int]:
    top, mask = 1 << (bits - 1), (1 << bits) - 1

    def read(value: int) -> int:
        value &= mask
        return value - (1 << bits) if value & top else value

    return read


def _scalars(data: bytes) -> dict[int, int]:
    return {number: value for number, wire, value in _records(data) if wire == _VARINT}


def _quantity(data: bytes, depth: int) -> str:
    """A quantity, which is refused here and not with the JSON: no text at all is none here, nor is one with blanks."""
    found = "0"
    for number, wire, raw in _records(data):
        if number == 1:
            found = text_of(_length_delimited(raw, wire))
            if _COMMON_QUANTITY.fullmatch(found) is None:
                try:
                    Quantity.parse(found)
                except QuantityError as error:
                    raise ProtobufError(str(error)) from None
    return found


def _int_or_string(data: bytes, depth: int) -> int | str:
    numbers = _scalars(data)
    if numbers.get(1, 0) == 0:
        return _signed(32)(numbers.get(2, 0))
    return next((text_of(raw) for number, wire, raw in _records(data) if number == 3 and wire == _BYTES), "")


def _json(data: bytes, depth: int) -> Any:
    for number, wire, raw in _records(data):
        if number == 1:
            text = _length_delimited(raw, wire)
            try:
                return orjson.loads(text) if text else None
            except orjson.JSONDecodeError as error:
                raise ProtobufError(f"embedded JSON: {error}") from None
    return None


def _time(data: bytes, *, micro: bool) -> str | None:
    """The zero time is null, as in JSON; without `micro` fractions of seconds are cut off."""
    numbers = _scalars(data)
    seconds, nanoseconds = _signed(64)(numbers.get(1, 0)), _signed(32)(numbers.get(2, 0))
    if seconds == 0 and nanoseconds == 0:
        return None
    try:
        text = utc_text(seconds)
    except OverflowError:
        raise ProtobufError("a time beyond the years 0 to 9999") from None
    return f"{text}.{nanoseconds // 1000:06d}Z" if micro else f"{text}Z"


def _base64(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


_SCALARS: Mapping[str, tuple[int, Callable[[Any], Any]]] = {
    "string": (_BYTES, bytes.decode),
    "bytes": (_BYTES, _base64),
    "bool": (_VARINT, bool),
    "int32": (_VARINT, _signed(32)),
    "int64": (_VARINT, _signed(64)),
    "uint32": (_VARINT, int),
    "uint64": (_VARINT, int),
    "double": (_FIXED64, lambda raw: struct.unpack("<d", raw)[0]),
    "float": (_FIXED32, lambda raw: struct.unpack("<f", raw)[0]),
}
