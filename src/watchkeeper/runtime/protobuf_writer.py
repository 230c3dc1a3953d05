"""Writes Kubernetes objects in protobuf, from the form that they have in JSON.

The bytes are those of the Go types: fields in the order of their numbers, what a struct holds by value always, what it
holds by pointer only when it is set, maps in the order of their keys.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import orjson

from watchkeeper.meta.instants import since_epoch
from watchkeeper.runtime.protobuf import EXTENSIONS, MAGIC, META, Messages, ProtobufError

Object = Mapping[str, Any]
_SCHEMA = f"{EXTENSIONS}JSONSchemaProps"
_TIME = f"{META}Time"
_MICRO_TIME = f"{META}MicroTime"
_64 = (1 << 64) - 1


class HasPointer(Protocol):
    """What is known of a field besides its number."""

    @property
    def pointer(self) -> bool:
        """Whether it can be unset."""
        ...


Fields = Mapping[str, HasPointer]
_Write = Callable[[Any], bytes]
_Plan = tuple[list[bytes], dict[str, tuple[int, _Write]], list[tuple[int, _Write]]]
"""The parts of an object without fields; by name in JSON which part a field is and what writes it, tag included; and
the same of the parts whose fields are among those of the object itself."""


class _Message:
    """Writes one kind of message: a part for each field, in the order of their numbers."""

    __slots__ = ("_blank", "_embedded", "_fields", "_plan")

    def __init__(self, plan: Callable[[], _Plan]) -> None:
        """`plan` is asked when it is first written: messages may hold one another."""
        self._plan: Callable[[], _Plan] | None = plan
        self._blank: list[bytes] = []
        self._fields: dict[str, tuple[int, _Write]] = {}
        self._embedded: list[tuple[int, _Write]] = []

    def write(self, obj: Object) -> bytes:
        """Cost follows the fields that are there, of the hundreds that there could be."""
        if self._plan is not None:
            self._blank, self._fields, self._embedded = self._plan()
            self._plan = None
        parts = self._blank.copy()
        for index, write in self._embedded:
            parts[index] = write(obj)
        known = self._fields
        for field, value in obj.items():
            if value is not None and (found := known.get(field)) is not None:
                index, write = found
                parts[index] = write(value)
        return b"".join(parts)


class ProtobufWriter:
    """Writes messages by the table that `ProtobufReader` reads them by."""

    def __init__(self, messages: Messages, fields_of: Callable[[str], Fields | None]) -> None:
        """`fields_of` knows the fields of a message by their names in JSON; None: they are among those of the message
        that embeds it."""
        self._messages = messages
        self._fields_of = fields_of
        self._known: dict[tuple[str, str], _Message] = {}
        self._special = self._writers()

    def write(self, name: str, obj: Object) -> bytes:
        """The message of an object. Raises ProtobufError for what does not fit, or for a message that is not known."""
        if name not in self._messages:
            raise ProtobufError(f"no message {name} is known")
        try:
            return self._message(name, name).write(obj)
        except (TypeError, ValueError, AttributeError, struct.error, RecursionError) as error:
            raise ProtobufError(f"{name}: {error}") from None

    def items(self, name: str) -> tuple[bytes, str, bool]:
        """Of a list's message: the tag and the message of its items, and whether they come before all else.

        Raises ProtobufError for what is no list.
        """
        fields = self._messages.get(name, {})
        numbers = [number for number, (field, _, often) in fields.items() if field == "items" and often == "list"]
        if not numbers or numbers[0] not in (first := min(fields), max(fields)):
            raise ProtobufError(f"{name} is no list")
        return _tag(numbers[0], 2), fields[numbers[0]][1], numbers[0] == first

    def _message(self, name: str, owner: str) -> _Message:
        message = self._known.get((name, owner))
        if message is None:
            message = self._known[name, owner] = _Message(lambda: self._planned(name, owner))
        return message

    def _planned(self, name: str, owner: str) -> _Plan:
        known = self._fields_of(name)
        if known is None:
            known = self._fields_of(owner) or {}
        else:
            owner = name
        blank: list[bytes] = []
        fields: dict[str, tuple[int, _Write]] = {}
        embedded: list[tuple[int, _Write]] = []
        for index, (number, (field, kind, often)) in enumerate(sorted(self._messages[name].items())):
            if not field:
                embedded.append((index, _sized_with(_tag(number, 2), self._message(kind, owner).write)))
                blank.append(b"")
                continue
            fields[field] = index, self._field(number, kind, often)
            of_field = known.get(field)
            by_value = not often and of_field is not None and not of_field.pointer and kind != "bytes"
            blank.append(_tag(number, _wire(kind)) + self._zero(kind) if by_value else b"")
        return blank, fields, embedded

    def _field(self, number: int, kind: str, often: str) -> _Write:
        """What writes all that a field holds."""
        if not often:
            return self._value(number, kind)
        if often == "list":
            return _listed(self._value(number, kind))
        if kind in ("int32", "int64", "bool"):
            raise ProtobufError(f"maps of {kind} are not known")
        return _mapped(_tag(number, 2), self._value(2, kind))

    def _value(self, number: int, kind: str) -> _Write:
        """What writes one value, its tag and its length included."""
        tag = _tag(number, _wire(kind))
        if kind == "string":
            return _text_with(tag)
        if kind in _SCALARS:
            return _with(tag, _SCALARS[kind][1])
        return _sized_with(tag, self._special.get(kind) or self._message(kind, kind).write)

    def _zero(self, kind: str) -> bytes:
        """What is written for a value that nobody has set."""
        if kind in _SCALARS:
            return _ZEROS[kind]
        if kind in _SPECIAL_ZEROS:
            return _sized(_SPECIAL_ZEROS[kind])
        if kind in self._special:
            return b"\x00"
        return _sized(self._message(kind, kind).write({}))

    def _writers(self) -> dict[str, _Write]:
        """Messages whose JSON is not an object of their fields."""

        def schema(value: Any) -> bytes:
            return _sized(self._message(_SCHEMA, _SCHEMA).write(value))

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
    head, tail = envelope(api_version, kind, len(message))
    return b"%b%b%b" % (head, message, tail)


def envelope(api_version: str, kind: str, size: int) -> tuple[bytes, bytes]:
    """What comes before and after a message of `size` bytes in `write_envelope`."""
    type_meta = b"\x0a%b\x12%b" % (_text(api_version), _text(kind))
    return b"%b\x0a%b\x12%b" % (MAGIC, _sized(type_meta), _varint(size)), b"\x1a\x00\x22\x00"


def write_field(tag: bytes, message: bytes) -> bytes:
    """A message as a field of another one."""
    return tag + _sized(message)


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


def _tag(number: int, wire: int) -> bytes:
    return _varint(number << 3 | wire)


def _wire(kind: str) -> int:
    return _SCALARS[kind][0] if kind in _SCALARS else 2


def _with(tag: bytes, write: _Write) -> _Write:
    return lambda value: tag + write(value)


def _sized_with(tag: bytes, write: _Write) -> _Write:
    def sized(value: Any) -> bytes:
        data = write(value)
        size = len(data)
        return tag + (_BYTES[size] if size < 0x80 else _varint(size)) + data

    return sized


def _text_with(tag: bytes) -> _Write:
    def text(value: str) -> bytes:
        data = value.encode()
        size = len(data)
        return tag + (_BYTES[size] if size < 0x80 else _varint(size)) + data

    return text


def _listed(write: _Write) -> _Write:
    return lambda value: b"".join([write(item) for item in value])


def _mapped(tag: bytes, write: _Write) -> _Write:
    return lambda value: b"".join(
        [tag + _sized(b"\x0a%b%b" % (_text(key), write(value[key]))) for key in sorted(value)]
    )


_BYTES = [bytes([n]) for n in range(0x80)]


def _sized(data: bytes) -> bytes:
    size = len(data)
    return (_BYTES[size] if size < 0x80 else _varint(size)) + data


def _text(value: str) -> bytes:
    data = value.encode()
    size = len(data)
    return (_BYTES[size] if size < 0x80 else _varint(size)) + data


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
    since = since_epoch(value)
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
