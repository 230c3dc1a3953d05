"""What the rules of policies and webhooks need to know of CEL, which is compiled in a layer above.

Whoever can compile expressions implements `Expressions`; without one, expressions are taken as they are.
"""

from __future__ import annotations

from enum import Enum
from typing import Protocol


class Use(Enum):
    """What an expression is for, which decides the type it must have and the variables it sees."""

    CONDITION = "condition"
    """Whether a request is looked at: a boolean."""
    VALIDATION = "validation"
    """Whether a request is in order: a boolean."""
    MESSAGE = "message"
    """The words of a denial: a string. It sees no authorizer."""
    AUDIT_ANNOTATION = "auditAnnotation"
    """A string, or null for none."""
    APPLY_CONFIGURATION = "applyConfiguration"
    """An object to apply. It sees the types of patches."""
    JSON_PATCH = "jsonPatch"
    """A list of operations. It sees the types of patches."""


class Scope(Protocol):
    """The expressions of one policy or one webhook. What is declared adds up."""

    def declare(self, name: str, expression: str) -> str | None:
        """Let the expressions after it use `variables.<name>`. Returns what is wrong with it, None for nothing."""
        ...

    def problem(self, expression: str, use: Use) -> str | None:
        """What is wrong with an expression, in the compiler's words; None for nothing."""
        ...


class Expressions(Protocol):
    """Compiles expressions."""

    def scope(self, *, params: bool, variables: bool) -> Scope:
        """A scope of its own, with `params` and with composed `variables` or without."""
        ...


class UncheckedScope:
    """Finds nothing wrong."""

    def declare(self, name: str, expression: str) -> str | None:
        """Nothing is wrong."""
        return None

    def problem(self, expression: str, use: Use) -> str | None:
        """Nothing is wrong."""
        return None


class Unchecked:
    """Takes expressions as they are."""

    def scope(self, *, params: bool, variables: bool) -> Scope:
        """A scope that finds nothing wrong."""
        return UncheckedScope()
