"""What running all rules of a schema on one object may cost."""

from __future__ import annotations

from dataclasses import dataclass

from watchkeeper.apiextensions.schema.rules import RuleNode
from watchkeeper.cel.costs import PER_CALL_LIMIT, RUNTIME_BUDGET, UNLIMITED
from watchkeeper.cel.estimate import Path, Span

NO_LIMIT = 2**63
_TIERS = (NO_LIMIT, 256 * 1024, 64 * 1024, 16 * 1024, 4 * 1024)
"""Sizes of objects for which costs are estimated."""


@dataclass(slots=True)
class Worst:
    """The greatest cost of one run of one rule, and of all runs together."""

    single: int = 0
    total: int = 0


def quick_size(root: RuleNode) -> int:
    """The size in JSON up to which no object can exceed a cost limit; 0 when there is no such size."""
    for size in _TIERS:
        worst = worst_case(root, size)
        if worst.single <= PER_CALL_LIMIT and worst.total <= RUNTIME_BUDGET:
            return size
    return 0


def worst_case(root: RuleNode, size: int = NO_LIMIT) -> Worst:
    """Over all objects that the schema allows and that have at most `size` bytes."""
    worst = Worst()
    _add(root, 1, size, worst)
    return worst


def _add(rules: RuleNode, often: int, size: int, worst: Worst) -> None:
    declared = rules.declared
    if declared is not None:
        known = declared

        def size_of(path: Path) -> Span | None:
            found = known.size_of(path)
            return None if found is None else Span(0, min(found.high, size))

        for rule in rules.rules:
            for cost in (rule.max_cost(size_of), rule.message_max_cost(size_of)):
                worst.single = max(worst.single, cost)
                worst.total = min(worst.total + often * cost, UNLIMITED)
    for inner in rules.fields.values():
        _add(inner, often, size, worst)
    for inner_rules, keyword in ((rules.items, "maxItems"), (rules.rest, "maxProperties")):
        if inner_rules is not None:
            limit = rules.node.get(keyword)
            # An item takes two bytes at least: a digit and a comma.
            most = size // 2 if limit is None else min(max(limit, 0), size // 2)
            _add(inner_rules, min(often * most, size // 2), size, worst)
