"""What is counted of policies; the server tells it under kube-apiserver's names."""

from __future__ import annotations

from collections import Counter

_BUDGET = "validation failed due to running out of cost budget"


class PolicyMetrics:
    """Plain counters. Names of policies and bindings bound the number of series."""

    def __init__(self) -> None:
        self.checks: Counter[tuple[str, str, str, str]] = Counter()
        """What validating policies have found, by policy, binding, type of the error, and action taken."""
        self.mutations: Counter[tuple[str, str, str]] = Counter()
        """What mutating policies have done, by policy, binding and type of the error."""

    def checked(self, policy: str, binding: str, message: str, action: str) -> None:
        """A validation did not hold, or could not be evaluated, for what the message says."""
        self.checks[policy, binding, error_type(message), action] += 1

    def mutated(self, policy: str, binding: str, message: str = "") -> None:
        """A mutation was done, or could not be for what the message says."""
        self.mutations[policy, binding, error_type(message) if message else "no_error"] += 1


def error_type(message: str) -> str:
    """What sort of error a message is about."""
    if message.startswith("compilation"):
        return "compile_error"
    return "out_of_budget" if message.startswith(_BUDGET) else "invalid_error"
