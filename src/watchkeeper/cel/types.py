"""The types that expressions have, and how messages name them."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Any


class Kind(enum.Enum):
    """What sort of type it is."""

    DYN = "dyn"
    ANY = "any"
    ERROR = "!error!"
    NULL = "null"
    BOOL = "bool"
    INT = "int"
    UINT = "uint"
    DOUBLE = "double"
    STRING = "string"
    BYTES = "bytes"
    TIMESTAMP = "timestamp"
    DURATION = "duration"
    LIST = "list"
    MAP = "map"
    STRUCT = "struct"
    OPAQUE = "opaque"
    TYPE = "type"
    PARAM = "param"


@dataclass(eq=False, slots=True)
class Type:
    """A type. `shape` says more about values that a schema describes; it plays no part in type checking.

    `nullable`: values come from a message of protobuf that wraps one, so they may be compared to null.
    """

    kind: Kind
    name: str
    params: tuple[Type, ...] = ()
    shape: Any = field(default=None, repr=False)
    nullable: bool = False

    def __str__(self) -> str:
        if self.kind in (Kind.LIST, Kind.MAP, Kind.OPAQUE, Kind.TYPE) and self.params:
            return f"{self.name}({', '.join(map(str, self.params))})"
        return f"wrapper({self.name})" if self.nullable else self.name

    def same(self, other: Type) -> bool:
        """Whether both are the same type exactly."""
        return self is other or (
            self.kind is other.kind
            and self.name == other.name
            and len(self.params) == len(other.params)
            and all(a.same(b) for a, b in zip(self.params, other.params, strict=True))
        )


DYN = Type(Kind.DYN, "dyn")
ANY = Type(Kind.ANY, "any")
ERROR = Type(Kind.ERROR, "!error!")
NULL = Type(Kind.NULL, "null")
BOOL = Type(Kind.BOOL, "bool")
INT = Type(Kind.INT, "int")
UINT = Type(Kind.UINT, "uint")
DOUBLE = Type(Kind.DOUBLE, "double")
STRING = Type(Kind.STRING, "string")
BYTES = Type(Kind.BYTES, "bytes")
TIMESTAMP = Type(Kind.TIMESTAMP, "timestamp")
DURATION = Type(Kind.DURATION, "duration")
TYPE = Type(Kind.TYPE, "type")

SIMPLE = {t.name: t for t in (DYN, ANY, NULL, BOOL, INT, UINT, DOUBLE, STRING, BYTES, TIMESTAMP, DURATION, TYPE)}
OPTIONAL_NAME = "optional_type"


def wrapper(of: Type) -> Type:
    """The type of values of `of` that a message of protobuf wraps."""
    return Type(of.kind, of.name, nullable=True)


def list_of(element: Type, shape: Any = None) -> Type:
    """The type of lists of `element`."""
    return Type(Kind.LIST, "list", (element,), shape)


def map_of(key: Type, value: Type, shape: Any = None) -> Type:
    """The type of maps from `key` to `value`."""
    return Type(Kind.MAP, "map", (key, value), shape)


def struct(name: str, shape: Any = None) -> Type:
    """A type with named fields, which the environment knows by its name."""
    return Type(Kind.STRUCT, name, (), shape)


def opaque(name: str, *params: Type) -> Type:
    """A type whose values only functions can look into."""
    return Type(Kind.OPAQUE, name, params)


def optional_of(inner: Type) -> Type:
    """The type of values that may be absent."""
    return opaque(OPTIONAL_NAME, inner)


def type_of(inner: Type) -> Type:
    """The type of the type `inner` itself."""
    return Type(Kind.TYPE, "type", (inner,))


def param(name: str) -> Type:
    """A type parameter of a function."""
    return Type(Kind.PARAM, name)


def is_dyn(t: Type) -> bool:
    """Whether only evaluation tells what the value is."""
    return t.kind in (Kind.DYN, Kind.ANY)


def is_dyn_or_error(t: Type) -> bool:
    """Whether nothing can be said about the type."""
    return t.kind in (Kind.DYN, Kind.ANY, Kind.ERROR)


def is_optional(t: Type) -> bool:
    """Whether values of this type may be absent."""
    return t.kind is Kind.OPAQUE and t.name == OPTIONAL_NAME


def unwrap_optional(t: Type) -> tuple[Type, bool]:
    """The type within an optional one, and whether it was one."""
    return (t.params[0], True) if is_optional(t) else (t, False)


def signature(args: list[Type], member: bool) -> str:
    """The argument types of a call as messages show them."""
    if member:
        return f"{args[0]}.({', '.join(map(str, args[1:]))})"
    return f"({', '.join(map(str, args))})"


def contains_dyn(t: Type) -> bool:
    """Whether the type, or what it holds, is known at evaluation only."""
    return t.kind in (Kind.DYN, Kind.ANY, Kind.ERROR, Kind.PARAM) or any(map(contains_dyn, t.params))


def parse_type(text: str) -> Type:
    """Read a type as declarations write it: `list(T)`, `map(string, A)`; single capital letters are parameters."""
    parsed, rest = _parse(text.strip())
    if rest:
        raise ValueError(f"unexpected {rest!r} in type {text!r}")
    return parsed


def _parse(text: str) -> tuple[Type, str]:
    end = 0
    while end < len(text) and (text[end].isalnum() or text[end] in "._"):
        end += 1
    name, rest = text[:end], text[end:].lstrip()
    params: list[Type] = []
    if rest.startswith("("):
        rest = rest[1:]
        while not rest.startswith(")"):
            inner, rest = _parse(rest.lstrip(", "))
            params.append(inner)
            rest = rest.lstrip()
        rest = rest[1:].lstrip()
    return _named(name, tuple(params)), rest


STRUCT_NAMES = frozenset({"kubernetes.Quantity", "kubernetes.URL", "kubernetes.NamedFormat", "kubernetes.Semver"})
"""Kubernetes' own types that are declared as objects rather than opaque."""


def _named(name: str, params: tuple[Type, ...]) -> Type:
    if name == "list":
        return Type(Kind.LIST, name, params)
    if name == "map":
        return Type(Kind.MAP, name, params)
    if name == "type" and params:
        return Type(Kind.TYPE, name, params)
    if name in SIMPLE:
        return SIMPLE[name]
    if len(name) == 1 and name.isupper():
        return param(name)
    if name == "optional":
        return Type(Kind.OPAQUE, OPTIONAL_NAME, params)
    if name in STRUCT_NAMES:
        return struct(name)
    return Type(Kind.OPAQUE, name, params)
