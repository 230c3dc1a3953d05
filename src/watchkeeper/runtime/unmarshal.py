"""Decoding in full: every unknown field with its path, every wrong type in the reference's words.

This is the slow and complete twin of `decode`, which hands over to it whenever a body is anything but plain.
The order of events is that of the reference's JSON decoder: a wrong type is remembered and decoding goes on, the first
one counts; a text that a self-decoding type (a quantity, a time) refuses ends decoding at once and wins.
"""

from __future__ import annotations

import copy
import functools
import math
from collections.abc import Callable
from typing import Any

from watchkeeper.meta.field import go_quote
from watchkeeper.runtime.base64_text import Base64Error, base64_of, canonical_base64
from watchkeeper.runtime.json_text import WrittenNumber
from watchkeeper.runtime.quantity import QuantityError, canonical_quantity
from watchkeeper.runtime.repeated import Pairs, settled
from watchkeeper.runtime.schema import Field, Omit, Schema, SchemaType
from watchkeeper.runtime.scheme import DecodeError, Object
from watchkeeper.runtime.timestamps import TimeError, canonical_micro_time, canonical_time
from watchkeeper.runtime.with_empties import WithEmpties
from watchkeeper.runtime.zero import (
    COLLECTIONS,
    keeps_empty_lists,
    omitted,
    shows_when_unset,
    zero_field,
    zero_value,
)

MAX_STRICT_ERRORS = 100
"""How many unknown fields are reported; the rest is dropped in silence."""


INT_RANGES = {
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "int": (-(2**63), 2**63 - 1),
    "uint32": (0, 2**32 - 1),
    "uint64": (0, 2**64 - 1),
}


class TextWanted(Exception):
    """A quantity is a number whose text decides what it is: 1e3 and 1000.0 are not written alike."""


def unmarshal(schema: Schema, obj: Any, unknown: list[str] | None, *, guesses: bool = True) -> Object:
    """Decode an object of a built-in kind, in place where it can; appends to `unknown`. Raises DecodeError.

    Where a quantity is a float its text is guessed from the value. Without `guesses`, raises TextWanted instead: then
    numbers are to be given as `WrittenNumber`.
    """
    walk = _Unmarshal(unknown, guesses=guesses)
    try:
        value = walk.value(schema, obj, "")
    except _Refused as error:
        raise DecodeError(str(error)) from None
    except _WrongType as error:
        raise DecodeError(walk.describe(error)) from None
    except RecursionError:
        raise DecodeError("exceeded max depth") from None
    if walk.type_error is not None:
        raise DecodeError(walk.type_error)
    assert isinstance(value, dict)
    return value


def check_repeated(schema: Schema, pairs: Any) -> None:
    """Raise DecodeError for what does not decode among all that a body says, also where it says it again."""
    unmarshal(schema, copy.deepcopy(pairs), None)


def refusal_alone(schema: Schema, value: Any) -> str | None:
    """Why a type does not take a value that is decoded by itself, outside of any struct; None when it does."""
    walk = _Unmarshal(None)
    try:
        for inner, part in _handed_on(schema, value):
            walk.value(inner, part, "")
    except _Refused as error:
        return str(error)
    except _WrongType as error:
        return walk.describe(error)
    return walk.type_error


def _handed_on(schema: Schema, value: Any) -> list[tuple[Schema, Any]]:
    """What a value is decoded as; schemas within one that decodes itself have decoders of their own."""
    element = schema.element
    if schema.format.startswith("schema-or-") and element is not None:
        if value.__class__ is dict:
            return [(element, value)]
        if schema.format == "schema-or-array" and value.__class__ is list:
            return [(element, item) for item in value]
    return [(schema, value)]


class _Refused(Exception):
    """A self-decoding type did not take its text: decoding ends here."""


class _WrongType(Exception):
    """A self-decoding type met a value of the wrong type: decoding ends here. The outermost decoder says where."""

    def __init__(self, found: str, wanted: str) -> None:
        super().__init__(found, wanted)
        self.found = found
        self.wanted = wanted


@functools.cache
def _shown_fields(schema: Schema) -> tuple[Field, ...]:
    """The fields that show although nobody has set them."""
    return tuple(field for field in schema.fields.values() if shows_when_unset(field))


class _Unmarshal:
    """One decoding: collects unknown fields and the first wrong type."""

    def __init__(self, unknown: list[str] | None, *, guesses: bool = True) -> None:
        self._unknown = unknown
        self._guesses = guesses
        self._seen: set[str] = set(unknown or ())
        self._fields: list[str] = []
        self._struct = ""
        self._scalars: dict[SchemaType, Callable[[Schema, Any], Any]] = {
            SchemaType.STRING: self._text,
            SchemaType.INTEGER: self._integer,
            SchemaType.NUMBER: self._number,
            SchemaType.BOOLEAN: self._boolean,
            SchemaType.INT_OR_STRING: self._int_or_string,
        }
        self.type_error: str | None = None
        self._first_wrong: _WrongType | None = None

    def value(self, schema: Schema, value: Any, path: str) -> Any:
        """Decode a value that is not behind a pointer; null is the zero value."""
        if value is None:
            return zero_value(schema)
        kind = schema.type
        if kind is SchemaType.STRUCT:
            return self._decode_struct(schema, value, path)
        if kind is SchemaType.LIST:
            return self._list(schema, value, path)
        if kind is SchemaType.MAP:
            return self._map(schema, value, path)
        if kind is SchemaType.ANY:
            return self._any(schema, value, path)
        return self._scalars[kind](schema, value)

    def _decode_struct(self, schema: Schema, obj: Any, path: str) -> Any:
        if obj.__class__ is WithEmpties:  # as the fast walk has left it
            obj = obj.sent()
        fields = obj.items() if obj.__class__ is dict else obj
        if obj.__class__ is Pairs:
            obj = {}
        elif obj.__class__ is not dict:
            return self._mismatch(schema, obj)
        outer = self._struct
        dropped: list[str] = []
        empties: Object = {}
        for name, value in fields:
            field = schema.fields.get(name)
            if field is None:
                self._report(f"{path}.{name}" if path else name)
                dropped.append(name)
                continue
            self._struct = schema.go_type.rpartition(".")[2]
            self._fields.append(field.go_path or name)
            inner = f"{path}.{name}" if path else name
            decoded = None if value is None and field.pointer else self.value(field.schema, value, inner)
            self._fields.pop()
            empty = decoded is not None and not decoded and field.schema.type in COLLECTIONS
            if empty and (field.omit is not Omit.NEVER or not keeps_empty_lists(schema)):
                empties[name], decoded = decoded, None
            if omitted(field, decoded):
                dropped.append(name)
            else:
                obj[name] = decoded
        self._struct = outer
        for name in dropped:
            obj.pop(name, None)
        for field in _shown_fields(schema):
            if field.name not in obj:
                obj[field.name] = zero_field(field)
        return WithEmpties(obj, empties) if empties else obj

    def _list(self, schema: Schema, value: Any, path: str) -> Any:
        if value.__class__ is not list:
            return self._mismatch(schema, value)
        assert schema.element is not None
        for index, item in enumerate(value):
            value[index] = self.value(schema.element, item, f"{path}[{index}]")
        return value

    def _map(self, schema: Schema, value: Any, path: str) -> Any:
        items = value.items() if value.__class__ is dict else value
        if value.__class__ is Pairs:
            value = {}
        elif value.__class__ is not dict:
            return self._mismatch(schema, value)
        element = schema.element
        assert element is not None
        for key, item in items:
            decoded = self.value(element, item, f"{path}.{key}" if path else key)
            value[key] = "" if decoded is None and element.format == "byte" else decoded
        return value

    def _text(self, schema: Schema, value: Any) -> Any:
        form = schema.format
        if form == "quantity":
            return self._quantity(value)
        if form == "byte":
            return self._bytes(value)
        if value.__class__ is not str:
            if form in ("date-time", "micro-time"):
                raise _WrongType(described(value), "string")
            return self._mismatch(schema, value)
        try:
            if form == "date-time":
                return canonical_time(value)
            if form == "micro-time":
                return canonical_micro_time(value)
        except TimeError as error:
            raise _Refused(str(error)) from None
        return value

    def _bytes(self, value: Any) -> str | None:
        """Bytes: base64, or a list of numbers."""
        if value.__class__ is list:
            return base64_of([self._octet(item) for item in value])
        if value.__class__ is not str:
            self._save(described(value), "[]uint8")
            return None
        try:
            return canonical_base64(value)
        except Base64Error as error:
            self.type_error = self.type_error or str(error)
            return None

    def _octet(self, value: Any) -> int:
        found = 0 if value is None else self._whole(value, 0, 255, "uint8")
        return found or 0

    def _quantity(self, value: Any) -> str:
        if isinstance(value, WrittenNumber):
            value = value.text
        elif isinstance(value, float) and not self._guesses:
            raise TextWanted
        text = value if isinstance(value, str) else "" if isinstance(value, (bool, list, dict)) else str(value)
        try:
            return canonical_quantity(text)
        except QuantityError as error:
            raise _Refused(str(error)) from None

    def _integer(self, schema: Schema, value: Any) -> Any:
        return self._whole(value, *INT_RANGES[schema.format], schema.go_type)

    def _whole(self, value: Any, low: int, high: int, go_type: str) -> int | None:
        if value.__class__ is int and low <= value <= high:
            return value
        if value.__class__ is WrittenNumber:
            self._save(f"number {value.text}", go_type)
        elif value.__class__ in (int, float):
            shown = int(value) if float(value).is_integer() and abs(value) < 1e21 else value
            self._save(f"number {shown}", go_type)
        else:
            self._save(described(value), go_type)
        return None

    def _number(self, schema: Schema, value: Any) -> Any:
        if value.__class__ is WrittenNumber:
            if math.isinf(value):
                self._save(f"number {value.text}", schema.go_type)
                return None
            value = float(value)
        if value.__class__ is float:
            return int(value) if value.is_integer() and -(2**63) <= value < 2**64 else value
        return value if value.__class__ is int else self._mismatch(schema, value)

    def _boolean(self, schema: Schema, value: Any) -> Any:
        return value if value.__class__ is bool else self._mismatch(schema, value)

    def _int_or_string(self, schema: Schema, value: Any) -> Any:
        if value.__class__ is str:
            return value
        if value.__class__ is int and -(2**31) <= value < 2**31:
            return value
        number = value.__class__ in (int, float, WrittenNumber)
        shown = value.text if value.__class__ is WrittenNumber else value
        raise _WrongType(f"number {shown}" if number else described(value), "int32")

    def _any(self, schema: Schema, value: Any, path: str) -> Any:
        form = schema.format
        if value.__class__ is Pairs:
            value = settled(None, value)
        if not form.startswith("schema-or-"):
            return value if self._guesses else plain_numbers(value)
        assert schema.element is not None
        if value.__class__ is dict:
            return self._nested(schema.element, value)
        if form == "schema-or-bool":
            if value.__class__ is not bool:
                raise _Refused("boolean or JSON schema expected")
            return value
        if value.__class__ is not list or not value:
            return None
        if form == "schema-or-array":
            return [self._nested(schema.element, item) for item in value]
        if any(item.__class__ is not str for item in value):
            wrong = next(item for item in value if item.__class__ is not str)
            raise _WrongType(described(wrong), "string")
        return value

    def _nested(self, schema: Schema, value: Any) -> Any:
        """A schema that a self-decoding type decodes by itself: leniently, and its errors end the outer decoding."""
        walk = _Unmarshal(None, guesses=self._guesses)
        found = walk.value(schema, value, "")
        if walk._first_wrong is not None:
            raise walk._first_wrong
        return found

    def _report(self, path: str) -> None:
        if self._unknown is None or len(self._unknown) >= MAX_STRICT_ERRORS:
            return
        text = f"unknown field {go_quote(path)}"
        if text not in self._seen:
            self._seen.add(text)
            self._unknown.append(text)

    def _mismatch(self, schema: Schema, value: Any) -> Any:
        return self._save(described(value), schema.go_type)

    def _save(self, found: str, wanted: str) -> None:
        if self.type_error is None:
            self._first_wrong = _WrongType(found, wanted)
            self.type_error = self.describe(self._first_wrong)

    def describe(self, error: _WrongType) -> str:
        """Where decoding stands, and what is wrong there."""
        if not self._fields:
            return f"json: cannot unmarshal {error.found} into Go value of type {error.wanted}"
        where = f"{self._struct}.{'.'.join(self._fields)}"
        return f"json: cannot unmarshal {error.found} into Go struct field {where} of type {error.wanted}"


def plain_numbers(value: Any) -> Any:
    """A value with floats for all `WrittenNumber`. Raises DecodeError for what is beyond them."""
    if isinstance(value, dict):
        return {key: plain_numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain_numbers(item) for item in value]
    if not isinstance(value, WrittenNumber):
        return value
    if math.isinf(value):
        raise DecodeError(f"json: cannot unmarshal number {value.text} into Go value of type float64")
    return float(value)


def described(value: Any) -> str:
    """What the decoder calls a JSON value."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "string"
    if isinstance(value, (int, float)):
        return "number"
    return "array" if isinstance(value, list) and not isinstance(value, Pairs) else "object"
