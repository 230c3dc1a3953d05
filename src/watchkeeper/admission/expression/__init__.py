"""CEL in admission: what expressions of webhooks and policies see of a request, and how they are compiled and run.

`compiler.ExpressionCompiler` compiles, `evaluation.Evaluation` runs, `conditions.MatchConditions` is what webhooks and
policies share, `questions.Questions` answers what expressions ask the authorizer.

What is named here is loaded when it is first used: servers without webhooks and policies need no CEL. Import it inside
functions, or for type checking only.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from watchkeeper.admission.expression.compiler import ExpressionCompiler
    from watchkeeper.admission.expression.conditions import ConditionError, MatchConditions
    from watchkeeper.admission.expression.evaluation import Evaluation, OutOfBudget
    from watchkeeper.admission.expression.questions import Questions, Undecided
    from watchkeeper.admission.expression.request import request_value

__all__ = [
    "ConditionError",
    "Evaluation",
    "ExpressionCompiler",
    "MatchConditions",
    "OutOfBudget",
    "Questions",
    "Undecided",
    "request_value",
]

_MODULES = {
    "ConditionError": "conditions",
    "Evaluation": "evaluation",
    "ExpressionCompiler": "compiler",
    "MatchConditions": "conditions",
    "OutOfBudget": "evaluation",
    "Questions": "questions",
    "Undecided": "questions",
    "request_value": "request",
}


def __getattr__(name: str) -> Any:
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(name)
    return getattr(import_module(f"{__name__}.{module}"), name)
