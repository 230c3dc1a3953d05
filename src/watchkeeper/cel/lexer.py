"""Splits an expression into tokens."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from watchkeeper.cel.source import CompileError, Issue
from watchkeeper.cel.values import Uint
from watchkeeper.cel.words import words

RESERVED = words("as break const continue else for function if import let loop package namespace return var void while")
_TOKEN = re.compile(
    r"""
    (?P<space>[ \t\r\n\f]+|//[^\n]*)
  | (?P<string>[rR]?[bB]?(?:\"{3}|'{3}|["'])|[bB][rR](?:\"{3}|'{3}|["']))
  | (?P<float>[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|\.[0-9]+(?:[eE][+-]?[0-9]+)?)
  | (?P<uint>0x[0-9a-fA-F]+[uU]|[0-9]+[uU])
  | (?P<int>0x[0-9a-fA-F]+|[0-9]+)
  | (?P<quoted>`[a-zA-Z0-9_.\-/ ]*`)
  | (?P<ident>[A-Za-z_][A-Za-z0-9_]*)
  | (?P<op>==|!=|<=|>=|&&|\|\||[-+*/%<>!?:.,()\[\]{}])
    """,
    re.VERBOSE,
)
_ESCAPES = {
    "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
    "\\": "\\", "'": "'", '"': '"', "`": "`", "?": "?",
}  # fmt: skip
MAX_INT, MIN_INT, MAX_UINT = 2**63 - 1, -(2**63), 2**64 - 1


@dataclass(frozen=True, slots=True)
class Token:
    """`kind` is int, uint, float, string, bytes, ident, quoted, op or end; `text` as written, `value` what it means."""

    kind: str
    text: str
    offset: int
    value: Any = None


def tokenize(source: str) -> list[Token]:
    """All tokens, the last of kind `end`. Raises CompileError."""
    tokens: list[Token] = []
    at = 0
    while at < len(source):
        found = _TOKEN.match(source, at)
        if found is None:
            raise _error(source, at, f"Syntax error: token recognition error at: '{source[at]}'")
        kind = found.lastgroup or ""
        if kind == "string":
            token, at = _string(source, at, found.group())
            tokens.append(token)
            continue
        if kind != "space":
            tokens.append(_token(source, kind, found.group(), at))
        at = found.end()
    tokens.append(Token("end", "<EOF>", len(source)))
    return tokens


def _token(source: str, kind: str, text: str, at: int) -> Token:
    match kind:
        case "float":
            value = float(text)
            if value in (float("inf"), float("-inf")):
                raise _error(source, at, "invalid double literal")
            return Token(kind, text, at, value)
        case "uint":
            number = int(text[:-1], 0 if text.startswith("0x") else 10)
            if number > MAX_UINT:
                raise _error(source, at, "invalid uint literal")
            return Token(kind, text, at, Uint(number))
        case "int":
            return Token(kind, text, at, int(text, 16 if text.startswith("0x") else 10))
        case _:
            return Token(kind, text, at, text)


def _error(source: str, at: int, message: str) -> CompileError:
    return CompileError(source, [Issue(at, message)])


def _string(source: str, start: int, opening: str) -> tuple[Token, int]:
    prefix = opening.rstrip("\"'").lower()
    quote = opening[len(prefix) :]
    raw, is_bytes = "r" in prefix, "b" in prefix
    at = start + len(opening)
    begin = at
    while not source.startswith(quote, at):
        if at >= len(source) or (len(quote) == 1 and source[at] in "\r\n"):
            unfinished = source[start : at if at < len(source) else len(source)]
            raise _error(source, start, f"Syntax error: token recognition error at: '{unfinished}'")
        at += 2 if source[at] == "\\" and not raw else 1
    body = source[begin:at]
    end = at + len(quote)
    if len(quote) == 3:
        body = body.replace("\r\n", "\n").replace("\r", "\n")
    value: Any
    if is_bytes:
        value = body.encode() if raw else _unescape_bytes(source, begin, body)
    else:
        value = body if raw else _unescape(source, begin, body)
    return Token("bytes" if is_bytes else "string", source[start:end], start, value), end


def _unescape(source: str, begin: int, body: str) -> str:
    if "\\" not in body:
        return body
    return "".join(chr(piece) for piece, _ in _pieces(source, begin, body))


def _unescape_bytes(source: str, begin: int, body: str) -> bytes:
    out = bytearray()
    for piece, is_byte in _pieces(source, begin, body):
        out += bytes((piece,)) if is_byte else chr(piece).encode()
    return bytes(out)


def _pieces(source: str, begin: int, body: str) -> list[tuple[int, bool]]:
    """Code points of a text, and for each whether an escape wrote it as one byte."""
    out: list[tuple[int, bool]] = []
    at = 0
    while at < len(body):
        ch = body[at]
        if ch != "\\":
            out.append((ord(ch), False))
            at += 1
            continue
        code = body[at + 1 : at + 2]
        if code in _ESCAPES and code:
            out.append((ord(_ESCAPES[code]), False))
            at += 2
            continue
        width, base = {"x": (2, 16), "X": (2, 16), "u": (4, 16), "U": (8, 16)}.get(code, (3, 8))
        digits = body[at + 2 : at + 2 + width] if base == 16 else body[at + 1 : at + 4]
        try:
            number = int(digits, base) if len(digits) == width else -1
        except ValueError:
            number = -1
        surrogate = 0xD800 <= number <= 0xDFFF
        if not 0 <= number <= 0x10FFFF or surrogate or (base == 8 and number > 0o377):
            raise _error(source, begin + at, "invalid escape sequence: unable to unescape string")
        out.append((number, width in (2, 3)))
        at += width + (2 if base == 16 else 1)
    return out
