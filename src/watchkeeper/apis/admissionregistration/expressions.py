"""What the rules of policies and webhooks need to know of CEL, which is compiled in a layer above.

Whoever can compile expressions implements `Expressions`; without one, expressions are taken as they are.
"""

from __future__ import annotations

from enum import Enum
from typing import Protocol

from watchkeeper.meta.field import FieldError, internal_error, invalid
from watchkeeper.values import value


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


@value()
class Problem:
    """What is wrong with an expression."""

    text: str
    """In the compiler's words."""
    internal: bool = False
    """Whether the expression is sound, but nothing can be made of it."""

    def at(self, path: str, expression: str) -> FieldError:
        """The error of a field that holds the expression."""
        return internal_error(path, self.text) if self.internal else invalid(path, expression, self.text)


class Scope(Protocol):
    """The expressions of one policy or one webhook. What is declared adds up."""

    def declare(self, name: str, expression: str) -> Problem | None:
        """Let the expressions after it use `variables.<name>`. Returns what is wrong with it, None for nothing."""
        ...

    def problem(self, expression: str, use: Use) -> Problem | None:
        """What is wrong with an expression; None for nothing."""
        ...


class Expressions(Protocol):
    """Compiles expressions."""

    def scope(self, *, params: bool, variables: bool) -> Scope:
        """A scope of its own, with `params` and with composed `variables` or without."""
        ...


class UncheckedScope:
    """Finds nothing wrong."""

    def declare(self, name: str, expression: str) -> Problem | None:
        """Nothing is wrong."""
        return None

    def problem(self, expression: str, use: Use) -> Problem | None:
        """Nothing is wrong."""
        return None


class Unchecked:
    """Takes expressions as they are."""

    def scope(self, *, params: bool, variables: bool) -> Scope:
        """A scope that finds nothing wrong."""
        return UncheckedScope()
