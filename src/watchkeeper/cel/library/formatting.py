"""`string.format`: fills values into a text by clauses such as %s, %d and %.2f."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from watchkeeper.cel.conversions import to_string
from watchkeeper.cel.types import Type
from watchkeeper.cel.values import Duration, EvalError, NoSuchOverload, Timestamp, TypeValue, runtime_type
from watchkeeper.cel.words import words
from watchkeeper.meta.field import go_quote

DEFAULT_PRECISION = 6
_STRING_CLAUSE = (
    "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, "
    "and timestamps, was given {}"
)
CLAUSES: dict[str, tuple[frozenset[str], str]] = {
    "d": (frozenset(("int", "uint")), "decimal clause can only be used on integers, was given {}"),
    "f": (frozenset(("double", "string")), "fixed-point clause can only be used on doubles, was given {}"),
    "e": (frozenset(("double", "string")), "scientific clause can only be used on doubles, was given {}"),
    "b": (
        frozenset(("int", "uint", "bool")),
        "only integers and bools can be formatted as binary, was given {}",
    ),
    "x": (
        frozenset(("int", "uint", "string", "bytes")),
        "only integers, byte buffers, and strings can be formatted as hex, was given {}",
    ),
    "o": (frozenset(("int", "uint")), "octal clause can only be used on integers, was given {}"),
    "s": (
        words("list map int uint double bool string timestamp bytes duration type null"),
        _STRING_CLAUSE,
    ),
}
"""For each clause the types it takes, and what is said of others."""


_BYTE = 255
_MOST_PLACES = 1074
"""How many places behind the point a number can have."""
MAX_WIDTH = 1_000_000
"""How wide a number is printed at most."""


class Clause:
    """A clause in a format, or the literal text before one."""

    __slots__ = ("letter", "precision", "text")

    def __init__(self, text: str, letter: str = "", precision: int | None = None) -> None:
        self.text, self.letter, self.precision = text, letter, precision


def parse_format(text: str) -> list[Clause]:
    """Split a format into literal text and clauses. Raises EvalError."""
    out: list[Clause] = []
    at, literal = 0, ""
    while at < len(text):
        ch = text[at]
        if ch != "%":
            literal += ch
            at += 1
            continue
        if text.startswith("%%", at):
            literal += "%"
            at += 2
            continue
        at += 1
        if at >= len(text):
            raise EvalError("unexpected end of string")
        precision, at = _precision(text, at)
        letter = text[at]
        if letter.lower() not in CLAUSES or letter in "SDFEBO":
            raise EvalError(f'could not parse formatting clause: unrecognized formatting clause "{letter}"')
        out += [Clause(literal), Clause("", letter, precision)]
        literal = ""
        at += 1
    out.append(Clause(literal))
    return out


def _precision(text: str, at: int) -> tuple[int | None, int]:
    if text[at] != ".":
        return None, at
    end = at + 1
    while end < len(text) and text[end] in "0123456789":
        end += 1
    if end >= len(text):
        what = "could not find end of precision specifier"
        raise EvalError(f"could not parse formatting clause: error while parsing precision: {what}")
    digits = text[at + 1 : end]
    if not digits or len(digits.lstrip("0")) > 18:
        why = f'parsing "{digits}": {"value out of range" if digits else "invalid syntax"}'
        what = f"error while converting precision to integer: strconv.Atoi: {why}"
        raise EvalError(f"could not parse formatting clause: error while parsing precision: {what}")
    return int(digits), end


def format_text(text: str, args: list[Any]) -> str:
    """Fill the arguments into a format. Raises EvalError."""
    out: list[str] = []
    used = 0
    for clause in parse_format(text):
        if not clause.letter:
            out.append(clause.text)
            continue
        if used >= len(args):
            raise EvalError(f"index {used} out of range")
        out.append(_format(clause, args[used]))
        used += 1
    if len(args) > used:
        raise EvalError(f"too many arguments supplied to string.format (expected {used}, got {len(args)})")
    return "".join(out)


def _format(clause: Clause, value: Any) -> str:
    allowed, complaint = CLAUSES[clause.letter.lower()]
    kind = runtime_type(value)
    is_special = value in ("NaN", "Infinity", "-Infinity") if isinstance(value, str) else False
    wrong_text = clause.letter in "fe" and isinstance(value, str) and not is_special
    if kind.name not in allowed or wrong_text:
        raise EvalError(f"error during formatting: {complaint.format(type_name(kind))}")
    return _FORMATTERS[clause.letter.lower()](value, clause)


def type_name(t: Type) -> str:
    """What messages about formats call a type."""
    return TypeValue(t).name


def _fixed(value: Any, clause: Clause) -> str:
    number = float(value)
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "∞" if number > 0 else "-∞"
    places = DEFAULT_PRECISION if clause.precision is None else clause.precision
    text = f"{number:,.{min(places, _MOST_PLACES)}f}"
    if places <= _BYTE:
        return text
    # The reference counts the places that must be shown in a byte, and leaves out zeros after them.
    whole, _, fraction = text.partition(".")
    fraction = fraction.rstrip("0").ljust(places % (_BYTE + 1), "0")
    return f"{whole}.{fraction}" if fraction else whole


def _scientific(value: Any, clause: Clause) -> str:
    number = float(value)
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "∞" if number > 0 else "-∞"
    mantissa, _, exponent = f"{number:.{DEFAULT_PRECISION}e}".partition("e")
    # What is written as a precision is a width to the reference.
    return f"{mantissa}\u00d710{exponent.translate(_SUPERSCRIPT)}".rjust(min(clause.precision or 0, MAX_WIDTH))


_SUPERSCRIPT = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "+")


def _hex(value: Any, clause: Clause) -> str:
    match value:
        case str():
            text = value.encode().hex()
        case bytes():
            text = value.hex()
        case _:
            text = f"{int(value):x}"
    return text.upper() if clause.letter == "X" else text


def _string(value: Any, _: Clause | None = None) -> str:
    match value:
        case None:
            return "null"
        case TypeValue():
            return value.name
        case list():
            return "[" + ", ".join(map(_member, value)) + "]"
        case dict():
            pairs = sorted((_member_key(k), _member(v)) for k, v in value.items())
            return "{" + ", ".join(f"{k}:{v}" for k, v in pairs) + "}"
        case _:
            return to_string(value)


def _member_key(key: Any) -> str:
    if isinstance(key, str | int) and not isinstance(key, Timestamp | Duration):
        return _quoted(key, to_string(key))
    kind = type_name(runtime_type(key))
    raise EvalError(f"error during formatting: no formatting function for map key of type {kind}")


def _member(value: Any) -> str:
    match value:
        case Timestamp():
            return f"timestamp({go_quote(to_string(value))})"
        case Duration():
            return f"duration({go_quote(to_string(value))})"
        case float():
            text = f"{value:.{DEFAULT_PRECISION}f}" if math.isfinite(value) else to_string(value)
            return text if math.isfinite(value) else go_quote(text)
        case _:
            try:
                return _quoted(value, _string(value))
            except NoSuchOverload:
                kind = type_name(runtime_type(value))
                raise EvalError(f"error during formatting: no formatting function for {kind}") from None


def _quoted(value: Any, text: str) -> str:
    if isinstance(value, str):
        return go_quote(text)
    return f"b{go_quote(text)}" if isinstance(value, bytes) else text


_FORMATTERS: dict[str, Callable[[Any, Clause], str]] = {
    "s": _string,
    "d": lambda value, _: str(int(value)),
    "f": _fixed,
    "e": _scientific,
    "b": lambda value, _: f"{int(value):b}",
    "x": _hex,
    "o": lambda value, _: f"{int(value):o}",
}
