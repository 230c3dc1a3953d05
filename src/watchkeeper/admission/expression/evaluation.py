"""Running expressions: what they see, what they cost, and what comes of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from watchkeeper.admission.expression.compiled import Expression
from watchkeeper.admission.expression.variables import Variables
from watchkeeper.cel.costs import RUNTIME_BUDGET
from watchkeeper.cel.program import Program
from watchkeeper.cel.values import CostLimitExceeded, EvalError

CONDITIONS_BUDGET = RUNTIME_BUDGET // 4
"""What all match conditions of a webhook, or of a policy for one set of parameters, may cost."""


class OutOfBudget(Exception):
    """The expressions took more than they may together."""

    def __init__(self) -> None:
        super().__init__("validation failed due to running out of cost budget, no further validation rules will be run")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one expression: a value, or what went wrong."""

    value: Any = None
    error: str = ""


class Evaluation:
    """Evaluates expressions that share a budget and composed variables."""

    __slots__ = ("_values", "remaining")

    def __init__(
        self, values: Mapping[str, Any], programs: Mapping[str, Program] | None = None, budget: int = RUNTIME_BUDGET
    ) -> None:
        """`values` by variable; `programs` compute `variables`, None where there is no such thing."""
        self.remaining = budget
        self._values = dict(values)
        if programs is not None:
            self._values["variables"] = Variables(programs, self._values, self._pay)

    def run(self, expression: Expression) -> Outcome:
        """Evaluate one expression. Raises OutOfBudget, Undecided."""
        if expression.program is None:
            return Outcome(error=f"compilation error: {expression.problem}")
        value: Any = None
        error = ""
        try:
            value, cost = expression.program.evaluate(self._values)
        except (EvalError, CostLimitExceeded) as problem:
            cost = problem.cost
            error = f"expression '{expression.source}' resulted in error: {problem}"
        self._pay(cost)
        if self.remaining < 0:
            raise OutOfBudget
        return Outcome(value, error)

    def run_all(self, expressions: Sequence[Expression | None]) -> list[Outcome | None]:
        """Evaluate all, in order; None stays None. Raises OutOfBudget, Undecided."""
        return [None if e is None else self.run(e) for e in expressions]

    def _pay(self, cost: int) -> None:
        self.remaining -= cost
