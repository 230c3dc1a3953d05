"""What is wrong with a text that is no JSON, in the words of Go's encoding/json."""

from __future__ import annotations

import re

from watchkeeper.meta.field import go_quote

_MAX_DEPTH = 10_000
"""How deep arrays and objects may be nested in a text that is looked at in full."""
UNEXPECTED_END = "unexpected end of JSON input"

_SPACE = re.compile(rb"[ \t\r\n]*")
_STRING = re.compile(rb'"(?:[^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*')
_NUMBER = re.compile(rb"-?(?:0|[1-9][0-9]*)?(?:(?<=[0-9])\.[0-9]*)?(?:(?<=[0-9])[eE][+-]?[0-9]*)?")
_HEX = frozenset(bytes([digit]) for digit in b"0123456789abcdefABCDEF")
_LITERALS = {ord("t"): b"true", ord("f"): b"false", ord("n"): b"null"}


class _SyntaxFault(Exception):
    """Ends the scan; its text is what is wrong."""


def syntax_error(data: bytes) -> str | None:
    """The first syntax error of a text, or None where there is none."""
    try:
        _Scanner(data).scan()
    except _SyntaxFault as fault:
        return str(fault)
    return None


class _Scanner:
    """Goes through a text token by token; open arrays and objects are on a stack."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0
        self._open: list[int] = []

    def scan(self) -> None:
        """Scan one value and what follows it. Raises _SyntaxFault."""
        while True:
            complete = self._value()
            while complete:
                if not self._open:
                    self._space()
                    if self._at < len(self._data):
                        raise self._fault("after top-level value")
                    return
                complete = self._after_item()

    def _value(self) -> bool:
        """Scan the begin of a value; whether that was all of it."""
        self._space()
        first = self._peek()
        if first in b"{[":
            if len(self._open) == _MAX_DEPTH:
                raise self._fault("exceeded max depth")
            self._open.append(first)
            self._at += 1
            self._space()
            if self._peek() == first + 2:
                self._at += 1
                self._open.pop()
                return True
            if first == ord("{"):
                self._key("looking for beginning of object key string")
            return False
        if first == ord('"'):
            self._string()
        elif first in _LITERALS:
            self._literal(_LITERALS[first])
        elif first == ord("-") or chr(first).isdecimal():
            self._number()
        else:
            raise self._fault("looking for beginning of value")
        return True

    def _after_item(self) -> bool:
        """Scan what follows an item of the innermost array or object; whether that ends it."""
        self._space()
        kind, found = self._open[-1], self._peek()
        if found == kind + 2:
            self._open.pop()
            self._at += 1
            return True
        if found != ord(","):
            raise self._fault("after array element" if kind == ord("[") else "after object key:value pair")
        self._at += 1
        if kind == ord("{"):
            self._space()
            self._key("looking for beginning of object key string")
        return False

    def _key(self, looking: str) -> None:
        if self._peek() != ord('"'):
            raise self._fault(looking)
        self._string()
        self._space()
        if self._peek() != ord(":"):
            raise self._fault("after object key")
        self._at += 1

    def _string(self) -> None:
        match = _STRING.match(self._data, self._at)
        assert match is not None
        self._at = match.end()
        found = self._peek()
        if found == ord("\\"):
            self._at += 1
            if self._peek_within() != b"u":
                raise self._fault("in string escape code")
            self._at += 1
            while self._peek_within() in _HEX:
                self._at += 1
            raise self._fault("in \\u hexadecimal character escape")
        if found != ord('"'):
            raise self._fault("in string literal")
        self._at += 1

    def _number(self) -> None:
        match = _NUMBER.match(self._data, self._at)
        assert match is not None
        self._at = match.end()
        last = self._data[self._at - 1]
        if last == ord("-") and match[0] == b"-":
            raise self._fault("in numeric literal")
        if last == ord("."):
            raise self._fault("after decimal point in numeric literal")
        if last in b"eE+-":
            raise self._fault("in exponent of numeric literal")

    def _literal(self, literal: bytes) -> None:
        for expected in map(chr, literal):
            if self._peek_within() != expected.encode():
                raise self._fault(f"in literal {literal.decode()} (expecting '{expected}')")
            self._at += 1

    def _space(self) -> None:
        match = _SPACE.match(self._data, self._at)
        assert match is not None
        self._at = match.end()

    def _peek(self) -> int:
        if self._at >= len(self._data):
            raise _SyntaxFault(UNEXPECTED_END)
        return self._data[self._at]

    def _peek_within(self) -> bytes:
        """The next byte of a token that is not complete; Go ends a text with a blank to find out whether one is."""
        return self._data[self._at : self._at + 1] or b" "

    def _fault(self, context: str) -> _SyntaxFault:
        found = self._peek_within().decode("latin-1")
        quoted = {"'": r"'\''", '"': "'\"'"}.get(found) or f"'{go_quote(found)[1:-1]}'"
        return _SyntaxFault(f"invalid character {quoted} {context}")
