"""Runs the CEL rules of a schema on objects.

A rule is a Python function where that can be: nothing but its value is worked out. Whenever it fails, says no, or the
cost of a run has to be known, the interpreter of the same rule has the last word.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import orjson

from watchkeeper.apiextensions.schema.correlation import Correlation
from watchkeeper.apiextensions.schema.rule_costs import NO_LIMIT, quick_sizes
from watchkeeper.apiextensions.schema.rules import CompiledRule, RuleNode
from watchkeeper.apiextensions.schema.structural import Rule
from watchkeeper.cel.costs import RUNTIME_BUDGET
from watchkeeper.cel.values import NONE, CostLimitExceeded, EvalError, NoSuchOverload, Optional
from watchkeeper.meta.field import OMIT_VALUE, ErrorType, FieldError, forbidden, go_quote, invalid, required

MAX_MESSAGE_BYTES = 5 * 1024
NO_FIELD = "<nil>"
_OF_ITS_TYPE = ("apiVersion", "kind")
"""Fields of a resource that count as changed: both states have been converted to the same version."""
_UNSEEN = "rule compiler initialization error: failed to convert to declType for CEL validation rules"
Warn = Callable[[str], None]


class _OutOfBudget(Exception):
    """No more rules are run."""


class RuleSet:
    """All rules of a schema."""

    def __init__(self, root: RuleNode) -> None:
        self.root = root

    @functools.cached_property
    def quick_sizes(self) -> dict[int, int]:
        """By the identity of a rule: up to which size of objects its cost needs no account."""
        return quick_sizes(self.root)

    @functools.cached_property
    def look_back(self) -> bool:
        """Whether any rule looks at old values."""
        return self.root.looks_back

    @functools.cached_property
    def _asks_size(self) -> bool:
        return any(size != NO_LIMIT for size in self.quick_sizes.values())

    def _size(self, value: Any, old: Any) -> int:
        if not self._asks_size:
            return 0
        return max(len(orjson.dumps(v)) for v in (value, old))

    def errors(
        self,
        value: Any,
        old: Any = None,
        *,
        path: str = "",
        correlation: Correlation | None = None,
        warn: Warn | None = None,
    ) -> list[FieldError]:
        """Run all rules. Those that an unchanged part of the object breaks are told through `warn` instead."""
        run = _Run(self.quick_sizes, self._size(value, old), warn)
        try:
            run.node(self.root, value, old, path, correlation, None)
        except _OutOfBudget:
            pass
        return run.errors


class _Run:
    """One run of all rules over an object."""

    def __init__(self, quick_sizes: dict[int, int], size: int, warn: Warn | None) -> None:
        self.quick_sizes = quick_sizes
        self.size = size
        self.warn = warn
        self.errors: list[FieldError] = []
        self.budget = RUNTIME_BUDGET

    def node(
        self, rules: RuleNode, value: Any, old: Any, path: str, here: Correlation | None, parent: Correlation | None
    ) -> None:
        if value is None:
            return
        if rules.rules:
            self.rules_of(rules, value, old, path, here, parent)
        elif rules.unseen:
            self.invalid(rules, path, _UNSEEN)
        kind = value.__class__
        if kind is list and rules.items is not None:
            self.items(rules, value, old, path, here, parent)
        elif kind is dict and (rules.fields or rules.rest is not None):
            self.fields(rules, value, old, path, here, parent)

    def items(
        self, rules: RuleNode, value: Any, old: Any, path: str, here: Correlation | None, parent: Correlation | None
    ) -> None:
        assert rules.items is not None
        by_index = Correlation(rules.node, value, old) if old.__class__ is list else None
        for i, item in enumerate(value):
            match = by_index.index(i) if by_index is not None else None
            child, nearest = (here.index(i), here) if here is not None else (None, parent)
            self.node(rules.items, item, match.old if match is not None else None, f"{path}[{i}]", child, nearest)

    def fields(
        self, rules: RuleNode, value: Any, old: Any, path: str, here: Correlation | None, parent: Correlation | None
    ) -> None:
        old_fields = old if old.__class__ is dict else {}
        for key, item in value.items():
            inner, where = rules.fields.get(key), f"{path}.{key}" if path else key
            if inner is None:
                if rules.rest is None or key in rules.node.properties:
                    continue
                inner, where = rules.rest, f"{path}[{key}]"
            child, nearest = (here.key(key), here) if here is not None else (None, parent)
            if parent is None and key in _OF_ITS_TYPE:
                child = nearest = None
            self.node(inner, item, old_fields.get(key), where, child, nearest)

    def rules_of(
        self, rules: RuleNode, value: Any, old: Any, path: str, here: Correlation | None, parent: Correlation | None
    ) -> None:
        declared = rules.declared
        assert declared is not None
        now, before = declared.value_of(value), declared.value_of(old)
        fits = now.__class__ is not EvalError and before.__class__ is not EvalError
        # Messages see the old value as it is, and only where a rule beside them looks at it.
        for_messages = {"self": now}
        if old is not None and rules.uses_old:
            for_messages["oldSelf"] = before
        for compiled in rules.rules:
            optional = bool(compiled.rule.optional_old_self)
            if compiled.program is None or (compiled.uses_old and old is None and not optional):
                if compiled.error is not None:
                    self.invalid(rules, path, f"rule compile error: {compiled.error}")
                continue
            bound = before
            if optional and compiled.uses_old:
                bound = NONE if old is None else Optional(before)
            if fits and compiled.quick is not None and self.size <= self.quick_sizes.get(id(compiled), -1):
                try:
                    if compiled.quick(now, bound) is True:
                        continue
                except Exception:  # the interpreter knows what is the matter
                    pass
            variables = {"self": now, "oldSelf": bound}
            self.exact(rules, compiled, variables, for_messages, value, path, here, parent)

    def invalid(self, rules: RuleNode, path: str, text: str) -> None:
        self.errors.append(invalid(path or NO_FIELD, rules.node.type, text))

    def exact(
        self,
        rules: RuleNode,
        compiled: CompiledRule,
        variables: dict[str, Any],
        for_messages: dict[str, Any],
        value: Any,
        path: str,
        here: Correlation | None,
        parent: Correlation | None,
    ) -> None:
        """Run one rule with an account of its cost, and tell what comes of it."""
        assert compiled.program is not None
        shown = _shown(compiled.rule)
        try:
            result, cost = compiled.program.evaluate(variables)
            self.pay(rules, cost, path)
        except NoSuchOverload as problem:
            self.pay(rules, problem.cost, path)
            words = "call arguments did not match a supported operator, function or macro signature for rule"
            self.invalid(rules, path, f"'{problem}': {words}: {shown}")
            return
        except EvalError as problem:
            self.pay(rules, problem.cost, path)
            self.invalid(rules, path, f"{problem} evaluating rule: {shown}")
            return
        except CostLimitExceeded as problem:
            words = "no further validation rules will be run due to call cost exceeds limit for rule"
            self.invalid(rules, path, f"'{problem}': {words}: {shown}")
            raise _OutOfBudget from None
        if result is not True:
            self.broken(rules, compiled, for_messages, value, path, here, parent)

    def pay(self, rules: RuleNode, cost: int, path: str) -> None:
        if cost > self.budget:
            text = "validation failed due to running out of cost budget, no further validation rules will be run"
            self.invalid(rules, path, text)
            raise _OutOfBudget
        self.budget -= cost

    def broken(
        self,
        rules: RuleNode,
        compiled: CompiledRule,
        variables: dict[str, Any],
        value: Any,
        path: str,
        here: Correlation | None,
        parent: Correlation | None,
    ) -> None:
        where = path
        if compiled.field_path:
            where = f"{path}.{compiled.field_path}" if path else compiled.field_path
        where = where or NO_FIELD

        def add(error: FieldError) -> None:
            nearest = here if here is not None else parent
            if not compiled.uses_old and nearest is not None and nearest.unchanged() and self.warn is not None:
                self.warn(str(error))
            else:
                self.errors.append(error)

        detail = self.message(rules, compiled, variables, where, add)
        shown = OMIT_VALUE if rules.node.type in ("object", "array") else value
        add(_error_for(compiled.rule.reason, where, shown, detail))

    def message(
        self,
        rules: RuleNode,
        compiled: CompiledRule,
        variables: dict[str, Any],
        path: str,
        add: Callable[[FieldError], None],
    ) -> str:
        """The message expression's text if there is one and it comes to something, else the message, else the rule."""
        if compiled.message is not None:
            source = compiled.rule.message_expression
            try:
                text, cost = compiled.message.evaluate(variables)
            except EvalError as problem:
                text, cost = None, problem.cost
            except CostLimitExceeded:
                words = "no further validation rules will be run due to call cost exceeds limit for messageExpression"
                add(invalid(path, rules.node.type, f"{words}: {go_quote(source)}"))
                raise _OutOfBudget from None
            if cost > self.budget:
                words = "messageExpression evaluation failed due to running out of cost budget, no further validation"
                add(invalid(path, rules.node.type, f"{words} rules will be run"))
                raise _OutOfBudget
            self.budget -= cost
            text = text.strip() if isinstance(text, str) else ""
            if text and "\n" not in text and len(text.encode()) <= MAX_MESSAGE_BYTES:
                return text
        if not compiled.rule.message:
            return f"failed rule: {_shown(compiled.rule)}"
        return compiled.rule.message.strip()


def _shown(rule: Rule) -> str:
    return (rule.message or rule.rule).strip()


def _error_for(reason: str | None, path: str, value: Any, detail: str) -> FieldError:
    match reason:
        case "FieldValueForbidden":
            return forbidden(path, detail)
        case "FieldValueRequired":
            return required(path, detail)
        case "FieldValueDuplicate":
            return FieldError(ErrorType.DUPLICATE, path, value)
        case _:
            return invalid(path, value, detail)
