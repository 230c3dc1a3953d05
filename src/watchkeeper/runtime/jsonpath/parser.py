"""Reads JSONPath expressions into nodes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NoReturn


class SyntaxProblem(ValueError):
    """A text that is no expression."""


@dataclass(frozen=True, slots=True)
class Literal:
    """A text, number or bool."""

    value: str | float | bool


@dataclass(frozen=True, slots=True)
class Identifier:
    """A word that stands for nothing known, which only following the path finds out."""

    name: str


@dataclass(frozen=True, slots=True)
class Field:
    """A field by name."""

    name: str


@dataclass(frozen=True, slots=True)
class Wildcard:
    """All values of an object or list."""


@dataclass(frozen=True, slots=True)
class Recursive:
    """A value and everything below it."""


@dataclass(frozen=True, slots=True)
class Slice:
    """Items of a list. `single` when one index was given instead of a range."""

    start: int | None
    stop: int | None
    step: int | None
    single: bool


@dataclass(frozen=True, slots=True)
class Union:
    """What several expressions find, one after the other."""

    parts: tuple[Nodes, ...]


@dataclass(frozen=True, slots=True)
class Filter:
    """Items for which a comparison holds; the operator "exists" asks for anything on the left."""

    left: Nodes
    operator: str
    right: Nodes


Node = Literal | Identifier | Field | Wildcard | Recursive | Slice | Union | Filter
Nodes = tuple[Node, ...]

_TERMINATORS = frozenset(" \t\r\n.,[]$@{}")
_DICT_KEY = re.compile(r"'([^']*)'")
_SLICE = re.compile(r"(-?\d*)(:-?\d*)?(:-?\d*)?", re.ASCII)
_COMPARISON = re.compile(r"([^!<>=]+)([!<>=]+)(.+?)", re.DOTALL)
_NUMBER = re.compile(r"[+-]?[\d.]*", re.ASCII)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", '"': '"', "'": "'", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}


def parse_nodes(text: str) -> Nodes:
    """Read what stands between braces. Raises SyntaxProblem."""
    return _Parser(text).parse()


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.nodes: list[Node] = []

    def parse(self) -> Nodes:
        text = self.text
        while self.at < len(text):
            ch = text[self.at]
            if text.startswith("[?(", self.at):
                self.filter()
            elif text.startswith("..", self.at):
                self.recursive()
            elif ch in " @$":
                self.at += 1
            elif ch == "}":
                self.text_and_more()
            elif ch in "\r\n":
                self.fail("unclosed action")
            elif ch == "[":
                self.brackets()
            elif ch in "\"'":
                self.quoted(ch)
            elif ch == ".":
                self.at += 1
                self.field()
            elif ch in "+-" or ch.isdigit():
                self.number()
            elif ch == "_" or ch.isalpha():
                self.word()
            else:
                shown = f" '{ch}'" if ch.isprintable() else ""
                self.fail(f"unrecognized character in action: U+{ord(ch):04X}{shown}")
        return tuple(self.nodes)

    def text_and_more(self) -> None:
        """What stands behind the first pair of braces finds nothing that counts, but has to be well-formed."""
        _, brace, more = self.text[self.at + 1 :].partition("{")
        self.at = len(self.text)
        if brace:
            parse_nodes(more)

    def fail(self, problem: str) -> NoReturn:
        raise SyntaxProblem(problem)

    def until_terminator(self) -> str:
        start, text = self.at, self.text
        while self.at < len(text) and text[self.at] not in _TERMINATORS:
            self.at += 2 if text[self.at] == "\\" else 1
        self.at = min(self.at, len(text))
        return text[start : self.at]

    def field(self) -> None:
        name = self.until_terminator()
        self.nodes.append(Wildcard() if name == "*" else Field(name.replace("\\", "")))

    def recursive(self) -> None:
        if self.nodes and isinstance(self.nodes[-1], Recursive):
            self.fail("invalid multiple recursive descent")
        self.at += 2
        self.nodes.append(Recursive())
        if self.at < len(self.text) and (self.text[self.at] == "_" or self.text[self.at].isalnum()):
            self.field()

    def word(self) -> None:
        start = self.at
        while self.at < len(self.text) and self.text[self.at] not in _TERMINATORS:
            self.at += 1
        word = self.text[start : self.at]
        self.nodes.append(Literal(word == "true") if word in ("true", "false") else Identifier(word))

    def number(self) -> None:
        found = _NUMBER.match(self.text, self.at)
        assert found is not None
        self.at = found.end()
        try:
            self.nodes.append(Literal(int(found.group())))
        except ValueError:
            try:
                self.nodes.append(Literal(float(found.group())))
            except ValueError:
                self.fail(f"cannot parse number {found.group()}")

    def quoted(self, quote: str) -> None:
        start = self.at
        self.at += 1
        while True:
            if self.at >= len(self.text) or self.text[self.at] == "\n":
                self.fail("unterminated quoted string")
            if self.text[self.at] == quote and self.text[self.at - 1] != "\\":
                break
            self.at += 1
        self.at += 1
        self.nodes.append(Literal(self.unescape(self.text[start + 1 : self.at - 1])))

    def unescape(self, text: str) -> str:
        def replace(found: re.Match[str]) -> str:
            ch = found.group(1)
            if ch not in _ESCAPES:
                self.fail(f"unquote string {text} error invalid syntax")
            return _ESCAPES[ch]

        return re.sub(r"\\(.)", replace, text)

    def brackets(self) -> None:
        end = self.text.find("]", self.at)
        if end < 0 or "\n" in self.text[self.at : end]:
            self.fail("unterminated array")
        inside = self.text[self.at + 1 : end]
        self.at = end + 1
        if inside == "*":
            inside = ":"
        parts = inside.split(",")
        if len(parts) > 1:
            self.nodes.append(Union(tuple(parse_nodes(f"[{part.strip(' ')}]") for part in parts)))
            return
        key = _DICT_KEY.fullmatch(inside)
        if key is not None:
            self.nodes += parse_nodes(f".{key.group(1)}")
            return
        self.slice(inside)

    def slice(self, inside: str) -> None:
        found = _SLICE.fullmatch(inside)
        if found is None:
            self.fail(f"invalid array index {inside}")

        def number(text: str | None) -> int | None:
            text = (text or "").removeprefix(":")
            if text == "-":
                self.fail(f"array index {text} is not a number")
            return int(text) if text else None

        single = found.group(2) is None
        start = number(found.group(1))
        self.nodes.append(Slice(start, number(found.group(2)), number(found.group(3)), single))

    def filter(self) -> None:
        start = self.at + 3
        end = self.end_of_filter(start)
        inside = self.text[start:end]
        if not self.text.startswith("]", end + 1):
            self.fail("unclosed array expect ]")
        self.at = end + 2
        found = _COMPARISON.fullmatch(inside)
        if found is None:
            self.nodes.append(Filter(parse_nodes(inside), "exists", ()))
        else:
            left, operator, right = found.groups()
            self.nodes.append(Filter(parse_nodes(left), operator, parse_nodes(right)))

    def end_of_filter(self, start: int) -> int:
        pair = ""
        closed = True
        for i in range(start, len(self.text)):
            ch = self.text[i]
            if ch == "\n":
                break
            if ch in "\"'":
                if not pair:
                    pair, closed = ch, False
                elif self.text[i - 1] != "\\" and ch == pair:
                    closed = True
            elif ch == ")" and closed:
                return i
        raise SyntaxProblem("unterminated filter")
