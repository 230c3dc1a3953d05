"""Finds all that is wrong with a value, in the order and the words of kube-openapi's validate package.

This walks the schema. It is asked only about values that `quick` has refused, so that nobody else pays for it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from watchkeeper.apiextensions.schema.correlation import Correlation, same
from watchkeeper.apiextensions.schema.numbers import (
    MAX_GO_INT,
    RangeError,
    character,
    format_number,
    in_range,
    is_json_integer,
)
from watchkeeper.apiextensions.schema.structural import Structural
from watchkeeper.cel.formats import format_check
from watchkeeper.cel.regex import compile_pattern
from watchkeeper.meta.field import (
    ErrorType,
    FieldError,
    go_json,
    go_quote,
    in_key_order,
    invalid,
    not_supported,
    required,
    too_many,
    type_invalid,
)

NO_FIELD = "<nil>"
"""What the reference shows where an error has no field of its own."""


@dataclass(slots=True)
class Problem:
    """One error. `name` is None for errors that belong to no field; `kind` says how it becomes a field error."""

    name: str | None
    message: str
    kind: str = "invalid"
    value: Any = None
    limit: int = 0
    allowed: list[Any] = field(default_factory=list)


@dataclass(slots=True)
class Result:
    """Errors, and how many checks were passed on the way: of several alternatives the best is told of."""

    problems: list[Problem] = field(default_factory=list)
    matches: int = 0

    def add(self, problem: Problem) -> None:
        """Add an error unless one with its message is there."""
        if all(p.message != problem.message for p in self.problems):
            self.problems.append(problem)

    def merge(self, other: Result) -> None:
        """Take over errors and matches."""
        for problem in other.problems:
            self.add(problem)
        self.matches += other.matches


def schema_types(node: Structural) -> tuple[str, ...]:
    """The types that values may have."""
    if node.int_or_string:
        return ("integer", "string")
    return (node.type,) if node.type else ()


def type_of(value: Any) -> str:
    """The JSON type of a value as messages name it."""
    kind = value.__class__
    if kind is bool:
        return "boolean"
    if kind is int:
        return "integer"
    if kind is float:
        return "number"
    if kind is str:
        return "string"
    if kind is list:
        return "array"
    return "object" if kind is dict else "null"


class Validator:
    """Validates against one node."""

    def __init__(self, node: Structural, *, only: str = "") -> None:
        self.node = node
        self._only = only

    @classmethod
    def of_junctors(cls, node: Structural) -> Validator:
        """Looks at allOf, anyOf, oneOf and not alone."""
        return cls(node, only="junctors")

    @classmethod
    def of_number(cls, node: Structural) -> Validator:
        """Looks at the bounds of numbers alone."""
        return cls(node, only="number")

    def is_valid(self, value: Any) -> bool:
        """Whether nothing is wrong."""
        result = Result()
        if self._only == "junctors":
            _junctors(self.node, value, "", None, result)
        elif self._only == "number":
            _number(self.node, value, "", result)
        else:
            result = _validate(self.node, value, "", None)
        return not result.problems

    def errors(self, value: Any, prefix: str = "", correlation: Correlation | None = None) -> list[FieldError]:
        """All errors, with fields below `prefix`. With a correlation what has not changed is not held against it."""
        result = _validate(self.node, value, "", correlation)
        return [_field_error(problem, prefix) for problem in result.problems]


def _validate(node: Structural, value: Any, path: str, correlation: Correlation | None) -> Result:
    result = _validate_node(node, value, path, correlation)
    if result.problems and correlation is not None and correlation.unchanged():
        return Result(matches=result.matches)
    return result


def _validate_node(node: Structural, value: Any, path: str, correlation: Correlation | None) -> Result:
    result = Result()
    if value is None:
        _type(node, value, path, result)
        _enum(node, value, path, result)
        return result
    kind = value.__class__
    if schema_types(node) or _known_format(node):
        if _type(node, value, path, result):
            result.matches += 1
        result.matches += 1
    inner = Result()
    _junctors(node, value, path, correlation, inner)
    inner.matches += 1
    result.merge(inner)
    result.matches += 1
    if kind is str:
        _string(node, value, path, result)
        result.matches += 1
        _format(node, value, path, result)
    elif kind is int or kind is float:
        _number(node, value, path, result)
        result.matches += 2
    elif kind is list:
        _array(node, value, path, correlation, result)
        result.matches += 2
    _enum(node, value, path, result)
    result.matches += 1
    if kind is dict:
        _object(node, value, path, correlation, result)
        result.matches += 1
    result.matches += 1
    return result


def _in_body(path: str, text: str) -> str:
    return f"{path} in body {text}"


def _wrong_type(path: str, wanted: str, found: str) -> Problem:
    return Problem(path, _in_body(path, f"must be of type {wanted}: {go_quote(found)}"), "type", found)


def _type(node: Structural, value: Any, path: str, result: Result) -> bool:
    """Whether the type is right. A format makes texts right here, whatever the type says besides."""
    types, form = schema_types(node), _known_format(node)
    if value is None:
        if types and not node.nullable:
            result.add(_wrong_type(path, ",".join(types), "null"))
            return False
        return True
    found = type_of(value)
    numeric = "number" in types or "integer" in types
    fits = (
        found in types
        or (found == "number" and "integer" in types and is_json_integer(value))
        or (found == "integer" and "number" in types)
    )
    value_format = {"integer": "int64", "number": "float64"}.get(found, "")
    if found not in ("string", "array") and form and not (fits or value_format == form):
        result.add(_wrong_type(path, form, value_format))
        return False
    if not numeric and form and found in ("string", "array"):
        return True
    if types and not fits:
        result.add(_wrong_type(path, ",".join(types), found))
        return False
    return True


def _known_format(node: Structural) -> str:
    """The format, unless it is one that is not checked for values of this type."""
    form: str = node.get("format") or ""
    if not form:
        return ""
    if node.int_or_string or node.type in ("", "string"):
        return form if format_check(form) is not None else ""
    known = {"integer": ("int32", "int64"), "number": ("float", "double")}.get(node.type, ())
    return form if form in known else ""


def _string(node: Structural, value: str, path: str, result: Result) -> None:
    """The first of length and pattern that is broken."""
    high, low, pattern = node.get("maxLength"), node.get("minLength"), node.get("pattern")
    if high is not None and len(value) > high:
        text = _in_body(path, f"should be at most {high} chars long")
        result.add(Problem(path, text, "too-long", value, limit=high))
    elif low is not None and len(value) < low:
        result.add(Problem(path, _in_body(path, f"should be at least {low} chars long"), value=value))
    elif pattern and not compile_pattern(pattern).accepts(value):
        result.add(Problem(path, _in_body(path, f"should match '{pattern}'"), value=value))


def _format(node: Structural, value: str, path: str, result: Result) -> None:
    form = _known_format(node)
    check = format_check(form) if form else None
    if check is None:
        return
    result.matches += 1
    if not check(value):
        result.add(_wrong_type(path, form, value))


def _number(node: Structural, value: Any, path: str, result: Result) -> None:
    kind = node.type if node.type in ("integer", "number") and not node.int_or_string else ""
    form = _known_format(node)
    _range(value, kind, form, "Checked", path, result)
    step = node.get("multipleOf")
    if step is not None:
        if _range(step, kind, form, "MultipleOf", path, result):
            _multiple(value, int(step) if value.__class__ is int else step, step, path, result)
        else:
            _multiple(float(value), step, step, path, result)
    for bound, word, more, exclusive in (
        ("minimum", "Minimum boundary", False, bool(node.get("exclusiveMinimum"))),
        ("maximum", "Maximum boundary", True, bool(node.get("exclusiveMaximum"))),
    ):
        limit = node.get(bound)
        if limit is None:
            continue
        native = _range(limit, kind, form, word, path, result)
        limit = int(limit) if native and value.__class__ is int else float(limit)
        beyond = (
            (value > limit or (exclusive and value == limit))
            if more
            else (value < limit or (exclusive and value == limit))
        )
        if beyond:
            text = "less than" if more else "greater than"
            words = f"should be {text}{'' if exclusive else ' or equal to'} {format_number(limit)}"
            result.add(Problem(path, _in_body(path, words), value=value))


def _range(value: Any, kind: str, form: str, word: str, path: str, result: Result) -> bool:
    try:
        in_range(value, kind, form)
    except RangeError as problem:
        result.add(Problem(None, f"{word} value must be of type {kind} {problem} in {path}"))
        return False
    return True


def _multiple(value: Any, step: Any, shown: Any, path: str, result: Result) -> None:
    if step <= 0:
        text = f"factor MultipleOf declared for {path} must be positive: {format_number(step)}"
        result.add(Problem(path, text, value=step))
        return
    if value.__class__ is int and step.__class__ is int:
        whole = value % step == 0
    else:
        whole = is_json_integer(1 / step * value if step < 1 else value / step)
    if not whole:
        result.add(Problem(path, _in_body(path, f"should be a multiple of {format_number(shown)}"), value=value))


def _array(node: Structural, value: list[Any], path: str, correlation: Correlation | None, result: Result) -> None:
    if node.items is not None:
        for i, item in enumerate(value):
            child = correlation.index(i) if correlation is not None else None
            result.merge(_validate(node.items, item, f"{path}[{i}]", child))
    low, high = node.get("minItems"), node.get("maxItems")
    if low is not None and len(value) < low:
        result.add(Problem(path, _in_body(path, f"should have at least {low} items"), value=len(value)))
    if high is not None and len(value) > high:
        text = _in_body(path, f"should have at most {high} items")
        result.add(Problem(path, text, "too-many", len(value), limit=high))
    if node.get("uniqueItems") and any(x == y for i, x in enumerate(value) for y in value[:i]):
        result.add(Problem(path, _in_body(path, "shouldn't contain duplicates"), value=""))


def in_enum(value: Any, allowed: list[Any]) -> bool:
    """Whether a value is one of those allowed, once it is made of the type of that one as Go converts.

    So a number loses its fraction before it is compared with an integer, and an integer is a character next to text.
    Null never is one of them, even if it is listed.
    """
    return value is not None and any(_becomes(value, other) for other in allowed)


def _becomes(value: Any, other: Any) -> bool:
    kind, wanted = value.__class__, other.__class__
    if kind is wanted:
        return same(value, other)
    if kind is float and wanted is int:
        return bool(abs(value) < MAX_GO_INT and int(value) == other)
    if kind is int and wanted is float:
        return bool(value == other)
    return kind is int and wanted is str and character(value) == other


def _enum(node: Structural, value: Any, path: str, result: Result) -> None:
    allowed = node.get("enum")
    if allowed and not in_enum(value, allowed):
        shown = " ".join(str(v) for v in allowed)
        text = _in_body(path, f"should be one of [{shown}]")
        result.add(Problem(path, text, "enum", value, allowed=allowed))


def _object(
    node: Structural, value: dict[str, Any], path: str, correlation: Correlation | None, result: Result
) -> None:
    low, high = node.get("minProperties"), node.get("maxProperties")
    if low is not None and len(value) < low:
        result.add(Problem(path, _in_body(path, f"should have at least {low} properties"), value=len(value)))
    if high is not None and len(value) > high:
        text = _in_body(path, f"should have at most {high} properties")
        result.add(Problem(path, text, "too-many", len(value), limit=high))
    for key, item in value.items():
        if key in node.properties:
            continue
        if node.closed_map:
            result.add(Problem(path, f"{path}.{key} in body is a forbidden property", value=key))
        elif node.additional is not None:
            child = _field_correlation(correlation, key, path)
            result.merge(_validate(node.additional, item, f"{path}.{key}", child))
    for name, child_node in node.properties.items():
        if name in value:
            where = f"{path}.{name}" if path else name
            child = _field_correlation(correlation, name, path)
            result.merge(_validate(child_node, value[name], where, child))
    for name in node.get("required") or ():
        if name not in value:
            where = f"{path}.{name}"
            result.add(Problem(where, f"{where} in body is required", "required"))


def _field_correlation(correlation: Correlation | None, name: str, path: str) -> Correlation | None:
    if correlation is None or (path == "" and name in ("kind", "apiVersion")):
        return None
    return correlation.key(name)


def _junctors(node: Structural, value: Any, path: str, correlation: Correlation | None, result: Result) -> None:
    if node.any_of:
        _any_of(node, value, path, correlation, result)
    if node.one_of:
        _one_of(node, value, path, correlation, result)
    if node.all_of:
        valid = 0
        for sub in node.all_of:
            found = _validate_inner(sub, value, path, correlation)
            valid += not found.problems
            result.merge(found)
        if valid != len(node.all_of):
            more = "" if valid else ". None validated"
            result.add(Problem(None, f"{go_quote(path)} must validate all the schemas (allOf){more}"))
    if node.negated is not None and not _validate_inner(node.negated, value, path, correlation).problems:
        result.add(Problem(None, f"{go_quote(path)} must not validate the schema (not)"))


def _validate_inner(node: Structural, value: Any, path: str, correlation: Correlation | None) -> Result:
    """Against an alternative: what is below it is correlated, but it is not ratcheted as a whole."""
    return _validate_node(node, value, path, correlation)


def _any_of(node: Structural, value: Any, path: str, correlation: Correlation | None, result: Result) -> None:
    best: Result | None = None
    for sub in node.any_of:
        found = _validate_inner(sub, value, path, correlation)
        if not found.problems:
            result.merge(found)
            return
        if best is None or found.matches > best.matches:
            best = found
    result.add(Problem(None, f"{go_quote(path)} must validate at least one schema (anyOf)"))
    if best is not None:
        result.merge(best)


def _one_of(node: Structural, value: Any, path: str, correlation: Correlation | None, result: Result) -> None:
    best: Result | None = None
    first: Result | None = None
    valid = 0
    for sub in node.one_of:
        found = _validate_inner(sub, value, path, correlation)
        if not found.problems:
            valid += 1
            best = None
            first = first or found
        elif valid == 0 and (best is None or found.matches > best.matches):
            best = found
    if valid == 1:
        assert first is not None
        result.merge(first)
        return
    more = f"Found {valid} valid alternatives" if valid else "Found none valid"
    result.add(Problem(None, f"{go_quote(path)} must validate one and only one schema (oneOf). {more}"))
    if best is not None:
        result.merge(best)


def _field_error(problem: Problem, prefix: str) -> FieldError:
    if problem.name is None:
        return invalid(prefix or NO_FIELD, "", problem.message)
    name = problem.name.removeprefix(".")
    path = f"{prefix}.{name}" if prefix and name and problem.name != "." else (name or prefix or NO_FIELD)
    match problem.kind:
        case "required":
            return required(path)
        case "enum":
            allowed = [v if isinstance(v, str) else go_json(v) for v in problem.allowed]
            return not_supported(path, in_key_order(problem.value), allowed, plain=True)
        case "too-long":
            words = f"may not be more than {problem.limit} {'byte' if problem.limit == 1 else 'bytes'}"
            return FieldError(ErrorType.TOO_LONG, path, "", words)
        case "too-many":
            return too_many(path, problem.value, problem.limit)
        case "type":
            return type_invalid(path, problem.value, problem.message)
        case _:
            return invalid(path, "" if problem.value is None else problem.value, problem.message)
