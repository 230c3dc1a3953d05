"""Writes a parsed RE2 pattern as a pattern of Python's re module with the same meaning."""

from __future__ import annotations

import re

from watchkeeper.cel.regex.charset import ANY, MAX_RUNE, NOT_NEWLINE, Ranges
from watchkeeper.cel.regex.nodes import Assertion, Chars, Choice, Empty, Group, Node, Repeat, Sequence

_ASSERTIONS = {
    Assertion.BEGIN_TEXT: r"\A",
    Assertion.END_TEXT: r"\Z",
    Assertion.BEGIN_LINE: r"(?m:^)",
    Assertion.END_LINE: r"(?=\n|\Z)",
    Assertion.WORD_BOUNDARY: r"(?a:\b)",
    Assertion.NO_WORD_BOUNDARY: r"(?a:\B)",
}


def to_python(node: Node) -> str:
    """The pattern's source for `re.compile`."""
    match node:
        case Chars(ranges, fold):
            source = _chars(ranges)
            return f"(?i:{source})" if fold else source
        case Empty(assertion):
            return _ASSERTIONS[assertion] if assertion is not None else ""
        case Sequence(parts):
            return "".join(f"(?:{to_python(p)})" if isinstance(p, Choice) else to_python(p) for p in parts)
        case Choice(options):
            return "|".join(to_python(o) for o in options)
        case Group(inner):
            return f"({to_python(inner)})"
        case Repeat():
            return _repeat(node)


def _repeat(node: Repeat) -> str:
    inner = to_python(node.inner)
    if not isinstance(node.inner, Chars | Group):
        inner = f"(?:{inner})"
    match node.low, node.high:
        case 0, None:
            count = "*"
        case 1, None:
            count = "+"
        case 0, 1:
            count = "?"
        case low, None:
            count = f"{{{low},}}"
        case low, high:
            count = f"{{{low},{high}}}"
    return inner + count + ("?" if node.lazy else "")


def _chars(ranges: Ranges) -> str:
    if ranges == ANY:
        return r"(?s:.)"
    if ranges == NOT_NEWLINE:
        return r"[^\n]"
    if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
        return re.escape(chr(ranges[0][0]))
    if not ranges:
        return r"(?!)"
    return f"[{''.join(_range(low, high) for low, high in ranges)}]"


def _range(low: int, high: int) -> str:
    return _escape(low) if low == high else f"{_escape(low)}-{_escape(min(high, MAX_RUNE))}"


def _escape(code: int) -> str:
    if 0x30 <= code <= 0x39 or 0x41 <= code <= 0x5A or 0x61 <= code <= 0x7A:
        return chr(code)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
