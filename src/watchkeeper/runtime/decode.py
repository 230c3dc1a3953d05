"""Decoding of built-in kinds: prunes, checks and normalizes a parsed body, quickly when it is plain.

A decoder does what a round trip through the reference's compiled-in type does: unknown fields and nulls go, wrong types
are refused, zero values are left out or filled in, times, quantities and bytes take their canonical form.

For each struct a function is made, at its first use, that walks the entries of a dict once. It knows only what is
allowed; at anything else it stops, and `unmarshal` decodes the whole body again in full and finds the
words. What the fast walk has changed until then does no harm: it only ever replaces values by their canonical form,
and structs with empty lists or maps, of which `with_empties` tells, by such as remember them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from watchkeeper.runtime.base64_text import canonical_base64
from watchkeeper.runtime.quantity import canonical_quantity
from watchkeeper.runtime.schema import Field, Omit, Schema, SchemaType
from watchkeeper.runtime.scheme import Decoder, Object
from watchkeeper.runtime.timestamps import canonical_micro_time, canonical_time
from watchkeeper.runtime.unmarshal import INT_RANGES, unmarshal
from watchkeeper.runtime.with_empties import WithEmpties
from watchkeeper.runtime.zero import COLLECTIONS, keeps_empty_lists, omitted, shows_when_unset, zero_field, zero_value

_Walk = Callable[[Any], Any]
"""Takes a value, returns it or what it becomes; `_DROP` when the field is left out. At what is not plain it raises
_NotPlain, or what Python itself raises: KeyError at an unknown field, AttributeError at a list instead of a dict."""


class _NotPlain(Exception):
    """The fast walk met what it does not know."""


class _Drop:
    """Marks a field that is left out."""


_NOT_PLAIN = _NotPlain()
_DROP = _Drop()
_STOPS = (_NotPlain, KeyError, AttributeError, ValueError, RecursionError)


def compile_decoder(schema: Schema) -> Decoder:
    """A decoder of a built-in kind. It changes the object it is given. Nothing is compiled before the first use."""
    walk: _Walk | None = None

    def decode(obj: Object, unknown: list[str] | None = None) -> Object:
        nonlocal walk
        if walk is None:
            walk = _struct(schema)
        try:
            decoded: Object = walk(obj)
        except _STOPS:
            decoded = unmarshal(schema, obj, unknown)
        return decoded

    return decode


def decode_sent(schema: Schema, obj: Object, unknown: list[str] | None) -> Object:
    """The same for an object whose text is at hand. Raises TextWanted, too, and may have changed the object then."""
    try:
        decoded: Object = _struct(schema)(obj)
    except _STOPS:
        decoded = unmarshal(schema, obj, unknown, guesses=False)
    return decoded


_SOURCE = """
def make(plain, walks, empties, drop, without, {parameters}):
    def walk(obj):
        dropped = None
        for name, value in obj.items():
            wanted = plain[name]
            if wanted is value.__class__ and value:
                if wanted is not int or -2147483648 <= value <= 2147483647:
                    continue
            new = walks[name](value) if value else empties[name](value)
            if new is value:
                continue
            if new is not drop:
                obj[name] = new
            elif dropped is None:
                dropped = [name]
            else:
                dropped.append(name)
        if dropped is not None:
            obj = without(obj, dropped)
        {unset}
        return obj
    return walk
"""
"""A text, number or true where one belongs needs no further look: they are most of any object."""


@functools.cache
def _maker(unset: int) -> Callable[..., _Walk]:
    """Makes walks over structs of which `unset` fields show although nobody set them."""
    source = _SOURCE.format(
        parameters=", ".join(f"name_{i}, zero_{i}" for i in range(unset)),
        unset="\n        ".join(f"if name_{i} not in obj: obj[name_{i}] = zero_{i}()" for i in range(unset)),
    )
    scope: dict[str, Any] = {}
    exec(compile(source, f"<walk over a struct with {unset} unset fields>", "exec"), scope)
    return scope["make"]  # type: ignore[no-any-return]


_STRUCTS: dict[Schema, _Walk] = {}


def _struct(schema: Schema) -> _Walk:
    """The walk over a struct. Recursive types find themselves in the cache before their tables are complete."""
    if (known := _STRUCTS.get(schema)) is not None:
        return known
    plain: dict[str, type | None] = {}
    walks: dict[str, _Walk] = {}
    empties: dict[str, _Walk] = {}
    unset: list[Any] = []
    for field in schema.fields.values():
        if shows_when_unset(field):
            unset += [field.name, _maker_of(zero_field(field))]
    walk = _STRUCTS[schema] = _maker(len(unset) // 2)(plain, walks, empties, _DROP, _without(schema), *unset)
    for field in schema.fields.values():
        plain[field.name] = _PLAIN.get(field.schema.type) if not _has_form(field.schema) else None
        inner = _value(field.schema)
        walks[field.name] = _unless_zero(inner) if field.omit is Omit.ZERO and not field.pointer else inner
        empties[field.name] = _empty(field, inner, keep=keeps_empty_lists(schema))
    return walk


def _without(schema: Schema) -> Callable[[Object, list[str]], Object]:
    """Takes fields out of a struct, which remembers those that were empty lists or maps."""
    collections = {f.name: shows_when_unset(f) for f in schema.fields.values() if f.schema.type in COLLECTIONS}

    def without(obj: Object, dropped: list[str]) -> Object:
        empties = None
        for name in dropped:
            value = obj.pop(name)
            if name in collections and value is not None:
                empties = empties or {}
                empties[name] = value
                if collections[name]:
                    obj[name] = None
        return obj if empties is None else WithEmpties(obj, empties)

    return without


def _maker_of(zero: Any) -> Callable[[], Any]:
    """Makes fresh zero values like the given one."""
    if not isinstance(zero, dict):
        return lambda: zero
    inner = {name: _maker_of(value) for name, value in zero.items() if isinstance(value, dict)}

    def make() -> Object:
        made: Object = zero.copy()
        for name, make_inner in inner.items():
            made[name] = make_inner()
        return made

    return make if inner else zero.copy


_PLAIN = {SchemaType.STRING: str, SchemaType.BOOLEAN: bool, SchemaType.INTEGER: int}


def _has_form(schema: Schema) -> bool:
    return schema.type is SchemaType.STRING and schema.format != ""


def _empty(field: Field, inner: _Walk, *, keep: bool) -> _Walk:
    """The walk of a field's value when that is null, or zero or empty of whatever type."""
    schema = field.schema
    null = None if field.pointer else zero_value(schema)
    forgotten = schema.type in COLLECTIONS and not keep
    struct = schema.type is SchemaType.STRUCT and not field.pointer

    def walk(value: Any) -> Any:
        if value is None:
            new = zero_value(schema) if struct else null
        else:
            new = inner(value)
            if forgotten and not new:
                return _DROP
        return _DROP if omitted(field, new) else new

    return walk


def _unless_zero(inner: _Walk) -> _Walk:
    """The walk of a time that is left out where it is the zero time."""

    def walk(value: Any) -> Any:
        new = inner(value)
        return _DROP if new is None else new

    return walk


def _value(schema: Schema) -> _Walk:
    """The walk of a type, for a value that is not null."""
    kind, form = schema.type, schema.format
    if kind is SchemaType.STRUCT:
        return _struct(schema)
    if kind is SchemaType.LIST:
        return _list(schema)
    if kind is SchemaType.MAP:
        return _map(schema)
    if kind is SchemaType.ANY:
        return _schema_or(schema) if form.startswith("schema-or-") else _keep
    if kind is SchemaType.INTEGER:
        return _integer(*INT_RANGES[form])
    return _SCALARS[kind] if kind is not SchemaType.STRING else _TEXTS[form]


def _list(schema: Schema) -> _Walk:
    element = schema.element
    assert element is not None
    if element.type is SchemaType.STRING and not element.format:
        return _texts_in_list
    inner, not_plain = _value(element), _NOT_PLAIN

    def walk_structs(items: Any) -> Any:
        if items.__class__ is not list:
            raise not_plain
        for item in items:
            new = inner(item)
            if new is not item:
                _replace(items, item, new)
        return items

    def walk(items: Any) -> Any:
        if items.__class__ is not list or None in items:
            raise not_plain
        for index, item in enumerate(items):
            items[index] = inner(item)
        return items

    return walk_structs if element.type is SchemaType.STRUCT else walk


def _replace(items: list[Any], item: Any, new: Any) -> None:
    """Put another value in the place of an item, which is told by its identity."""
    items[next(index for index, each in enumerate(items) if each is item)] = new


def _map(schema: Schema) -> _Walk:
    element = schema.element
    assert element is not None
    if element.type is SchemaType.STRING and not element.format:
        return _texts_in_map
    inner, not_plain = _value(element), _NOT_PLAIN

    def walk(items: Any) -> Any:
        for key, item in items.items():
            if item is None:
                raise not_plain
            new = inner(item)
            if new is not item:
                items[key] = new
        return items

    return walk


def _texts_in_list(items: Any) -> Any:
    if items.__class__ is not list:
        raise _NOT_PLAIN
    for item in items:
        if item.__class__ is not str:
            raise _NOT_PLAIN
    return items


def _texts_in_map(items: Any) -> Any:
    for item in items.values():
        if item.__class__ is not str:
            raise _NOT_PLAIN
    return items


def _keep(value: Any) -> Any:
    return value


def _schema_or(schema: Schema) -> _Walk:
    """The walk of a JSON schema where a bool, a list of schemas or a list of texts may stand instead."""
    assert schema.element is not None
    inner, form, not_plain = _value(schema.element), schema.format, _NOT_PLAIN

    def walk(value: Any) -> Any:
        kind = value.__class__
        if kind is dict:
            return inner(value)
        if kind is bool and form == "schema-or-bool":
            return value
        if kind is list and value and form == "schema-or-array":
            for index, item in enumerate(value):
                if item.__class__ is not dict:
                    raise not_plain
                value[index] = inner(item)
            return value
        raise not_plain

    return walk


def _integer(low: int, high: int) -> _Walk:
    not_plain = _NOT_PLAIN

    def walk(value: Any) -> Any:
        if value.__class__ is int and low <= value <= high:
            return value
        raise not_plain

    return walk


def _number(value: Any) -> Any:
    if value.__class__ is int or (value.__class__ is float and not value.is_integer()):
        return value
    raise _NOT_PLAIN


def _boolean(value: Any) -> Any:
    if value.__class__ is bool:
        return value
    raise _NOT_PLAIN


def _int_or_string(value: Any) -> Any:
    if value.__class__ is str or (value.__class__ is int and -(2**31) <= value < 2**31):
        return value
    raise _NOT_PLAIN


def _text(value: Any) -> Any:
    if value.__class__ is str:
        return value
    raise _NOT_PLAIN


def _text_through(canonical: Callable[[str], str | None]) -> _Walk:
    """A text in a form of its own. What is not in that form raises ValueError, which stops the walk as well."""

    def walk(value: Any) -> Any:
        if value.__class__ is str:
            return canonical(value)
        raise _NOT_PLAIN

    return walk


_SCALARS: dict[SchemaType, _Walk] = {
    SchemaType.NUMBER: _number,
    SchemaType.BOOLEAN: _boolean,
    SchemaType.INT_OR_STRING: _int_or_string,
}
_TEXTS: dict[str, _Walk] = {
    "": _text,
    "quantity": _text_through(canonical_quantity),
    "date-time": _text_through(canonical_time),
    "micro-time": _text_through(canonical_micro_time),
    "byte": _text_through(canonical_base64),
}
