"""Label selectors: read from text or from a metav1.LabelSelector."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from watchkeeper.meta.field import go_quote
from watchkeeper.meta.label_parser import parse_requirements
from watchkeeper.meta.label_selector import (
    EVERYTHING,
    NOTHING,
    LabelSelector,
    Operator,
    Requirement,
    SelectorError,
    requirement,
)

__all__ = [
    "EVERYTHING",
    "NOTHING",
    "LabelSelector",
    "Operator",
    "Requirement",
    "SelectorError",
    "from_set",
    "from_spec",
    "parse",
    "requirement",
]


def parse(text: str) -> LabelSelector:
    """Read a selector such as `app in (a,b),tier=front,!old`. Raises SelectorError."""
    found = parse_requirements(text)
    return LabelSelector(found) if found else EVERYTHING


_SPEC_OPERATORS = {
    "In": Operator.IN,
    "NotIn": Operator.NOT_IN,
    "Exists": Operator.EXISTS,
    "DoesNotExist": Operator.DOES_NOT_EXIST,
}


def from_spec(selector: Mapping[str, Any] | None) -> LabelSelector:
    """The selector that a metav1.LabelSelector describes; an absent one selects nothing, an empty one everything.

    Raises SelectorError.
    """
    if selector is None:
        return NOTHING
    found = [requirement(k, Operator.EQUALS, [v]) for k, v in (selector.get("matchLabels") or {}).items()]
    for expression in selector.get("matchExpressions") or ():
        name = expression.get("operator") or ""
        operator = _SPEC_OPERATORS.get(name)
        if operator is None:
            raise SelectorError(f"{go_quote(name)} is not a valid label selector operator")
        found.append(requirement(expression.get("key") or "", operator, expression.get("values") or ()))
    return LabelSelector(found) if found else EVERYTHING


def from_set(labels: Mapping[str, str]) -> LabelSelector:
    """The selector of exactly these labels, which are not validated; {} selects everything."""
    return LabelSelector(Requirement(k, Operator.EQUALS, (v,)) for k, v in labels.items()) if labels else EVERYTHING
