"""All kinds of this group with a compiler of expressions, for those who have one."""

from __future__ import annotations

from watchkeeper.apis.admissionregistration.expressions import Expressions
from watchkeeper.apis.admissionregistration.mutating import mutating_behaviors
from watchkeeper.apis.admissionregistration.validating import validating_behaviors
from watchkeeper.apis.admissionregistration.webhooks import webhook_behaviors
from watchkeeper.apis.behavior import KindBehavior


def checked_behaviors(expressions: Expressions) -> list[KindBehavior]:
    """What to give `Behaviors.including`, so that expressions are compiled when they are written."""
    return [
        *webhook_behaviors(expressions),
        *validating_behaviors(expressions),
        *mutating_behaviors(expressions),
    ]
