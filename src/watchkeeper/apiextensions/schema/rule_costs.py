"""Which rules need no account of their costs, because no object of some size can make them exceed a limit."""

from __future__ import annotations

from collections.abc import Iterator

from watchkeeper.apiextensions.schema.declarations import Declared
from watchkeeper.apiextensions.schema.rules import CompiledRule, RuleNode
from watchkeeper.cel.costs import PER_CALL_LIMIT, RUNTIME_BUDGET
from watchkeeper.cel.estimate import Path, SizeOf, Span

NO_LIMIT = 2**63
_TIERS = (NO_LIMIT, 256 * 1024, 64 * 1024, 16 * 1024, 4 * 1024)
"""Sizes of objects for which costs are estimated."""


def quick_sizes(root: RuleNode) -> dict[int, int]:
    """By the identity of a rule: the size in JSON up to which it cannot exceed a limit by itself; 0 for no such size.

    What such rules cost together is not counted. The limit of all rules is ten times that of one, so nothing comes of
    it but that an object at the very edge passes.
    """
    found: dict[int, int] = {}
    for size in _TIERS:
        for rule, declared, often in _rules(root, 1, size):
            if id(rule) not in found and _is_cheap(rule, _size_of(declared, size), often):
                found[id(rule)] = size
    return found


def _is_cheap(rule: CompiledRule, size_of: SizeOf, often: int) -> bool:
    cost = max(rule.max_cost(size_of), rule.message_max_cost(size_of))
    return cost <= PER_CALL_LIMIT and cost * often <= RUNTIME_BUDGET


def _size_of(declared: Declared, size: int) -> SizeOf:
    def size_of(path: Path) -> Span | None:
        found = declared.size_of(path)
        if found is None:
            return None
        return Span(0, size if path[-1] == "@keys" else min(found.high, size))

    return size_of


def _rules(rules: RuleNode, often: int, size: int) -> Iterator[tuple[CompiledRule, Declared, int]]:
    """All rules, and how often each may run for an object of at most `size` bytes."""
    if rules.declared is not None:
        for rule in rules.rules:
            yield rule, rules.declared, often
    for inner in rules.fields.values():
        yield from _rules(inner, often, size)
    for inner_rules, keyword in ((rules.items, "maxItems"), (rules.rest, "maxProperties")):
        if inner_rules is not None:
            limit = rules.node.get(keyword)
            # An item takes two bytes at least: a digit and a comma.
            most = size // 2 if limit is None else min(max(limit, 0), size // 2)
            yield from _rules(inner_rules, min(often * most, size // 2), size)
