"""Which requests webhooks and policies are about: rules, selectors, and resources that are the same thing.

`Criteria.of_policy` and `Criteria.of_webhook` read what an object says once; `Criteria.matches` is asked per request.
"""

from watchkeeper.admission.matching.criteria import Criteria, Match
from watchkeeper.admission.matching.equivalents import Equivalent, Equivalents
from watchkeeper.admission.matching.exemption import is_exempt, is_exempt_from_policies, is_review
from watchkeeper.admission.matching.namespaces import NamespaceReader, Namespaces
from watchkeeper.admission.matching.rule import Rule

__all__ = [
    "Criteria",
    "Equivalent",
    "Equivalents",
    "Match",
    "NamespaceReader",
    "Namespaces",
    "Rule",
    "is_exempt",
    "is_exempt_from_policies",
    "is_review",
]
