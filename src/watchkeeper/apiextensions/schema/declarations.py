"""What expressions see of a schema: types, sizes, and how values are made of the data (apiserver's DeclType)."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from watchkeeper.apiextensions.schema.structural import Structural
from watchkeeper.cel import types
from watchkeeper.cel.environment import FieldDef, StructDef
from watchkeeper.cel.estimate import Path, Span
from watchkeeper.cel.lexer import RESERVED
from watchkeeper.cel.times import check_timestamp, parse_duration, parse_timestamp
from watchkeeper.cel.types import Type
from watchkeeper.cel.values import NANOS, Duration, EvalError, MapList, SetList, Timestamp

MAX_REQUEST = 3 * 1024 * 1024
_RESERVED = RESERVED | {"true", "false", "null", "in"}
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_ESCAPED = re.compile(r"__|[-./]|[^a-zA-Z0-9\-./_]")
_NAMES = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_FIXED = {"date-time": (32, 21), "date": (12, 12), "duration": (32, 3)}
"""Formats: the greatest number of characters, and the least size in JSON."""

Convert = Callable[[Any], Any]


def escape(name: str) -> str | None:
    """A property's name in expressions; None when it has none."""
    if not name or name[0].isdigit():
        return None
    if name in _RESERVED:
        return f"__{name}__"
    if _IDENTIFIER.fullmatch(name) and "__" not in name:
        return name
    parts = [m.group() for m in _ESCAPED.finditer(name)]
    if any(part not in _NAMES for part in parts) or not name.isascii():
        return None
    return _ESCAPED.sub(lambda m: _NAMES[m.group()], name)


def spellings(name: str) -> tuple[str, ...]:
    """All names that a property has in expressions: words that CEL reserves can be selected as they are, too."""
    escaped = escape(name)
    if escaped is None:
        return ()
    return (escaped, name) if name in RESERVED else (escaped,)


@dataclass(slots=True)
class Declared:
    """A node as expressions see it."""

    type: Type
    max_elements: int
    min_size: int
    """The least size in JSON."""
    convert: Convert | None = None
    """Makes the value of what the data hold."""
    fields: dict[str, Declared] = field(default_factory=dict)
    """By property name, as far as properties have names in expressions."""
    element: Declared | None = None
    key: Declared | None = None
    structs: list[StructDef] = field(default_factory=list)
    """All structures at this node and below."""
    deep: Convert | None = None
    """Makes a value whose parts compare as the schema says; None when the data do as they are."""
    strict: bool = False
    """Whether data that do not fit the schema are looked for."""

    def value_of(self, data: Any) -> Any:
        """What expressions see of the data; an EvalError where they do not fit."""
        if self.convert is None or data is None:
            return data
        try:
            return self.convert(data)
        except EvalError as problem:
            return problem

    def child(self, step: str, node: Structural) -> Declared | None:
        """The node below: a property by its name, "@items" or "@values"."""
        if step in ("@items", "@values"):
            return self.element
        if escape(step) is None:
            return declare(node, is_root=node.embedded, strict=self.strict)
        return self.fields.get(step)

    def size_of(self, path: Path) -> Span | None:
        """The sizes that the value at a path may have; the path begins with the variable."""
        found: Declared | None = self
        for step in path[1:]:
            assert found is not None
            if step in ("@items", "@values"):
                found = found.element
            elif step == "@keys":
                found = found.key
            else:
                found = next((f for name, f in found.fields.items() if step in spellings(name)), None)
            if found is None:
                return None
        assert found is not None
        return Span(0, found.max_elements)


def declare(node: Structural, *, is_root: bool, strict: bool = False) -> Declared | None:
    """How expressions see a node; None when they do not. `strict` is for data that may not fit the schema."""
    return _declare(node, is_root, "selfType", strict)


def _declare(node: Structural, is_root: bool, name: str, strict: bool) -> Declared | None:
    found = _declare_any(node, is_root, name, strict)
    if found is None:
        return None
    if strict:
        found.strict = True
        if found.deep is not None:
            found.deep = _fitting(node, found.deep)
        found.convert = _fitting(node, found.convert)
    elif node.nullable:
        found.convert, found.deep = _unless_null(found.convert), _unless_null(found.deep)
    return found


def _declare_any(node: Structural, is_root: bool, name: str, strict: bool) -> Declared | None:
    if node.int_or_string:
        longest = node.get("maxLength")
        most = max(longest, 0) * 4 if longest is not None else MAX_REQUEST - 2
        return Declared(types.DYN, most, 1, _integer_or_text)
    match node.type:
        case "array":
            return _declare_list(node, name, strict)
        case "object":
            if node.additional is not None and not is_root:
                return _declare_map(node, name, strict)
            return _declare_object(node, is_root, name, strict)
        case "string":
            return _declare_string(node)
        case "boolean":
            return Declared(types.BOOL, 0, 4)
        case "number":
            return Declared(types.DOUBLE, 0, 1, _to_double)
        case "integer":
            return Declared(types.INT, 0, 1, _integer)
    return None


def _unless_null(convert: Convert | None) -> Convert | None:
    """The same for data that may be null."""
    if convert is None or convert in _CHECKS:
        return convert
    return lambda value: None if value is None else convert(value)


def _declare_list(node: Structural, name: str, strict: bool) -> Declared | None:
    item = node.items
    element = _declare(item, item.embedded, f"{name}.@idx", strict) if item is not None else None
    if element is None:
        return None
    limit = node.get("maxItems")
    most = max(limit, 0) if limit is not None else (MAX_REQUEST - 2) // (element.min_size + 1)
    shallow = _list_maker(node, element.convert)
    deep = _list_maker(node, _deep_of(element))
    return Declared(types.list_of(element.type), most, 2, shallow, element=element, structs=element.structs, deep=deep)


def _list_maker(node: Structural, convert: Convert | None) -> Convert | None:
    if node.list_type == "set":
        return lambda value: SetList(map(convert, value) if convert is not None else value)
    if node.list_type == "map":
        # The reference looks for the keys by the names that they have in expressions.
        keys = tuple(escape(key) or key for key in node.list_map_keys)
        return lambda value: MapList(map(convert, value) if convert is not None else value, keys)
    if convert is not None:
        each = convert
        if convert in _CHECKS:
            return lambda value: value if float not in map(type, value) else [each(v) for v in value]
        return lambda value: [each(v) for v in value]
    return None


def _declare_map(node: Structural, name: str, strict: bool) -> Declared | None:
    assert node.additional is not None
    element = _declare(node.additional, node.additional.embedded, f"{name}.@elem", strict)
    if element is None:
        return None
    limit = node.get("maxProperties")
    most = max(limit, 0) if limit is not None else (MAX_REQUEST - 2) // (element.min_size + 6)
    # The reference knows no size of keys, so that estimates take them to be empty.
    key = Declared(types.STRING, 0, 2)
    return Declared(
        types.map_of(types.STRING, element.type),
        most,
        2,
        _map_maker(element.convert),
        element=element,
        key=key,
        structs=element.structs,
        deep=_map_maker(_deep_of(element)),
    )


def _map_maker(convert: Convert | None) -> Convert | None:
    if convert is None:
        return None
    each = convert
    if convert in _CHECKS:
        return lambda value: value if float not in map(type, value.values()) else {k: each(v) for k, v in value.items()}
    return lambda value: {k: each(v) for k, v in value.items()}


_TEXT = Structural(source={"type": "string"}, type="string")


def with_type_and_metadata(node: Structural) -> dict[str, Structural]:
    """The properties of a resource: kind, apiVersion and the names in its metadata are always among them."""
    metadata = node.properties.get("metadata")
    complete = metadata is not None and {"name", "generateName"} <= metadata.properties.keys()
    if complete and {"kind", "apiVersion"} <= node.properties.keys():
        return node.properties
    names = Structural(source={}, type="object", properties={"name": _TEXT, "generateName": _TEXT})
    return {**node.properties, "kind": _TEXT, "apiVersion": _TEXT, "metadata": names}


def _declare_object(node: Structural, is_root: bool, name: str, strict: bool) -> Declared:
    properties = with_type_and_metadata(node) if is_root else node.properties
    required = frozenset(node.get("required") or ())
    struct = StructDef(name)
    found = Declared(types.struct(name), 0, 2, structs=[struct])
    for key, child in properties.items():
        escaped = escape(key)
        inner = _declare(child, child.embedded, f"{name}.{escaped or key}", strict)
        if inner is None:
            continue
        if escaped is not None:
            found.fields[key] = inner
            for spelling in spellings(key):
                struct.fields[spelling] = FieldDef(
                    key, inner.type, inner.convert, nullable=child.nullable, strict=strict or inner.convert in _CHECKS
                )
            found.structs += inner.structs
        if key in required and not child.has_default:
            found.min_size += len(key.encode()) + inner.min_size + 4
    deep = {key: convert for key, inner in found.fields.items() if (convert := _deep_of(inner)) is not None}
    if deep:
        found.deep = struct.deep = _object_maker(deep)
    return found


def _deep_of(declared: Declared) -> Convert | None:
    """What makes a value whose parts compare; None when the data do as they are."""
    return declared.deep or (declared.convert if declared.convert not in _CHECKS else None)


def _object_maker(converters: dict[str, Convert]) -> Convert:
    def make(value: Any) -> Any:
        if value.__class__ is not dict:
            return value
        out = dict(value)
        for key, convert in converters.items():
            if out.get(key) is not None:
                out[key] = convert(out[key])
        return out

    return make


def _declare_string(node: Structural) -> Declared:
    form, longest = node.get("format"), node.get("maxLength")
    if form == "byte":
        return Declared(types.BYTES, max(longest, 0) if longest is not None else MAX_REQUEST - 2, 2, _to_bytes)
    if form in _FIXED:
        most, least = _FIXED[form]
        if form == "duration":
            return Declared(types.DURATION, most, least, _to_duration)
        return Declared(types.TIMESTAMP, most, least, _to_date if form == "date" else _to_timestamp)
    if longest is not None:
        most = max(longest, 0) * 4
    elif node.get("enum"):
        most = max((len(v.encode()) for v in node.get("enum") if isinstance(v, str)), default=0)
    else:
        most = MAX_REQUEST - 2
    return Declared(types.STRING, most, 2)


_GO_TYPES = {
    bool: "bool",
    int: "int64",
    float: "float64",
    str: "string",
    list: "[]interface {}",
    dict: "map[string]interface {}",
}
_KINDS: dict[str, tuple[type, str]] = {
    "object": (dict, "a map for the provided schema with type=object"),
    "array": (list, "an array for the provided schema with type=array"),
    "string": (str, "string"),
    "boolean": (bool, "bool"),
    "integer": (int, "int"),
}


def _fitting(node: Structural, convert: Convert | None) -> Convert:
    """The same for data that the schema may not allow, where the types of Go are told."""
    kind, words = _KINDS.get(node.type, (object, ""))

    def check(value: Any) -> Any:
        if value is None:
            if node.nullable:
                return None
            raise EvalError("invalid data, got null for schema with nullable=false")
        if node.int_or_string:
            return _integer_or_text(value)
        if kind is not object and value.__class__ is not kind:
            found = "" if kind in (dict, list) else f", got {_GO_TYPES[value.__class__]}"
            raise EvalError(f"invalid data, expected {words}{found}")
        return convert(value) if convert is not None else value

    return check


def _integer(value: Any) -> Any:
    """An integer as it is; a float is none to expressions, even if validation takes 2.0 for one."""
    if value.__class__ is float:
        raise EvalError("invalid data, expected int, got float64")
    return value


def _integer_or_text(value: Any) -> Any:
    if value is not None and value.__class__ not in (int, str):
        raise EvalError("invalid data, expected XIntOrString value to be either a string or integer")
    return value


_CHECKS: tuple[Convert | None, ...] = (_integer, _integer_or_text)
"""What leaves values as they are or refuses them."""


def _to_double(value: Any) -> float:
    if value.__class__ not in (int, float):
        raise EvalError(f"invalid data, expected float, got {_GO_TYPES[value.__class__]}")
    return float(value)


def _to_bytes(value: str) -> bytes:
    try:
        return base64.b64decode(value.replace("-", "+").replace("_", "/"), validate=True)
    except binascii.Error as problem:
        raise EvalError(f"Invalid byte formatted string {value}: {problem}") from None


def _to_timestamp(value: str) -> Timestamp:
    try:
        return parse_timestamp(value)
    except ValueError as problem:
        raise EvalError(f"Invalid date-time formatted string {value}: {problem}") from None


def _to_date(value: str) -> Timestamp:
    try:
        return check_timestamp(parse_timestamp(f"{value}T00:00:00Z"))
    except ValueError as problem:
        raise EvalError(f"Invalid date formatted string {value}: {problem}") from None


_WORDY = re.compile(r"(\d+)\s*([A-Za-zµ]+)", re.ASCII)
_UNITS = (
    (("ns", "nano"), 1),
    (("us", "µs", "micro"), 10**3),
    (("ms", "milli"), 10**6),
    (("s", "sec"), NANOS),
    (("m", "min"), 60 * NANOS),
    (("h", "hr", "hour"), 3600 * NANOS),
    (("d", "day"), 86400 * NANOS),
    (("w", "wk", "week"), 7 * 86400 * NANOS),
)


def _to_duration(value: str) -> Duration:
    try:
        return parse_duration(value)
    except ValueError:
        pass
    total, found = 0, False
    for count, unit in _WORDY.findall(value):
        for variants, factor in _UNITS:
            if unit.lower() in variants or unit.lower().startswith(variants[-1]):
                total, found = total + int(count) * factor, True
                break
    if not found:
        raise EvalError(f"Invalid duration {value}: unable to parse {value} as duration")
    return Duration(total)
