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
_HALVES = "=&|"
"""What begins an operator and is none."""
_ESCAPE = re.compile(r"""\\(?:[abfnrtv"'`\\?]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7]{2})""")
_ESCAPE_BEGUN = re.compile(r"""\\(?:[xX][0-9a-fA-F]{0,1}|u[0-9a-fA-F]{0,3}|U[0-9a-fA-F]{0,7}|[0-3][0-7]{0,1})?""")
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


def tokenize(source: str) -> tuple[list[Token], list[Issue]]:
    """All tokens, the last of kind `end`, and what is none: it is left out, as cel-go's lexer does.

    Raises CompileError for a token without a value.
    """
    tokens: list[Token] = []
    issues: list[Issue] = []
    at = 0
    while at < len(source):
        found = _TOKEN.match(source, at)
        kind = (found.lastgroup or "") if found is not None else ""
        if found is None or (kind == "string" and not _is_whole(source, at, found.group())):
            at = _recover(source, at, found, tokens, issues)
            continue
        if kind == "string":
            token, at = _string(source, at, found.group())
            tokens.append(token)
            continue
        if kind != "space":
            tokens.append(_token(source, kind, found.group(), at))
        at = found.end()
    tokens.append(Token("end", "<EOF>", len(source)))
    return tokens, issues


def _recover(source: str, at: int, found: re.Match[str] | None, tokens: list[Token], issues: list[Issue]) -> int:
    """Go on where no token begins, or a string that has no end: with the longest token that there is, if any."""
    opening = found.group() if found is not None else ""
    prefix = opening.rstrip("\"'")
    if prefix:  # which is a name for itself
        tokens.append(Token("ident", prefix, at, prefix))
        return at + len(prefix)
    if len(opening) == 3:  # two of its quotes are an empty string
        tokens.append(Token("string", opening[:2], at, ""))
        return at + 2
    if opening:
        end = min(_end_of_text(source, at, opening)[0] + 1, len(source))
    else:
        end = at + (2 if source[at] in _HALVES else 1)
    text = source[at:end].replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r")
    issues.append(Issue(at, f"Syntax error: token recognition error at: '{text}'"))
    return end


def _is_whole(source: str, at: int, opening: str) -> bool:
    return _end_of_text(source, at, opening)[1]


def _end_of_text(source: str, start: int, opening: str) -> tuple[int, bool]:
    """Where the text of a string ends, and whether at its closing quote or at what cannot be in it."""
    prefix = opening.rstrip("\"'").lower()
    quote = opening[len(prefix) :]
    at = start + len(opening)
    while at < len(source) and not source.startswith(quote, at):
        if len(quote) == 1 and source[at] in "\r\n":
            return at, False
        if source[at] != "\\" or "r" in prefix:
            at += 1
            continue
        escape = _ESCAPE.match(source, at)
        if escape is None:
            begun = _ESCAPE_BEGUN.match(source, at)
            return (begun.end() if begun is not None else at), False
        at = escape.end()
    return at, at < len(source)


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
    begin = start + len(opening)
    at, _ = _end_of_text(source, start, opening)
    body = source[begin:at]
    end = at + len(quote)
    if len(quote) == 3:
        body = body.replace("\r\n", "\n").replace("\r", "\n")
    value: Any
    if is_bytes:
        value = body.encode() if raw else _unescape_bytes(source, start, body)
    else:
        value = body if raw else _unescape(source, start, body)
    return Token("bytes" if is_bytes else "string", source[start:end], start, value), end


def _unescape(source: str, start: int, body: str) -> str:
    if "\\" not in body:
        return body
    return "".join(chr(piece) for piece, _ in _pieces(source, start, body))


def _unescape_bytes(source: str, start: int, body: str) -> bytes:
    out = bytearray()
    for piece, is_byte in _pieces(source, start, body):
        out += bytes((piece,)) if is_byte else chr(piece).encode()
    return bytes(out)


def _pieces(source: str, start: int, body: str) -> list[tuple[int, bool]]:
    """Code points of a text with sound escapes, and for each whether an escape wrote it as one byte."""
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
        number = int(digits, base)
        if number > 0x10FFFF or 0xD800 <= number <= 0xDFFF:
            raise _error(source, start, "invalid unicode code point")
        out.append((number, width in (2, 3)))
        at += width + (2 if base == 16 else 1)
    return out
