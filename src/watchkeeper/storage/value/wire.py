"""As much of the protocol buffers encoding as key management needs: numbers, bytes, and maps of text to bytes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

_VARINT = 0
_BYTES = 2


@dataclass(slots=True)
class Message:
    """The fields of a message by number; of a field that is there twice, the last. Maps keep all their entries."""

    numbers: dict[int, int] = field(default_factory=dict)
    values: dict[int, list[bytes]] = field(default_factory=dict)

    def data(self, number: int) -> bytes:
        """A bytes field; b"" when it is absent."""
        found = self.values.get(number)
        return found[-1] if found else b""

    def text(self, number: int) -> str:
        """A string field. Raises ValueError when it is not UTF-8."""
        return self.data(number).decode()

    def map(self, number: int) -> dict[str, bytes]:
        """A map<string, bytes> field."""
        entries = [decode(entry) for entry in self.values.get(number, ())]
        return {entry.text(1): entry.data(2) for entry in entries}


def decode(data: bytes) -> Message:
    """Read a message. Raises ValueError."""
    message = Message()
    at = 0
    while at < len(data):
        tag, at = _read_varint(data, at)
        number, kind = tag >> 3, tag & 7
        if kind == _VARINT:
            message.numbers[number], at = _read_varint(data, at)
        elif kind == _BYTES:
            length, at = _read_varint(data, at)
            if at + length > len(data):
                raise ValueError("a field is cut off")
            message.values.setdefault(number, []).append(data[at : at + length])
            at += length
        else:
            raise ValueError(f"a field has the unexpected wire type {kind}")
    return message


def encode(fields: Iterable[tuple[int, int | bytes | str | Mapping[str, bytes]]]) -> bytes:
    """Write a message; fields with zero values are left out, maps are sorted."""
    out = bytearray()
    for number, value in fields:
        if isinstance(value, int):
            if value:
                out += _varint(number << 3 | _VARINT) + _varint(value)
        elif isinstance(value, Mapping):
            for name in sorted(value):
                out += _delimited(number, encode(((1, name), (2, value[name]))))
        elif value:
            out += _delimited(number, value.encode() if isinstance(value, str) else value)
    return bytes(out)


def _delimited(number: int, data: bytes) -> bytes:
    return _varint(number << 3 | _BYTES) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise ValueError("a number is cut off or too long")
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:
            return value, at
        shift += 7
