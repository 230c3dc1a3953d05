"""Reads the text form of label selectors, with the reference's grammar and error texts.

selector    = [ requirement { "," requirement } ]
requirement = [ "!" ] KEY | KEY ( "=" | "==" | "!=" | ">" | "<" ) [ VALUE ] | KEY ( "in" | "notin" ) set
set         = "(" [ VALUE ] { "," [ VALUE ] } ")"
"""

from __future__ import annotations

import re
from typing import NamedTuple

from watchkeeper.meta import label_syntax
from watchkeeper.meta.field import invalid
from watchkeeper.meta.label_selector import Operator, Requirement, SelectorError, requirement

_END = "end"
_WORD = "word"
_SYMBOLS = (")", ",", "!", "==", "=", ">", "<", "!=", "(")
_OPERATORS = {
    "in": Operator.IN,
    "notin": Operator.NOT_IN,
    "=": Operator.EQUALS,
    "==": Operator.DOUBLE_EQUALS,
    "!=": Operator.NOT_EQUALS,
    ">": Operator.GREATER_THAN,
    "<": Operator.LESS_THAN,
}
_BINARY_OPERATORS = "in, notin, =, ==, !=, gt, lt"
_word = re.compile(r"[^=!(),><\x20\t\r\n\0]+").match


class _Token(NamedTuple):
    """`kind` is a symbol, or _WORD or _END. The words in and notin are words, until an operator is due."""

    kind: str
    text: str


def _tokens(text: str) -> list[_Token]:
    """A NUL ends the text, as it does in the reference; one right behind a word or symbol is passed over there."""
    found = []
    at = 0
    while at < len(text):
        if text[at] in " \t\r\n":
            at += 1
        elif text[at] == "\0":
            break
        elif text[at] in "=!(),><":
            token, at = _symbol(text, at)
            found.append(token)
            at += text.startswith("\0", at)
        else:
            match = _word(text, at)
            assert match is not None
            found.append(_Token(_WORD, match.group()))
            at = match.end()
            at += text.startswith("\0", at)
    found.append(_Token(_END, ""))
    return found


def _symbol(text: str, at: int) -> tuple[_Token, int]:
    """The longest symbol at `at`. The symbols are such that every one-character beginning is a symbol itself."""
    two = text[at : at + 2]
    symbol = two if two in _SYMBOLS else text[at]
    return _Token(symbol, symbol), at + len(symbol)


class _Parser:
    def __init__(self, text: str) -> None:
        self._tokens = _tokens(text)
        self._at = 0

    def peek(self) -> _Token:
        return self._tokens[self._at]

    def take(self) -> _Token:
        token = self._tokens[self._at]
        self._at += 1
        return token

    def requirements(self) -> list[Requirement]:
        found: list[Requirement] = []
        while True:
            token = self.peek()
            if token.kind == _END:
                return found
            if token.kind not in (_WORD, "!"):
                raise SelectorError(f"found '{token.text}', expected: !, identifier, or 'end of string'")
            try:
                found.append(self.requirement())
            except SelectorError as e:
                raise SelectorError(f"unable to parse requirement: {e}") from None
            token = self.take()
            if token.kind == _END:
                return found
            if token.kind != ",":
                raise SelectorError(f"found '{token.text}', expected: ',' or 'end of string'")
            token = self.peek()
            if token.kind not in (_WORD, "!"):
                raise SelectorError(f"found '{token.text}', expected: identifier after ','")

    def requirement(self) -> Requirement:
        token = self.take()
        negated = token.kind == "!"
        if negated:
            token = self.take()
        if token.kind != _WORD:
            raise SelectorError(f"found '{token.text}', expected: identifier")
        key = token.text
        if faults := label_syntax.label_key_faults(key):
            raise SelectorError(str(invalid("<nil>", key, "; ".join(faults))))
        if negated:
            return requirement(key, Operator.DOES_NOT_EXIST)
        if self.peek().kind in (_END, ","):
            return requirement(key, Operator.EXISTS)
        operator = self.operator()
        values = self.value_set() if operator in (Operator.IN, Operator.NOT_IN) else {self.exact_value()}
        return requirement(key, operator, sorted(values))

    def operator(self) -> Operator:
        token = self.take()
        operator = _OPERATORS.get(token.text) if token.kind != _END else None
        if operator is None:
            raise SelectorError(f"found '{token.text}', expected: {_BINARY_OPERATORS}")
        return operator

    def value_set(self) -> set[str]:
        token = self.take()
        if token.kind != "(":
            raise SelectorError(f"found '{token.text}' expected: '('")
        token = self.peek()
        if token.kind == ")":
            self.take()
            return {""}
        if token.kind not in (_WORD, ","):
            raise SelectorError(f"found '{token.text}', expected: ',', ')' or identifier")
        values = self.value_list()
        self.take()
        return values

    def value_list(self) -> set[str]:
        """Up to, not including, the closing parenthesis."""
        values: set[str] = set()
        while True:
            token = self.take()
            if token.kind == _WORD:
                values.add(token.text)
                following = self.peek()
                if following.kind == ")":
                    return values
                if following.kind != ",":
                    raise SelectorError(f"found '{following.text}', expected: ',' or ')'")
            elif token.kind == ",":
                if not values:
                    values.add("")
                if self.peek().kind in (")", ","):
                    values.add("")
                if self.peek().kind == ")":
                    return values
            else:
                raise SelectorError(f"found '{token.text}', expected: ',', or identifier")

    def exact_value(self) -> str:
        if self.peek().kind in (_END, ","):
            return ""
        token = self.take()
        if token.kind != _WORD:
            raise SelectorError(f"found '{token.text}', expected: identifier")
        return token.text


def parse_requirements(text: str) -> list[Requirement]:
    """The requirements that `text` states, in its order. Raises SelectorError."""
    return _Parser(text).requirements()
