"""DER as Go reads it: into the structs of PKCS#10 requests, and element by element out of certificates.

Only the form is looked at, and only for the words in which the reference refuses what has another.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

_SEQUENCE = 16
_CONTEXT = 2
_LONG_TAG = 0x1F
_MAX_SHIFTED = 1 << 23
"""Lengths that grow beyond this are too large."""


class DerFault(ValueError):
    """What is wrong, in Go's words."""


def _syntax(text: str) -> DerFault:
    return DerFault(f"asn1: syntax error: {text}")


def _structure(text: str) -> DerFault:
    return DerFault(f"asn1: structure error: {text}")


@dataclass(frozen=True, slots=True)
class _Header:
    """The tag and length of an element."""

    number_class: int
    tag: int
    length: int
    compound: bool

    def __str__(self) -> str:
        compound = str(self.compound).lower()
        return f"{{class:{self.number_class} tag:{self.tag} length:{self.length} isCompound:{compound}}}"


def _fits(_content: bytes) -> None:
    """The rule of content that is not looked at."""


@dataclass(frozen=True, slots=True)
class _Shape:
    """A Go type that an element is read into. A `tag` of None takes any element."""

    name: str
    tag: int | None
    fields: tuple[_Shape, ...] = ()
    compound: bool = False
    context: bool = False
    """Whether the tag is one that its surroundings give it."""
    listed: bool = False
    """Whether there may be any number of `fields[0]`."""
    optional: bool = False
    check: Callable[[bytes], None] = _fits


def _integer(content: bytes) -> None:
    if not content:
        raise _structure("empty integer")
    if len(content) > 1 and ((content[0] == 0 and content[1] < 0x80) or (content[0] == 0xFF and content[1] >= 0x80)):
        raise _structure("integer not minimally-encoded")
    if len(content) > 8:
        raise _structure("integer too large")


def _identifier(content: bytes) -> None:
    if not content:
        raise _syntax("zero length OBJECT IDENTIFIER")
    at = 0
    while at < len(content):
        _, at = _base_128(content, at)


def _bits(content: bytes) -> None:
    if not content:
        raise _syntax("zero length BIT STRING")
    padding = content[0]
    unused = (1 << padding) - 1
    if padding > 7 or (len(content) == 1 and padding) or (padding and content[-1] & unused):
        raise _syntax("invalid padding bits in BIT STRING")


_ANY = _Shape("RawValue", None)
_BITS = _Shape("BitString", 3, check=_bits)
_ALGORITHM = _Shape(
    "AlgorithmIdentifier",
    _SEQUENCE,
    (_Shape("ObjectIdentifier", 6, check=_identifier), _Shape("RawValue", None, optional=True)),
    compound=True,
)
_REQUEST = _Shape(
    "certificateRequest",
    _SEQUENCE,
    (
        _Shape(
            "tbsCertificateRequest",
            _SEQUENCE,
            (
                _Shape("int", 2, check=_integer),
                _ANY,
                _Shape("publicKeyInfo", _SEQUENCE, (_ALGORITHM, _BITS), compound=True),
                _Shape("", 0, (_ANY,), compound=True, context=True, listed=True),
            ),
            compound=True,
        ),
        _ALGORITHM,
        _BITS,
    ),
    compound=True,
)


def request_form_fault(der: bytes) -> str:
    """Why this does not have the form of a PKCS#10 request; "" when it has."""
    try:
        end = _read(der, 0, _REQUEST)
    except DerFault as fault:
        return str(fault)
    return "" if end == len(der) else "asn1: syntax error: trailing data"


def _read(data: bytes, start: int, shape: _Shape) -> int:
    """Where the element ends. Raises DerFault."""
    if start == len(data):
        if shape.optional:
            return start
        raise _syntax("sequence truncated")
    header, at = _header(data, start)
    if shape.tag is not None:
        wanted = (_CONTEXT if shape.context else 0, shape.tag, shape.compound)
        if (header.number_class, header.tag, header.compound) != wanted:
            raise _structure(f"tags don't match ({shape.tag} vs {header}) {_parameters(shape)} {shape.name} @{at}")
    end = at + header.length
    if end > len(data):
        raise _syntax("data truncated")
    content = data[at:end]
    shape.check(content)
    if shape.listed:
        inner = 0
        while inner < len(content):
            inner = _read(content, inner, shape.fields[0])
    else:
        inner = 0
        for each in shape.fields:
            inner = _read(content, inner, each)
    return end


def _parameters(shape: _Shape) -> str:
    return (
        f"{{optional:{str(shape.optional).lower()} explicit:false application:false private:false "
        "defaultValue:<nil> tag:<nil> stringType:0 timeType:0 set:false omitEmpty:false}"
    )


def _header(data: bytes, at: int) -> tuple[_Header, int]:
    first, at = data[at], at + 1
    tag = first & _LONG_TAG
    if tag == _LONG_TAG:
        tag, at = _base_128(data, at)
        if tag < _LONG_TAG:
            raise _syntax("non-minimal tag")
    length, at = _length(data, at)
    return _Header(first >> 6, tag, length, bool(first & 0x20)), at


def _length(data: bytes, at: int) -> tuple[int, int]:
    if at >= len(data):
        raise _syntax("truncated tag or length")
    length, at = data[at], at + 1
    if length < 0x80:
        return length, at
    count, length = length & 0x7F, 0
    if not count:
        raise _syntax("indefinite length found (not DER)")
    end = at + count
    for byte in data[at:end]:
        if length >= _MAX_SHIFTED:
            raise _structure("length too large")
        length = length << 8 | byte
        if not length:
            raise _structure("superfluous leading zeros in length")
    if end > len(data):
        raise _syntax("truncated tag or length")
    if length < 0x80:
        raise _structure("non-minimal length")
    return length, end


def _base_128(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shifted in range(len(data) - at):
        if shifted == 5:
            raise _structure("base 128 integer too large")
        byte = data[at + shifted]
        if not shifted and byte == 0x80:
            raise _syntax("integer is not minimally encoded")
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            if value > 0x7FFFFFFF:
                raise _structure("base 128 integer too large")
            return value, at + shifted + 1
    raise _syntax("truncated base 128 integer")


_UNREADABLE = "x509: malformed certificate"
_WHOLE = 0x30
"""The first byte of a sequence."""


def split_certificates(der: bytes) -> list[bytes]:
    """The certificates that follow each other. Raises DerFault."""
    found = []
    while der:
        end = _element(der, _WHOLE)[1]
        found.append(der[:end])
        der = der[end:]
    return found


def _element(data: bytes, tag: int, fault: str = _UNREADABLE) -> tuple[int, int]:
    """Where the content of the first element begins and ends. Raises DerFault with the words of `fault`."""
    if not data or data[0] != tag:
        raise DerFault(fault)
    try:
        length, at = _length(data, 1)
    except DerFault as error:
        raise DerFault(fault) from error
    if at + length > len(data):
        raise DerFault(fault)
    return at, at + length


def certificate_form_fault(der: bytes) -> str:
    """What is wrong first with the parts of one certificate as such; "" when it is something else, or nothing."""
    try:
        _read_certificate(der)
    except DerFault as fault:
        return str(fault)
    return ""


def at_version_3(der: bytes) -> bytes:
    """A certificate of well-formed parts that says to be of version 1 or 2, as one of version 3; others as they are.

    Go reads extensions at every version, and a version 1 that is spelled out.
    """
    at = _element(der, _WHOLE)[0]
    at += _element(der[at:], _WHOLE)[0]
    if der[at : at + 4] == _VERSION and der[at + 4] < 2:
        return der[: at + 4] + b"\x02" + der[at + 5 :]
    return der


_VERSION = b"\xa0\x03\x02\x01"
"""What stands before the byte that is the version."""


def _read_certificate(der: bytes) -> None:
    start, end = _element(der, _WHOLE)
    rest = der[start:end]
    start, end = _element(rest, _WHOLE, "x509: malformed tbs certificate")
    signed, rest = rest[start:end], rest[end:]
    if signed and signed[0] == 0xA0:
        start, end = _element(signed, 0xA0, "x509: malformed version")
        inner, signed = signed[start:end], signed[end:]
        start, end = _element(inner, 0x02, "x509: malformed version")
        version = int.from_bytes(inner[start:end], signed=True)
        if end != len(inner) or version < 0:
            raise DerFault("x509: malformed version")
        if version > 2:
            raise DerFault("x509: invalid version")
    start, end = _element(signed, 0x02, "x509: malformed serial number")
    serial, signed = signed[start:end], signed[end:]
    # The sign takes one bit, and no more.
    if not serial or (len(serial) > 1 and serial[0] in (0, 0xFF) and (serial[0] ^ serial[1]) < 0x80):
        raise DerFault("x509: malformed serial number")
    if serial[0] >= 0x80:
        raise DerFault("x509: negative serial number")
    start, end = _element(signed, _WHOLE, "x509: malformed signature algorithm identifier")
    algorithm, signed = signed[start:end], signed[end:]
    start, end = _element(rest, _WHOLE, "x509: malformed algorithm identifier")
    outer, rest = rest[start:end], rest[end:]
    if outer != algorithm:
        raise DerFault("x509: inner and outer signature algorithm identifiers don't match")
    for part in ("issuer", "validity", "issuer", "spki"):
        _, end = _element(signed, _WHOLE, f"x509: malformed {part}")
        signed = signed[end:]
    _element(rest, 0x03, "x509: malformed signature")
