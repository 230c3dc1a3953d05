"""Says what is wrong with expressions when webhooks and policies are written (`apis.admissionregistration`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from watchkeeper.apis.admissionregistration.expressions import Problem, Scope, Use

if TYPE_CHECKING:
    from watchkeeper.admission.expression.compiled import Expression, ReturnType
    from watchkeeper.admission.expression.compiler import ExpressionCompiler

_PATCHES = frozenset({Use.APPLY_CONFIGURATION, Use.JSON_PATCH})


class CheckedScope:
    """The expressions of one policy or webhook. Implements `Scope`."""

    def __init__(self, compiler: ExpressionCompiler) -> None:
        self._compiler = compiler

    def declare(self, name: str, expression: str) -> Problem | None:
        """Compile a variable for the expressions after it."""
        return _problem(self._compiler.variable(name, expression))

    def problem(self, expression: str, use: Use) -> Problem | None:
        """Compile an expression."""
        authorizer = use is not Use.MESSAGE
        patches = use in _PATCHES
        return _problem(self._compiler.compile(expression, _wanted(use), authorizer=authorizer, patches=patches))


class CheckedExpressions:
    """Implements `Expressions`: for `checked_behaviors`. The compiler is loaded when it is first needed."""

    def scope(self, *, params: bool, variables: bool) -> Scope:
        """A scope of its own."""
        from watchkeeper.admission.expression.compiler import ExpressionCompiler

        return CheckedScope(ExpressionCompiler(params=params, variables=variables))


def _problem(compiled: Expression) -> Problem | None:
    return Problem(compiled.problem, compiled.sound) if compiled.problem else None


def _wanted(use: Use) -> ReturnType:
    from watchkeeper.admission.expression import compiled

    return {
        Use.CONDITION: compiled.BOOL,
        Use.VALIDATION: compiled.BOOL,
        Use.MESSAGE: compiled.STRING,
        Use.AUDIT_ANNOTATION: compiled.STRING_OR_NULL,
        Use.APPLY_CONFIGURATION: compiled.CONFIGURATION,
        Use.JSON_PATCH: compiled.PATCHES,
    }[use]
