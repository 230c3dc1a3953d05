"""matchConditions of webhooks and policies: all must hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from watchkeeper.admission.expression.compiled import BOOL
from watchkeeper.admission.expression.compiler import ExpressionCompiler
from watchkeeper.admission.expression.evaluation import CONDITIONS_BUDGET, Evaluation, OutOfBudget


class ConditionError(Exception):
    """Conditions that cannot be evaluated, where that must not be overlooked (failurePolicy Fail)."""


class MatchConditions:
    """The compiled conditions of one webhook or policy."""

    __slots__ = ("_compiler", "_composes", "_expressions", "_fails")

    def __init__(
        self,
        conditions: Sequence[Mapping[str, Any]] | None,
        failure_policy: str | None,
        compiler: ExpressionCompiler | None = None,
    ) -> None:
        """`compiler` is the policy's, with its variables; webhooks have none."""
        self._composes = compiler is not None
        self._compiler = compiler if compiler is not None else ExpressionCompiler()
        self._expressions = [self._compiler.compile(c.get("expression") or "", BOOL) for c in conditions or ()]
        self._fails = failure_policy != "Ignore"

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self._expressions)

    def match(self, values: Mapping[str, Any]) -> bool:
        """Whether all conditions hold for what they see. Raises ConditionError, Undecided.

        One that is false decides, whatever is wrong with others. What is wrong otherwise lets the failure policy
        decide: Ignore takes it for no match.
        """
        programs = self._compiler.programs if self._composes else None
        evaluation = Evaluation(values, programs, CONDITIONS_BUDGET)
        errors: list[str] = []
        try:
            outcomes = [evaluation.run(e) for e in self._expressions]
        except OutOfBudget as problem:
            return self._fail(str(problem))
        for outcome in outcomes:
            if outcome.error:
                errors.append(outcome.error)
            elif outcome.value is False:
                return False
        return self._fail(_aggregate(errors)) if errors else True

    def _fail(self, message: str) -> bool:
        if self._fails:
            raise ConditionError(message)
        return False


def _aggregate(errors: Sequence[str]) -> str:
    """Several errors as one text, each once."""
    distinct = list(dict.fromkeys(errors))
    return distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]"
