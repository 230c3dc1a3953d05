"""What expressions of mutating policies make: objects to apply, and operations of JSON patches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from watchkeeper.cel import types
from watchkeeper.cel.conversions import to_string
from watchkeeper.cel.json_values import check_finite, json_value
from watchkeeper.cel.values import (
    Duration,
    EvalError,
    Optional,
    Timestamp,
    TypeValue,
    Uint,
    register_value_type,
    runtime_type,
)

_OPERATION_FIELDS = ("op", "path", "from")


@dataclass(frozen=True, slots=True)
class ObjectValue:
    """`Object{…}` or `Object.spec{…}`: some fields of an object."""

    type_name: str
    fields: dict[str, Any] = field(hash=False)

    def get(self, name: str) -> Any:
        """A field. Raises EvalError."""
        if name not in self.fields:
            raise EvalError(f"no such key: {name}")
        return self.fields[name]

    def has(self, name: str) -> bool:
        """Whether a field was given."""
        return name in self.fields

    def misnamed(self) -> list[str]:
        """Complaints about objects within whose types are not named by the fields that lead to them."""
        return list(_misnamed(self, self.type_name))


class PatchOperation:
    """`JSONPatch{…}`. Raises EvalError for a field that is not what it has to be."""

    __slots__ = ("fields",)

    def __init__(self, fields: dict[str, Any]) -> None:
        for name in _OPERATION_FIELDS:
            value = fields.get(name, "")
            if not isinstance(value, str):
                kind = type(value).__name__
                raise EvalError(f"unexpected type {kind} for JSONPatchType '{name}' field")
        self.fields = fields

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PatchOperation) and other.fields == self.fields

    def __hash__(self) -> int:
        return hash(self.fields.get("path"))

    def __repr__(self) -> str:
        return f"<PatchOperation {self.fields}>"

    def get(self, name: str) -> Any:
        """A field; a text that was not given is empty."""
        if name in _OPERATION_FIELDS:
            return self.fields.get(name, "")
        return self.fields.get(name)

    def has(self, name: str) -> bool:
        """Whether a field was given, and not empty."""
        return bool(self.fields.get(name)) if name in _OPERATION_FIELDS else name in self.fields


register_value_type(ObjectValue, types.struct("Object"))
register_value_type(PatchOperation, types.struct("JSONPatch"))


def _misnamed(value: Any, path: str) -> Iterator[str]:
    if isinstance(value, ObjectValue):
        if value.type_name != path:
            words = "which matches field name path from root Object type"
            yield f'unexpected type name "{value.type_name}", expected "{path}", {words}'
        for name, inner in value.fields.items():
            yield from _misnamed(inner, f"{path}.{name}")
    elif isinstance(value, list):
        for inner in value:
            yield from _misnamed(inner, path)
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _misnamed(inner, path)


class Unfit(Exception):
    """A value that objects cannot hold. `path` leads to it, `shown` is how Go prints it, `go_type` what it is there."""

    def __init__(self, path: str, shown: str, go_type: str) -> None:
        super().__init__(f"{path}: {shown}")
        self.path = path
        self.shown = shown
        self.go_type = go_type


def applied(value: ObjectValue) -> dict[str, Any]:
    """The object to apply. Raises Unfit for a value that it cannot hold, EvalError for keys that are no texts."""
    return _fields(value, "", False)


def patched(value: Any) -> Any:
    """The value of an operation of a JSON patch, with a float for every number. Raises EvalError."""
    is_object = isinstance(value, ObjectValue)
    try:
        found = _fields(value, "", True) if is_object else json_value(value)
    except Unfit as error:
        raise EvalError(f"proto: invalid type: {error.go_type}") from None
    check_finite(found, "Struct" if is_object else "Value")
    return found


def _fields(value: ObjectValue, path: str, as_floats: bool) -> dict[str, Any]:
    for name, inner in value.fields.items():
        if inner is None:
            raise Unfit(f"{path}.{name}", "NULL_VALUE", "structpb.NullValue")
    return {name: _native(inner, f"{path}.{name}", as_floats) for name, inner in value.fields.items()}


def _native(value: Any, path: str, as_floats: bool) -> Any:
    match value:
        case None | bool() | str() | float():
            return value
        case ObjectValue():
            return _fields(value, path, as_floats)
        case dict():
            return {_key(name): _native(inner, f"{path}.{name}", as_floats) for name, inner in value.items()}
        case list():
            return [_native(inner, f"{path}[{i}]", as_floats) for i, inner in enumerate(value)]
        case Optional():
            return _native(value.value, path, as_floats) if value.present else None
        case TypeValue():
            return value.name
        case Timestamp():
            raise Unfit(path, to_string(value), "time.Time")
        case Duration():
            raise Unfit(path, to_string(value), "time.Duration")
        case int() if as_floats:
            return float(value)
        case bytes() if as_floats:
            return json_value(value)
        case Uint():
            raise Unfit(path, str(int(value)), "uint64")
        case int():
            return value
        case bytes():
            raise Unfit(path, f"[{' '.join(map(str, value))}]", "[]uint8")
    raise Unfit(path, str(value), TypeValue(runtime_type(value)).name)


def _key(key: Any) -> str:
    if not isinstance(key, str):
        raise EvalError(f"map key {key!r} is not a string")
    return key
