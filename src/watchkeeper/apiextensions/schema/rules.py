"""The CEL rules of a schema (x-kubernetes-validations), compiled once and run on objects.

A rule is a Python function where that can be: nothing but its value is worked out. Whenever it fails, says no, or the
cost of a run has to be known, the interpreter of the same rule has the last word.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from watchkeeper.apiextensions.schema.correlation import Correlation
from watchkeeper.apiextensions.schema.declarations import Declared, declare
from watchkeeper.apiextensions.schema.field_path import FieldPathError, valid_field_path
from watchkeeper.apiextensions.schema.structural import Rule, Structural
from watchkeeper.cel import types
from watchkeeper.cel.costs import PER_CALL_LIMIT, RUNTIME_BUDGET, UNLIMITED
from watchkeeper.cel.environment import base_environment
from watchkeeper.cel.program import Program
from watchkeeper.cel.source import CompileError
from watchkeeper.cel.types import Kind, optional_of
from watchkeeper.cel.values import NONE, CostLimitExceeded, EvalError, NoSuchOverload, Optional
from watchkeeper.meta.field import (
    OMIT_VALUE,
    ErrorType,
    FieldError,
    forbidden,
    go_quote,
    invalid,
    required,
)

MAX_MESSAGE_BYTES = 5 * 1024
NO_FIELD = "<nil>"
Warn = Callable[[str], None]


class RuleError(ValueError):
    """A rule or message expression that does not compile. `part` is rule or messageExpression."""

    def __init__(self, part: str, detail: str) -> None:
        super().__init__(detail)
        self.part = part
        self.detail = detail


@dataclass(slots=True)
class CompiledRule:
    """One rule of a node, ready to run."""

    rule: Rule
    program: Program | None
    """None for an empty rule."""
    quick: Callable[..., Any] | None = None
    uses_old: bool = False
    max_cost: int = 0
    message: Program | None = None
    message_max_cost: int = 0
    field_path: str = ""
    error: RuleError | None = None
    message_error: RuleError | None = None


def compile_rule(rule: Rule, node: Structural, declared: Declared) -> CompiledRule:
    """Compile one rule; what is wrong with it is noted in the result."""
    if not rule.rule.strip():
        return CompiledRule(rule, None)
    old_type = optional_of(declared.type) if rule.optional_old_self else declared.type
    env = base_environment().extend({"self": declared.type, "oldSelf": old_type}, declared.structs)
    try:
        program = env.compile(rule.rule)
    except CompileError as problem:
        return CompiledRule(rule, None, error=RuleError("rule", f"compilation failed: {problem}"))
    if program.type.kind is not Kind.BOOL:
        return CompiledRule(rule, None, error=RuleError("rule", "cel expression must evaluate to a bool"))
    found = CompiledRule(rule, program, uses_old=program.uses("oldSelf"))
    found.max_cost = program.estimate(declared.size_of).high
    found.quick = program.compiled(("self", "oldSelf"))
    if rule.message_expression:
        _compile_message(found, rule.message_expression, declared, env.compile)
    if rule.field_path:
        try:
            found.field_path = valid_field_path(rule.field_path, node)[0]
        except FieldPathError:
            found.field_path = ""
    return found


def _compile_message(found: CompiledRule, source: str, declared: Declared, compile_: Callable[[str], Program]) -> None:
    part = "messageExpression"
    try:
        message = compile_(source)
    except CompileError as problem:
        found.message_error = RuleError(part, f"messageExpression compilation failed: {problem}")
        return
    if message.type.kind is not types.STRING.kind:
        found.message_error = RuleError(part, "messageExpression must evaluate to a string")
        return
    found.message = message
    found.message_max_cost = message.estimate(declared.size_of).high


@dataclass(slots=True)
class RuleNode:
    """The rules at a node and below it, where there are any."""

    node: Structural
    declared: Declared | None
    rules: tuple[CompiledRule, ...]
    fields: dict[str, RuleNode]
    items: RuleNode | None
    rest: RuleNode | None


def has_rules(node: Structural | None) -> bool:
    """Whether there is any rule at a node or below."""
    if node is None:
        return False
    return bool(node.rules) or any(has_rules(child) for child in node.children())


def compile_rules(node: Structural, *, is_root: bool = True) -> RuleNode | None:
    """Compile all rules of a schema; None when there are none."""
    if not has_rules(node):
        return None
    return _compile_node(node, declare(node, is_root=is_root), is_root)


def _compile_node(node: Structural, declared: Declared | None, is_root: bool) -> RuleNode:
    def child(sub: Structural | None, step: str) -> RuleNode | None:
        if sub is None or not has_rules(sub):
            return None
        inner = declared.child(step, sub) if declared is not None else None
        return _compile_node(sub, inner, sub.embedded)

    rules: tuple[CompiledRule, ...] = ()
    if node.rules and declared is not None:
        rules = tuple(compile_rule(rule, node, declared) for rule in node.rules)
    return RuleNode(
        node=node,
        declared=declared,
        rules=rules,
        fields={n: found for n, sub in node.properties.items() if (found := child(sub, n)) is not None},
        items=child(node.items, "@items"),
        rest=child(node.additional, "@values"),
    )


def worst_case(root: RuleNode, cardinality: int = 1) -> int:
    """The greatest cost of one run of all rules, over all objects that the schema allows."""
    total = 0
    for rule in root.rules:
        total = min(total + cardinality * (rule.max_cost + rule.message_max_cost), UNLIMITED)
    node = root.node
    for inner in root.fields.values():
        total = min(total + worst_case(inner, cardinality), UNLIMITED)
    for inner_node, limit in ((root.items, node.get("maxItems")), (root.rest, node.get("maxProperties"))):
        if inner_node is not None:
            count = UNLIMITED if limit is None else min(cardinality * max(limit, 0), UNLIMITED)
            total = min(total + worst_case(inner_node, count), UNLIMITED)
    return total


class _OutOfBudget(Exception):
    """No more rules are run."""


class RuleSet:
    """All rules of a schema."""

    def __init__(self, root: RuleNode) -> None:
        self.root = root
        self.bounded = worst_case(root) <= PER_CALL_LIMIT
        """Whether no object that the schema allows can exceed a cost limit, so that costs need no account."""

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
        run = _Run(self.bounded, warn)
        try:
            run.node(self.root, value, old, path, correlation, None)
        except _OutOfBudget:
            pass
        return run.errors


class _Run:
    """One run of all rules over an object."""

    def __init__(self, bounded: bool, warn: Warn | None) -> None:
        self.bounded = bounded
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
            self.node(inner, item, old_fields.get(key), where, child, nearest)

    def rules_of(
        self, rules: RuleNode, value: Any, old: Any, path: str, here: Correlation | None, parent: Correlation | None
    ) -> None:
        declared = rules.declared
        assert declared is not None
        convert = declared.convert
        now = convert(value) if convert is not None else value
        before = convert(old) if convert is not None and old is not None else old
        for compiled in rules.rules:
            optional = bool(compiled.rule.optional_old_self)
            if compiled.program is None or (compiled.uses_old and old is None and not optional):
                if compiled.error is not None:
                    self.invalid(rules, path, f"rule compile error: {compiled.error}")
                continue
            bound = before
            if optional and compiled.uses_old:
                bound = NONE if old is None else Optional(before)
            if self.bounded and compiled.quick is not None:
                try:
                    if compiled.quick(now, bound) is True:
                        continue
                except Exception:  # the interpreter knows what is the matter
                    pass
            self.exact(rules, compiled, now, bound, value, path, here, parent)

    def invalid(self, rules: RuleNode, path: str, text: str) -> None:
        self.errors.append(invalid(path or NO_FIELD, rules.node.type, text))

    def exact(
        self,
        rules: RuleNode,
        compiled: CompiledRule,
        now: Any,
        before: Any,
        value: Any,
        path: str,
        here: Correlation | None,
        parent: Correlation | None,
    ) -> None:
        """Run one rule with an account of its cost, and tell what comes of it."""
        assert compiled.program is not None
        variables = {"self": now, "oldSelf": before}
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
            self.broken(rules, compiled, variables, value, path, here, parent)

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
