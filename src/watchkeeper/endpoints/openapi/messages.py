"""How documents of OpenAPI are written in protobuf, whichever version's messages.

Messages are written by a table: for each field of a JSON object, its number and how its value is written. Extensions
hold their value as YAML, of which JSON is a part. Values that proto3 does not write (0, false, "") are left out. Maps
are repeated entries, so the content of a large one may be written in pieces.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import orjson

Write = Callable[[int, Any], bytes]
"""Writes a value as the field of a number."""
Table = Mapping[str, tuple[int, Write]]
"""Fields of a JSON object -> the numbers of the message's fields, and how their values are written."""

_VARINT, _FIXED64, _BYTES = 0, 1, 2


def varint(value: int) -> bytes:
    """A number, 64 bits when negative."""
    if value < 0x80:
        return bytes((value & 0x7F,)) if value >= 0 else varint(value + (1 << 64))
    found = bytearray()
    while value >= 0x80:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


_STARTS = [varint(number << 3 | _BYTES) for number in range(64)]
_LENGTHS = [varint(length) for length in range(1024)]


def start(number: int, length: int) -> bytes:
    """What stands before the bytes of a field. Numbers of fields are below 64."""
    return _STARTS[number] + (_LENGTHS[length] if length < 1024 else varint(length))


def sized(number: int, value: bytes) -> bytes:
    """A field of bytes, or a message that is written already."""
    return start(number, len(value)) + value


def text(number: int, value: Any) -> bytes:
    """A field of text."""
    return sized(number, str(value).encode()) if value else b""


def flag(number: int, value: Any) -> bytes:
    """A field that is true or left out."""
    return varint(number << 3 | _VARINT) + b"\x01" if value is True else b""


def boolean(number: int, value: bool) -> bytes:
    """One of several fields of which one is written, even if it is false."""
    return varint(number << 3 | _VARINT) + bytes((value,))


def integer(number: int, value: Any) -> bytes:
    """A field of a whole number."""
    return varint(number << 3 | _VARINT) + varint(int(value)) if value else b""


def double(number: int, value: Any) -> bytes:
    """A field of a floating-point number."""
    return varint(number << 3 | _FIXED64) + struct.pack("<d", value) if value else b""


def any_value(number: int, value: Any) -> bytes:
    """Message Any: the value as YAML."""
    return sized(number, sized(2, orjson.dumps(value) + b"\n"))


def fields(table: Table, obj: Mapping[str, Any], extensions: int) -> bytes:
    """The content of a message; extensions are its field of that number."""
    found = []
    for key, value in obj.items():
        entry = table.get(key)
        if entry is not None:
            number, write = entry
            found.append(write(number, value))
        elif key.startswith("x-"):
            found.append(sized(extensions, text(1, key) + any_value(2, value)))
    return b"".join(found)


def message(table: Table, extensions: int, *within: int) -> Write:
    """A message, itself the only field, of number `within`, of another one, and so on outwards."""

    def write(number: int, value: Any) -> bytes:
        content = fields(table, value, extensions)
        for field in within:
            content = sized(field, content)
        return sized(number, content)

    return write


def remembered(write: Write) -> Write:
    """What `write` writes of a few values that stand in thousands of places."""

    @functools.lru_cache(maxsize=1000)
    def known(number: int, encoded: bytes) -> bytes:
        return write(number, orjson.loads(encoded))

    return lambda number, value: known(number, orjson.dumps(value))


def repeated(write: Write) -> Write:
    """A list of what `write` writes."""
    return lambda number, values: b"".join([write(number, value) for value in values])


def repeated_text(number: int, values: Iterable[str]) -> bytes:
    """A list of texts."""
    return b"".join([sized(number, value.encode()) for value in values])


def entries(number: int, values: Mapping[str, Any], write: Write) -> bytes:
    """A map, as a repeated message of a name and a value."""
    return b"".join([sized(number, text(1, name) + write(2, value)) for name, value in values.items()])


def mapping(write: Write, field: int = 1) -> Write:
    """A map within a message that has nothing else."""
    return lambda number, values: sized(number, entries(field, values, write))


external_docs = message({"description": (1, text), "url": (2, text)}, 3)
"""Where more is told, which is the same message in both versions."""
