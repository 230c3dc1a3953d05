"""Expressions as trees. The checker notes types and overloads on the nodes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from watchkeeper.cel.types import DYN, Type


@dataclass(eq=False, slots=True, kw_only=True)
class Node:
    """What every expression has: its place in the source and, once checked, its type."""

    offset: int
    type: Type = DYN


@dataclass(eq=False, slots=True)
class Literal(Node):
    """A constant."""

    value: Any


@dataclass(eq=False, slots=True)
class Ident(Node):
    """A variable or the name of a type. `constant` is the value of such a name."""

    name: str
    constant: Any = ...


@dataclass(eq=False, slots=True)
class Select(Node):
    """`operand.field`, or with `test_only` the question whether the field is there."""

    operand: Expr
    field: str
    test_only: bool = False


@dataclass(eq=False, slots=True)
class Call(Node):
    """A function or operator. `overloads` are those that the argument types allow, by their identifiers."""

    function: str
    args: list[Expr]
    target: Expr | None = None
    overloads: list[str] = field(default_factory=list)

    @property
    def operands(self) -> list[Expr]:
        """The target, if there is one, and the arguments."""
        return self.args if self.target is None else [self.target, *self.args]


@dataclass(eq=False, slots=True)
class ListExpr(Node):
    """`[a, ?b]`; `optional` holds the indices of elements that may be absent."""

    elements: list[Expr]
    optional: frozenset[int] = frozenset()


@dataclass(eq=False, slots=True)
class Entry:
    """`key: value` or `?key: value` of a map."""

    key: Expr
    value: Expr
    optional: bool


@dataclass(eq=False, slots=True)
class MapExpr(Node):
    """`{key: value}`."""

    entries: list[Entry]


@dataclass(eq=False, slots=True)
class StructField:
    """`name: value` of a message."""

    name: str
    value: Expr
    optional: bool
    offset: int


@dataclass(eq=False, slots=True)
class StructExpr(Node):
    """`Name{field: value}`."""

    name: str
    fields: list[StructField]


@dataclass(eq=False, slots=True)
class Macro:
    """The macro that a comprehension was written as, for a compiler that knows a shorter way."""

    name: str
    predicate: Expr | None = None
    transform: Expr | None = None
    key_transform: Expr | None = None


@dataclass(eq=False, slots=True)
class Comprehension(Node):
    """A loop over a list or the keys of a map (with `var2`: over indices and items, or keys and values)."""

    range: Expr
    var: str
    var2: str
    accu: str
    init: Expr
    condition: Expr
    step: Expr
    result: Expr
    macro: Macro


Expr = Literal | Ident | Select | Call | ListExpr | MapExpr | StructExpr | Comprehension

ACCUMULATOR = "@result"


def children(node: Expr) -> Iterator[Expr]:
    """The expressions that a node is made of."""
    match node:
        case Select():
            yield node.operand
        case Call():
            yield from node.operands
        case ListExpr():
            yield from node.elements
        case MapExpr():
            for entry in node.entries:
                yield entry.key
                yield entry.value
        case StructExpr():
            for f in node.fields:
                yield f.value
        case Comprehension():
            yield from (node.range, node.init, node.condition, node.step, node.result)


def walk(node: Expr) -> Iterator[Expr]:
    """A node and all that it is made of."""
    left = [node]
    while left:
        found = left.pop()
        yield found
        left += children(found)


def references(node: Expr, name: str) -> bool:
    """Whether a variable is mentioned anywhere in an expression."""
    return any(isinstance(n, Ident) and n.name == name for n in walk(node))
