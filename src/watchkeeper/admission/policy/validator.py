"""The expressions of a validating policy, and what becomes of their results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from watchkeeper.admission.expression import compiled
from watchkeeper.admission.expression.compiled import Expression
from watchkeeper.admission.expression.compiler import ExpressionCompiler
from watchkeeper.admission.expression.conditions import ConditionError, MatchConditions
from watchkeeper.admission.expression.evaluation import Evaluation, Outcome, OutOfBudget
from watchkeeper.cel.costs import PER_CALL_LIMIT

Spec = Mapping[str, Any]
Values = Mapping[str, Any]

MAX_MESSAGE_BYTES = 5 * 1024


@dataclass(frozen=True, slots=True)
class Denial:
    """What is wrong with a request. `index` is that of the validation, `reason` "" where it could not be evaluated."""

    index: int
    message: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class AuditAnnotation:
    """An annotation to publish, or with `error` one that could not be made."""

    key: str
    value: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a policy says of a request with one set of parameters."""

    denials: Sequence[Denial] = ()
    annotations: Sequence[AuditAnnotation] = ()


@dataclass(frozen=True, slots=True)
class _Validation:
    expression: Expression
    message: str
    message_expression: Expression | None
    reason: str

    @classmethod
    def read(cls, validation: Spec, compiler: ExpressionCompiler) -> _Validation:
        source = validation.get("messageExpression") or ""
        return cls(
            compiler.compile(validation.get("expression") or "", compiled.BOOL),
            (validation.get("message") or "").strip(),
            compiler.compile(source, compiled.STRING, authorizer=False) if source else None,
            validation.get("reason") or "Invalid",
        )

    def text(self, built: Outcome | None) -> str:
        """What is said when it does not hold: what messageExpression makes, else the message, else the expression."""
        if built is not None and isinstance(built.value, str):
            text = built.value.strip()
            if text and "\n" not in text and len(text.encode()) <= MAX_MESSAGE_BYTES:
                return text
        return self.message or f"failed expression: {self.expression.source.strip()}"


class Validator:
    """A validating policy, compiled. Implements what `Policy` compiles to."""

    def __init__(self, spec: Spec) -> None:
        self._fails = spec.get("failurePolicy") != "Ignore"
        compiler = ExpressionCompiler(params=spec.get("paramKind") is not None, variables=True)
        for variable in spec.get("variables") or ():
            compiler.variable(variable.get("name") or "", variable.get("expression") or "")
        self.conditions = MatchConditions(spec.get("matchConditions"), spec.get("failurePolicy"), compiler)
        self._programs = compiler.programs
        self._validations = [_Validation.read(v, compiler) for v in spec.get("validations") or ()]
        self._annotations = [
            (a.get("key") or "", compiler.compile(a.get("valueExpression") or "", compiled.STRING_OR_NULL))
            for a in spec.get("auditAnnotations") or ()
        ]

    def validate(self, values: Values, asking: Values, condition_values: Values) -> Verdict:
        """Judge a request. Raises Undecided.

        `values` are all variables but the authorizer's; those are in `asking`. `condition_values` are what match
        conditions see.
        """
        try:
            if self.conditions and not self.conditions.match(condition_values):
                return Verdict()
            denials = self._denials(values, {**values, **asking})
            return Verdict(denials, self._publish(values))
        except (ConditionError, OutOfBudget) as problem:
            return Verdict([Denial(0, str(problem))] if self._fails else ())

    def _denials(self, values: Values, with_authorizer: Values) -> list[Denial]:
        evaluation = Evaluation(with_authorizer, self._programs)
        outcomes = [evaluation.run(v.expression) for v in self._validations]
        exhausted = ""
        messages: list[Outcome | None] = [None] * len(outcomes)
        if self._needs_messages(outcomes, evaluation.remaining):
            # The authorizer is not there to make messages.
            speaking = Evaluation(values, self._programs, evaluation.remaining)
            try:
                messages = speaking.run_all([v.message_expression for v in self._validations])
            except OutOfBudget as problem:
                exhausted = f"failed messageExpression: {problem}"
        found: list[Denial] = []
        for i, (validation, outcome) in enumerate(zip(self._validations, outcomes, strict=True)):
            if outcome.error or exhausted:
                if self._fails:
                    found.append(Denial(i, outcome.error or exhausted))
            elif outcome.value is not True:
                found.append(Denial(i, validation.text(messages[i]), validation.reason))
        return found

    def _needs_messages(self, outcomes: Sequence[Outcome], remaining: int) -> bool:
        """Messages matter when something is wrong, or when making them might exhaust the budget."""
        if any(outcome.value is not True for outcome in outcomes):
            return True
        count = sum(v.message_expression is not None for v in self._validations)
        return count > 0 and remaining < (count + len(self._programs)) * PER_CALL_LIMIT

    def _publish(self, values: Values) -> list[AuditAnnotation]:
        if not self._annotations:
            return []
        evaluation = Evaluation(values, self._programs)
        found: list[AuditAnnotation] = []
        for key, expression in self._annotations:
            outcome = evaluation.run(expression)
            if outcome.error:
                if self._fails:
                    found.append(AuditAnnotation(key, error=outcome.error))
            elif isinstance(outcome.value, str) and (text := outcome.value.strip()):
                found.append(AuditAnnotation(key, text))
        return found
