"""What cel-go works out once, when a program is made: constants, and what is made of them. It costs nothing later."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from watchkeeper.cel import operators as op
from watchkeeper.cel.ast import Call, Expr, Ident, ListExpr, Literal, MapExpr, Select, walk
from watchkeeper.cel.conversions import to_type
from watchkeeper.cel.maps import map_from
from watchkeeper.cel.source import InstantiationError
from watchkeeper.cel.validators import CONSTANT_CONVERSIONS
from watchkeeper.cel.values import EvalError, Uint

_CONVERSIONS: dict[str, Callable[[object], object]] = {
    **CONSTANT_CONVERSIONS,
    "dyn": lambda value: value,
    "type": to_type,
}
_SEARCHED = (bool, int, float, str, Uint)
"""The types of items in constant lists that are looked up without a search."""


def constant_of(node: Expr) -> tuple[Any] | None:
    """The value of a constant expression; None for all others."""
    if isinstance(node, Literal):
        return (node.value,)
    if isinstance(node, Ident):
        return None if node.constant is ... else (node.constant,)
    try:
        return _made_of(node)
    except EvalError:
        return None


def _made_of(node: Expr) -> tuple[Any] | None:
    if isinstance(node, ListExpr):
        items = [constant_of(element) for element in node.elements]
        return None if node.optional or None in items else ([item[0] for item in items if item is not None],)
    if isinstance(node, MapExpr):
        found: list[tuple[Any, Any]] = []
        for entry in node.entries:
            key, value = constant_of(entry.key), constant_of(entry.value)
            if entry.optional or key is None or value is None:
                return None
            found.append((key[0], value[0]))
        return (map_from(found),)
    if not isinstance(node, Call) or len(node.operands) != 1:
        return None
    argument = constant_of(node.operands[0])
    convert = _CONVERSIONS.get(node.function)
    return (convert(argument[0]),) if convert is not None and argument is not None else None


def check_qualifiers(node: Expr) -> None:
    """Refuse constants that nothing can be looked up by. Raises InstantiationError."""
    for call in walk(node):
        if isinstance(call, Call) and call.function in _INDEXING and (found := constant_of(call.args[1])) is not None:
            try:
                op.check_qualifier(found[0])
            except EvalError as problem:
                raise InstantiationError(str(problem)) from None


def searched_list(node: Call) -> list[Any] | None:
    """The constant list in which `in` looks a value up at no cost; None for all other calls."""
    if node.function != "@in" or node.overloads != ["in_list"]:
        return None
    found = constant_of(node.args[1])
    if found is None or any(item.__class__ not in _SEARCHED for item in found[0]):
        return None
    items: list[Any] = found[0]
    return items


_INDEXING = ("_[_]", "_[?_]", "_?._")


def is_attribute(node: Expr) -> bool:
    """Whether the expression is a name, or something within a value."""
    if isinstance(node, Ident):
        return node.constant is ...
    return _container(node) is not None


def _container(node: Expr) -> Expr | None:
    """What a field or an item is taken of; None for all other expressions."""
    if isinstance(node, Select):
        return None if node.test_only or node.field == "" else node.operand
    return node.args[0] if isinstance(node, Call) and node.function in _INDEXING else None


def root_of(node: Expr) -> Expr:
    """What the first field or item of an attribute is taken of."""
    inner = _container(node)
    return node if inner is None else root_of(inner)


def is_conditional(node: Expr) -> bool:
    """Whether it is a choice between two others."""
    return isinstance(node, Call) and node.function == "_?_:_"


def base_cost(node: Expr) -> int:
    """What is paid for an attribute as such; nothing where it is looked up on behalf of another expression."""
    return 0 if not is_attribute(node) or is_conditional(root_of(node)) else 1
