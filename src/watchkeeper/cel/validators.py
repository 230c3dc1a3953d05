"""Checks of literals that go beyond types: durations, timestamps, patterns, formats, and lists of one type."""

from __future__ import annotations

from collections.abc import Callable

from watchkeeper.cel.ast import Call, Expr, ListExpr, Literal, MapExpr, children
from watchkeeper.cel.conversions import (
    to_bool,
    to_bytes,
    to_double,
    to_duration,
    to_int,
    to_string,
    to_timestamp,
    to_uint,
)
from watchkeeper.cel.library.formatting import CLAUSES, parse_format, type_name
from watchkeeper.cel.regex import RegexError, compile_pattern
from watchkeeper.cel.source import CompileError, InstantiationError, Issue
from watchkeeper.cel.types import Kind, Type, is_dyn, unwrap_optional
from watchkeeper.cel.values import EvalError, NoSuchOverload

_CONVERSIONS: dict[str, Callable[[object], object]] = {"duration": to_duration, "timestamp": to_timestamp}

CONSTANT_CONVERSIONS: dict[str, Callable[[object], object]] = {
    **_CONVERSIONS,
    "bool": to_bool,
    "bytes": to_bytes,
    "double": to_double,
    "int": to_int,
    "string": to_string,
    "uint": to_uint,
}


def validate(source: str, node: Expr) -> None:
    """Check all literals of a checked expression. Raises CompileError."""
    issues: list[Issue] = []
    _visit(node, False, issues)
    if issues:
        raise CompileError(source, issues)


def _visit(node: Expr, in_format: bool, issues: list[Issue]) -> None:
    match node:
        case Call():
            _check_call(node, issues)
            in_format = in_format or node.function == "format"
        case ListExpr() if not in_format:
            _check_list(node, issues)
        case MapExpr() if not in_format:
            _check_map(node, issues)
    for child in children(node):
        _visit(child, in_format, issues)


def _check_call(node: Call, issues: list[Issue]) -> None:
    if node.function == "format" and node.target is not None:
        _check_format(node, issues)
        return
    convert: Callable[[object], object]
    if node.function == "matches":
        convert = _compile
    elif node.function in _CONVERSIONS:
        convert = _CONVERSIONS[node.function]
    else:
        return
    arg = node.args[0] if node.args else None
    if not isinstance(arg, Literal) or (node.function == "matches" and node.target is None):
        return
    try:
        convert(arg.value)
    except EvalError:
        issues.append(Issue(arg.offset, f"invalid {node.function} argument"))


def check_patterns(node: Expr) -> None:
    """Compile the constant patterns of what searches. Raises InstantiationError."""
    if isinstance(node, Call) and node.function in ("find", "findAll") and node.target is not None and node.args:
        arg = node.args[0]
        if isinstance(arg, Literal) and isinstance(arg.value, str):
            try:
                compile_pattern(arg.value)
            except RegexError as problem:
                raise InstantiationError(str(problem)) from None
    for child in children(node):
        check_patterns(child)


def check_constants(node: Expr) -> None:
    """Convert all constants that are converted, as is done once for all. Raises InstantiationError."""
    _constant(node)


def _constant(node: Expr) -> tuple[object] | None:
    """The value of a literal, converted or not; None for all else."""
    if isinstance(node, Literal):
        return (node.value,)
    found = [_constant(child) for child in children(node)]
    if not isinstance(node, Call) or len(found) != 1 or found[0] is None:
        return None
    convert = CONSTANT_CONVERSIONS.get(node.function)
    if convert is None or node.target is not None:
        return None
    try:
        return (convert(found[0][0]),)
    except NoSuchOverload:
        return None
    except EvalError as problem:
        raise InstantiationError(str(problem)) from None


def _compile(pattern: object) -> object:
    try:
        return compile_pattern(str(pattern))
    except RegexError as problem:
        raise EvalError(str(problem)) from None


def _check_format(node: Call, issues: list[Issue]) -> None:
    target, args = node.target, node.args[0]
    if not isinstance(target, Literal) or not isinstance(target.value, str) or not isinstance(args, ListExpr):
        return
    try:
        clauses = [c for c in parse_format(target.value) if c.letter]
    except EvalError as problem:
        issues.append(Issue(node.offset, str(problem)))
        return
    for i, clause in enumerate(clauses):
        if i >= len(args.elements):
            issues.append(Issue(node.offset, f"index {i} out of range"))
            return
        wrong = _unformattable(args.elements[i], *CLAUSES[clause.letter.lower()])
        if wrong is not None:
            issues.append(wrong)
            return
    if len(args.elements) > len(clauses):
        text = "too many arguments supplied to string.format (expected {}, got {})"
        issues.append(Issue(node.offset, text.format(len(clauses), len(args.elements))))


def _unformattable(arg: Expr, allowed: frozenset[str], complaint: str) -> Issue | None:
    """What is wrong with an argument of a clause, or the first thing in one that is written out."""
    if not is_dyn(arg.type) and arg.type.name not in allowed:
        return Issue(arg.offset, f"error during formatting: {complaint.format(type_name(arg.type))}")
    parts: list[Expr] = []
    if isinstance(arg, ListExpr):
        parts = arg.elements
    elif isinstance(arg, MapExpr):
        parts = [part for entry in arg.entries for part in (entry.key, entry.value)]
    found = (_unformattable(part, allowed, complaint) for part in parts)
    return next((issue for issue in found if issue is not None), None)


def _check_list(node: ListExpr, issues: list[Issue]) -> None:
    first: Type | None = None
    for i, element in enumerate(node.elements):
        current = unwrap_optional(element.type)[0] if i in node.optional else element.type
        if first is None:
            first = current
        elif not _equivalent(first, current):
            issues.append(Issue(element.offset, f"expected type '{first}' but found '{current}'"))
            return


def _check_map(node: MapExpr, issues: list[Issue]) -> None:
    key: Type | None = None
    value: Type | None = None
    for entry in node.entries:
        value_type = unwrap_optional(entry.value.type)[0] if entry.optional else entry.value.type
        if key is None or value is None:
            key, value = entry.key.type, value_type
            continue
        if not _equivalent(key, entry.key.type):
            issues.append(Issue(entry.key.offset, f"expected type '{key}' but found '{entry.key.type}'"))
        if not _equivalent(value, value_type):
            issues.append(Issue(entry.value.offset, f"expected type '{value}' but found '{value_type}'"))


def _equivalent(a: Type, b: Type) -> bool:
    return a.same(b) or (a.kind is Kind.PARAM and b.kind is Kind.PARAM)
