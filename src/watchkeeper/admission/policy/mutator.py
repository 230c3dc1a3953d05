"""The expressions of a mutating policy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from watchkeeper.admission.expression import compiled
from watchkeeper.admission.expression.compiled import Expression
from watchkeeper.admission.expression.compiler import ExpressionCompiler
from watchkeeper.admission.expression.conditions import MatchConditions
from watchkeeper.admission.expression.evaluation import Evaluation, OutOfBudget
from watchkeeper.admission.policy.params import ConfigurationError

Spec = Mapping[str, Any]
Values = Mapping[str, Any]

_FIELDS = {
    "ApplyConfiguration": ("applyConfiguration", compiled.CONFIGURATION),
    "JSONPatch": ("jsonPatch", compiled.PATCHES),
}


@dataclass(frozen=True, slots=True)
class Mutation:
    """One change: an expression that makes a configuration or a JSON patch."""

    patch_type: str
    expression: Expression

    @classmethod
    def read(cls, mutation: Spec, compiler: ExpressionCompiler) -> Mutation:
        """Compile what a policy says."""
        patch_type = mutation.get("patchType") or ""
        name, wanted = _FIELDS[patch_type]
        source = (mutation.get(name) or {}).get("expression") or ""
        return cls(patch_type, compiler.compile(source, wanted, patches=True))


class Mutator:
    """A mutating policy, compiled. What `Policy` compiles to."""

    def __init__(self, spec: Spec) -> None:
        compiler = ExpressionCompiler(params=spec.get("paramKind") is not None, variables=True)
        for variable in spec.get("variables") or ():
            compiler.variable(variable.get("name") or "", variable.get("expression") or "")
        self.conditions = MatchConditions(spec.get("matchConditions"), spec.get("failurePolicy"), compiler)
        self.mutations = [Mutation.read(m, compiler) for m in spec.get("mutations") or ()]
        self.reinvokes = spec.get("reinvocationPolicy") == "IfNeeded"
        """Whether it wants to see what others change after it."""
        self._programs = compiler.programs

    def evaluate(self, mutation: Mutation, values: Values) -> Any:
        """What the expression of a mutation makes. Raises ConfigurationError, Undecided."""
        if mutation.expression.program is None:
            raise ConfigurationError(mutation.expression.problem)
        try:
            outcome = Evaluation(values, self._programs).run(mutation.expression)
        except OutOfBudget as problem:
            raise ConfigurationError(str(problem)) from problem
        if outcome.error:
            raise ConfigurationError(outcome.error)
        return outcome.value
