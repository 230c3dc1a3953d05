"""How answers of HTTP servers begin, judged as Go's client judges them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

_status_parts = re.compile(rb"HTTP/([0-9]\.[0-9]) +([1-9][0-9]{2})(?: |\r?\n)").match
_is_version = re.compile(rb"HTTP/[0-9]\.[0-9]").fullmatch
_TOKEN = rb"!#$%&'*+\-.^_`|~0-9A-Za-z"
_VALUE = rb"([\t\x20-\x7e\x80-\xff]*)"
_field_parts = re.compile(rb"([" + _TOKEN + rb" ]+):" + _VALUE).fullmatch
_plain_fields = re.compile(rb"^([" + _TOKEN + rb"]+):" + _VALUE + rb"\r?\n", re.MULTILINE).findall
_MAX_LENGTH = (1 << 63) - 1
_BLANKS = b" \t"
_FRAMING = frozenset({b"connection", b"content-length", b"trailer", b"transfer-encoding"})
_NO_TRAILERS = frozenset({b"content-length", b"trailer", b"transfer-encoding"})

Headers = tuple[tuple[bytes, bytes], ...]


class BrokenHead(Exception):
    """An answer began and its head came to no good end; the message tells why in the words of Go's client."""


class Head(NamedTuple):
    """How an answer begins. Names of headers are in lower case."""

    status: int
    headers: Headers
    """Without those whose names have blanks in them, which nobody means and everybody might take for another."""
    chunked: bool
    """Whether the body comes in chunks."""
    length: int | None
    """How long the body is if it does not, None when that is not told."""
    leaves_open: bool
    """Whether the connection goes on after an answer that has an end of its own."""
    raw: bytes
    """As it came, with the empty line behind it."""

    def values(self, name: bytes) -> list[bytes]:
        """All values of a header."""
        return [value for each, value in self.headers if each == name]

    def first(self, name: bytes) -> bytes:
        """The first value of a header, empty when there is none."""
        return next((value for each, value in self.headers if each == name), b"")

    def by_name(self) -> dict[str, str]:
        """The headers by their names; of several of a name the first."""
        return {name.decode("latin-1"): value.decode("latin-1") for name, value in reversed(self.headers)}

    @property
    def is_interim(self) -> bool:
        """Whether another one follows that tells of the request."""
        return self.status < 200 and self.status != 101

    def has_body(self, method: str) -> bool:
        """Whether anything follows that belongs to the answer to such a request."""
        return method != "HEAD" and self.status >= 200 and self.status not in (204, 304)


def parse_status_line(block: bytes) -> tuple[bytes, int]:
    """The version and the status in the first line. Raises BrokenHead, also for a status that nobody could pass on."""
    found = _status_parts(block)
    if found is None:
        raise BrokenHead(_no_status_line(block.partition(b"\n")[0].removesuffix(b"\r")))
    version, status = found.groups()
    return version, int(status)


def parse_head(block: bytes) -> Head:
    """The head in lines, the last of which is empty. Raises BrokenHead."""
    start = block.index(b"\n") + 1
    version, status = parse_status_line(block)
    headers = parse_fields(block, start)
    framing: dict[bytes, list[bytes]] = {}
    for name, value in headers:
        if name in _FRAMING:
            framing.setdefault(name, []).append(value)
    chunked = b"transfer-encoding" in framing and version >= b"1.1" and _is_chunked(framing[b"transfer-encoding"])
    lengths = framing.get(b"content-length", ())
    length = _length_of(lengths)
    if len(lengths) > 1:
        headers = [*(pair for pair in headers if pair[0] != b"content-length"), (b"content-length", lengths[0])]
    if chunked:
        length = None
        _check_trailers(framing.get(b"trailer", ()))
    leaves_open = status != 101 and _leaves_open(framing.get(b"connection", ()), version)
    return Head(status, tuple(headers), chunked, length, leaves_open, block)


def parse_fields(block: bytes, start: int = 0) -> list[tuple[bytes, bytes]]:
    """The headers in lines from `start` on, of which the last one is empty. Raises BrokenHead."""
    found = _plain_fields(block, start)  # what all servers send; the rest is gone through line by line
    if len(found) != block.count(b"\n", start) - 1:
        found = [_parts(field) for field in _unfolded(block[start:].split(b"\n")[:-2])]
        found = [pair for pair in found if b" " not in pair[0]]
    return [(name.lower(), value.strip()) for name, value in found]


def _unfolded(lines: Iterable[bytes]) -> Iterator[bytes]:
    """The fields in lines, each of which may go on in lines that begin with blanks."""
    parts: list[bytes] = []
    for each in lines:
        line = each.removesuffix(b"\r")
        if line[:1] in (b" ", b"\t"):
            if not parts:
                raise BrokenHead(f"malformed MIME header initial line: {quoted(line)}")
            parts.append(line.strip(_BLANKS))
            continue
        if parts:
            yield b" ".join(parts)
        parts = [line.rstrip(_BLANKS)]
        if b":" not in line:
            raise BrokenHead(f"malformed MIME header: missing colon: {quoted(line)}")
    if parts:
        yield b" ".join(parts)


def _parts(field: bytes) -> tuple[bytes, bytes]:
    found = _field_parts(field)
    if found is None:
        raise BrokenHead(f"malformed MIME header line: {quoted(field)}")
    return found[1], found[2]


def quoted(text: bytes) -> str:
    """A text in quotes as Go writes it, but for escapes that hardly anybody knows."""
    escaped = text.replace(b"\\", b"\\\\").replace(b'"', b'\\"').decode("utf-8", "backslashreplace")
    if not escaped.isprintable():
        escaped = "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in escaped)
    return f'"{escaped}"'


def canonical(name: bytes) -> str:
    """The name of a header as Go writes it."""
    return "-".join(part.capitalize() for part in name.decode("latin-1").split("-"))


def _no_status_line(line: bytes) -> str:
    version, blank, rest = line.partition(b" ")
    if not blank:
        return f"malformed HTTP response {quoted(line)}"
    status = rest.lstrip(b" ").partition(b" ")[0]
    if len(status) == 3 and status.isdigit() and not _is_version(version):
        return f"malformed HTTP version {quoted(version)}"
    return f"malformed HTTP status code {quoted(status)}"


def _tokens(values: Iterable[bytes]) -> frozenset[bytes]:
    return frozenset(token.strip(_BLANKS).lower() for value in values for token in value.split(b","))


def _is_chunked(encodings: Sequence[bytes]) -> bool:
    if len(encodings) > 1:
        raise BrokenHead(f"too many transfer encodings: {_listed(encodings)}")
    if encodings and encodings[0].lower() != b"chunked":
        raise BrokenHead(f"unsupported transfer encoding: {quoted(encodings[0])}")
    return bool(encodings)


def _length_of(lengths: Sequence[bytes]) -> int | None:
    if not lengths:
        return None
    told = lengths[0]
    if lengths.count(told) != len(lengths):
        raise BrokenHead(f"http: message cannot contain multiple Content-Length headers; got {_listed(lengths)}")
    if not told:
        raise BrokenHead('invalid empty Content-Length ""')
    if told.isdigit() and len(digits := told.lstrip(b"0") or b"0") < 20 and (length := int(digits)) <= _MAX_LENGTH:
        return length
    raise BrokenHead(f"bad Content-Length {quoted(told)}")


def _check_trailers(announced: Iterable[bytes]) -> None:
    for name in _NO_TRAILERS & _tokens(announced):
        raise BrokenHead(f'bad trailer key "{canonical(name)}"')


def _leaves_open(said: Sequence[bytes], version: bytes) -> bool:
    if not said:
        return version > b"1.0"
    tokens = _tokens(said)
    return b"close" not in tokens and (version > b"1.0" or (version == b"1.0" and b"keep-alive" in tokens))


def _listed(values: Iterable[bytes]) -> str:
    return "[" + " ".join(map(quoted, values)) + "]"
