"""Writes Kubernetes objects in protobuf, from the form that they have in JSON.

The bytes are those of the Go types: fields in the order of their numbers, what a struct holds by value always, what it
holds by pointer only when it is set, maps in the order of their keys.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Protocol

import orjson

from watchkeeper.runtime.protobuf import EXTENSIONS, MAGIC, META, Messages, ProtobufError

Object = Mapping[str, Any]
_TIME = f"{META}Time"
_MICRO_TIME = f"{META}MicroTime"
_EPOCH = datetime.fromisoformat("1970-01-01T00:00:00+00:00")
_64 = (1 << 64) - 1


class HasPointer(Protocol):
    """What is known of a field besides its number."""

    @property
    def pointer(self) -> bool:
        """Whether it can be unset."""
        ...


Fields = Mapping[str, HasPointer]
_Write = Callable[[Any], bytes]
_Step = tuple[bytes, str, str, _Write, bytes | None]
"""Tag, name in JSON, how often, what writes a value, and what stands for an absent one."""


class ProtobufWriter:
    """Writes messages by the table that `ProtobufReader` reads them by."""

    def __init__(self, messages: Messages, fields_of: Callable[[str], Fields | None]) -> None:
        """`fields_of` knows the fields of a message by their names in JSON; None: they are among those of the message
        that embeds it."""
        self._messages = messages
        self._fields_of = fields_of
        self._plans: dict[tuple[str, str], list[_Step]] = {}
        self._special = self._writers()

    def write(self, name: str, obj: Object) -> bytes:
        """The message of an object. Raises ProtobufError for what does not fit, or for a message that is not known."""
        if name not in self._messages:
            raise ProtobufError(f"no message {name} is known")
        try:
            return self._message(name, name, obj)
        except (TypeError, ValueError, AttributeError, struct.error, RecursionError) as error:
            raise ProtobufError(f"{name}: {error}") from None

    def _message(self, name: str, owner: str, obj: Object) -> bytes:
        parts: list[bytes] = []
        for tag, field, often, write, absent in self._plan(name, owner):
            if not field:
                parts += tag, _sized(write(obj))
                continue
            value = obj.get(field)
            if value is None:
                if absent is not None:
                    parts += tag, absent
            elif not often:
                parts += tag, write(value)
            elif often == "list":
                for item in value:
                    parts += tag, write(item)
            else:
                for key in sorted(value):
                    parts += tag, _sized(b"\x0a%b\x12%b" % (_text(key), write(value[key])))
        return b"".join(parts)

    def _plan(self, name: str, owner: str) -> list[_Step]:
        plan = self._plans.get((name, owner))
        if plan is None:
            plan = self._plans[name, owner] = self._planned(name, owner)
        return plan

    def _planned(self, name: str, owner: str) -> list[_Step]:
        fields = self._fields_of(name)
        if fields is None:
            fields = self._fields_of(owner) or {}
        else:
            owner = name
        steps: list[_Step] = []
        for number, (field, kind, often) in sorted(self._messages[name].items()):
            wire, write = self._writer(kind, owner if not field else kind)
            if often == "map":
                wire = 2
                if kind in ("int32", "int64", "bool"):
                    raise ProtobufError(f"{name}: maps of {kind} are not known")
            if not field:
                write = self._embedded(kind, owner)
            known = fields.get(field)
            by_value = not often and known is not None and not known.pointer and kind != "bytes"
            absent = self._zero(kind) if by_value else None
            steps.append((_varint(number << 3 | wire), field, often, write, absent))
        return steps

    def _embedded(self, kind: str, owner: str) -> _Write:
        return lambda obj: self._message(kind, owner, obj)

    def _writer(self, kind: str, owner: str) -> tuple[int, _Write]:
        """The wire type of a value, and what writes it, its length included where it has one."""
        scalar = _SCALARS.get(kind)
        if scalar is not None:
            return scalar
        special = self._special.get(kind)
        if special is not None:
            found = special
            return 2, lambda value: _sized(found(value))
        return 2, lambda value: _sized(self._message(kind, owner, value))

    def _zero(self, kind: str) -> bytes:
        """What is written for a value that nobody has set."""
        if kind in _SCALARS:
            return _ZEROS[kind]
        if kind in _SPECIAL_ZEROS:
            return _sized(_SPECIAL_ZEROS[kind])
        if kind in self._special:
            return b"\x00"
        return _sized(self._message(kind, kind, {}))

    def _writers(self) -> dict[str, _Write]:
        """Messages whose JSON is not an object of their fields."""

        def schema(value: Any) -> bytes:
            return _sized(self._message(f"{EXTENSIONS}JSONSchemaProps", f"{EXTENSIONS}JSONSchemaProps", value))

        def schema_or_array(value: Any) -> bytes:
            if isinstance(value, list):
                return b"".join([b"\x12" + schema(item) for item in value])
            return b"\x0a" + schema(value)

        def schema_or_bool(value: Any) -> bytes:
            # A schema allows what it describes.
            return b"\x08\x01\x12" + schema(value) if isinstance(value, Mapping) else _flag(value)

        def schema_or_strings(value: Any) -> bytes:
            if isinstance(value, list):
                return b"".join([b"\x12" + _text(item) for item in value])
            return b"\x0a" + schema(value)

        return {
            "k8s.io.apimachinery.pkg.api.resource.Quantity": lambda value: b"\x0a" + _text(str(value)),
            "k8s.io.apimachinery.pkg.util.intstr.IntOrString": _int_or_string,
            "k8s.io.apimachinery.pkg.runtime.RawExtension": _raw,
            _TIME: lambda value: _time(value, micro=False),
            _MICRO_TIME: lambda value: _time(value, micro=True),
            f"{META}FieldsV1": _raw,
            f"{META}Verbs": _items,
            "k8s.io.api.authentication.v1.ExtraValue": _items,
            "k8s.io.api.authorization.v1.ExtraValue": _items,
            "k8s.io.api.certificates.v1.ExtraValue": _items,
            f"{EXTENSIONS}JSON": _raw,
            f"{EXTENSIONS}JSONSchemaPropsOrArray": schema_or_array,
            f"{EXTENSIONS}JSONSchemaPropsOrBool": schema_or_bool,
            f"{EXTENSIONS}JSONSchemaPropsOrStringArray": schema_or_strings,
        }


def write_envelope(api_version: str, kind: str, message: bytes) -> bytes:
    """An object in protobuf: the magic, and a runtime.Unknown with its type and its message."""
    type_meta = b"\x0a%b\x12%b" % (_text(api_version), _text(kind))
    return b"%b\x0a%b\x12%b\x1a\x00\x22\x00" % (MAGIC, _sized(type_meta), _sized(message))


def write_frame(event_type: str, obj: bytes) -> bytes:
    """An event of a watch: its length in four bytes, and a meta.v1 WatchEvent around an object in protobuf."""
    event = b"\x0a%b\x12%b" % (_text(event_type), _sized(b"\x0a" + _sized(obj)))
    return len(event).to_bytes(4, "big") + event


def _varint(value: int) -> bytes:
    value &= _64
    if value < 0x80:
        return _BYTES[value]
    found = bytearray()
    while value >= 0x80:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


_BYTES = [bytes([n]) for n in range(0x80)]


def _sized(data: bytes) -> bytes:
    return _varint(len(data)) + data


def _text(value: str) -> bytes:
    return _sized(value.encode())


def _flag(value: Any) -> bytes:
    return b"\x08\x01" if value else b"\x08\x00"


def _items(value: list[str]) -> bytes:
    return b"".join([b"\x0a" + _text(item) for item in value])


def _raw(value: Any) -> bytes:
    return b"\x0a" + _sized(orjson.dumps(value))


def _int_or_string(value: int | str) -> bytes:
    if isinstance(value, str):
        return b"\x08\x01\x10\x00\x1a" + _text(value)
    return b"\x08\x00\x10" + _varint(value) + b"\x1a\x00"


def _time(value: str, *, micro: bool) -> bytes:
    since = datetime.fromisoformat(value) - _EPOCH
    nanoseconds = since.microseconds * 1000 if micro else 0
    return b"\x08" + _varint(since.days * 86400 + since.seconds) + b"\x10" + _varint(nanoseconds)


_SCALARS: Mapping[str, tuple[int, _Write]] = {
    "string": (2, _text),
    "bytes": (2, lambda value: _sized(base64.b64decode(value, validate=True))),
    "bool": (0, lambda value: b"\x01" if value else b"\x00"),
    "int32": (0, _varint),
    "int64": (0, _varint),
    "uint32": (0, _varint),
    "uint64": (0, _varint),
    "double": (1, lambda value: struct.pack("<d", value)),
    "float": (5, lambda value: struct.pack("<f", value)),
}
_ZEROS: Mapping[str, bytes] = {
    **dict.fromkeys(("string", "bytes", "bool", "int32", "int64", "uint32", "uint64"), b"\x00"),
    "double": bytes(8),
    "float": bytes(4),
}
_SPECIAL_ZEROS: Mapping[str, bytes] = {
    "k8s.io.apimachinery.pkg.api.resource.Quantity": b"\x0a\x010",
    "k8s.io.apimachinery.pkg.util.intstr.IntOrString": b"\x08\x00\x10\x00\x1a\x00",
    f"{EXTENSIONS}JSONSchemaPropsOrBool": b"\x08\x00",
}
