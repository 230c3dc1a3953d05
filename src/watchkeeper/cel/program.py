"""A compiled expression, ready to be evaluated many times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from watchkeeper.cel.ast import Expr, references
from watchkeeper.cel.costs import PER_CALL_LIMIT
from watchkeeper.cel.estimate import SizeOf, Span, estimate
from watchkeeper.cel.interpreter import Activation, Evaluate, Interpreter
from watchkeeper.cel.recursion import room
from watchkeeper.cel.types import Type
from watchkeeper.cel.values import CostLimitExceeded, EvalError

if TYPE_CHECKING:
    from watchkeeper.cel.environment import Environment


class Program:
    """An expression that was found to be right."""

    def __init__(self, source: str, node: Expr, environment: Environment) -> None:
        self.source = source
        self.node = node
        self._environment = environment
        self._exact: Evaluate | None = None

    def __repr__(self) -> str:
        return f"<Program {self.source!r}>"

    @property
    def type(self) -> Type:
        """The type of the result."""
        return self.node.type

    def uses(self, variable: str) -> bool:
        """Whether the expression mentions a variable."""
        with room():
            return references(self.node, variable)

    def estimate(self, size_of: SizeOf) -> Span:
        """The least and the greatest cost, given the sizes that variables may have."""
        with room():
            return estimate(self.node, size_of)

    def evaluate(self, variables: dict[str, Any], limit: int = PER_CALL_LIMIT) -> tuple[Any, int]:
        """The value and what it cost. Raises EvalError and CostLimitExceeded, with `cost` set on them."""
        exact = self._exact
        if exact is None:
            with room():
                exact = self._exact = Interpreter(self._environment.functions, self._environment).plan(self.node)
        try:
            return _run(exact, Activation(variables, limit))
        except RecursionError:
            with room():
                return _run(exact, Activation(variables, limit))

    def compiled(self, parameters: Sequence[str]) -> Callable[..., Any] | None:
        """A Python function of the variables, in this order, that gives the value wherever evaluation succeeds.

        It keeps no account of the cost, and raises some exception where `evaluate` may raise or not: then ask that.
        None when the expression is of a kind that only `evaluate` does.
        """
        from watchkeeper.cel.codegen import compile_expression

        with room():
            return compile_expression(self.node, self._environment, parameters)


def _run(exact: Evaluate, activation: Activation) -> tuple[Any, int]:
    try:
        return exact(activation), activation.cost
    except (EvalError, CostLimitExceeded) as problem:
        problem.cost = activation.cost
        raise
