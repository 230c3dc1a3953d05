"""CEL in admission: what expressions of webhooks and policies see of a request, and how they are compiled and run.

`ExpressionCompiler` compiles, `Evaluation` runs. `MatchConditions` is what webhooks and policies share.
"""

from watchkeeper.admission.expression.compiled import Expression, ReturnType
from watchkeeper.admission.expression.compiler import ExpressionCompiler
from watchkeeper.admission.expression.conditions import ConditionError, MatchConditions
from watchkeeper.admission.expression.evaluation import Evaluation, Outcome, OutOfBudget
from watchkeeper.admission.expression.questions import Questions, Undecided
from watchkeeper.admission.expression.request import request_value

__all__ = [
    "ConditionError",
    "Evaluation",
    "Expression",
    "ExpressionCompiler",
    "MatchConditions",
    "OutOfBudget",
    "Outcome",
    "Questions",
    "ReturnType",
    "Undecided",
    "request_value",
]
