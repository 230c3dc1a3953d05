"""What expressions of mutating policies make: objects to apply, and operations of JSON patches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from watchkeeper.cel import types
from watchkeeper.cel.conversions import to_string
from watchkeeper.cel.values import (
    Duration,
    EvalError,
    Timestamp,
    TypeValue,
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


def to_json(value: Any) -> Any:
    """A value as JSON has it. Raises EvalError for what has no form there."""
    match value:
        case ObjectValue():
            return {name: to_json(inner) for name, inner in value.fields.items()}
        case dict():
            return {_key(name): to_json(inner) for name, inner in value.items()}
        case list():
            return [to_json(inner) for inner in value]
        case Timestamp() | Duration():
            return to_string(value)
        case bytes():
            import base64

            return base64.b64encode(value).decode()
        case None | bool() | float() | str():
            return value
        case int():
            return int(value)
    raise EvalError(f"unsupported type conversion from {TypeValue(runtime_type(value)).name} to a JSON value")


def _key(key: Any) -> str:
    if not isinstance(key, str):
        raise EvalError(f"map key {key!r} is not a string")
    return key
