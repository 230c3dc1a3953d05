"""The CEL rules of a schema (x-kubernetes-validations), compiled once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from watchkeeper.apiextensions.schema.declarations import Declared, declare
from watchkeeper.apiextensions.schema.field_path import FieldPathError, valid_field_path
from watchkeeper.apiextensions.schema.structural import Rule, Structural
from watchkeeper.cel.environment import Environment, base_environment
from watchkeeper.cel.estimate import SizeOf
from watchkeeper.cel.program import Program
from watchkeeper.cel.source import CompileError, UnwantedTypeError
from watchkeeper.cel.types import Kind, Type, optional_of

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
    message: Program | None = None
    field_path: str = ""
    error: RuleError | None = None
    message_error: RuleError | None = None

    def max_cost(self, size_of: SizeOf) -> int:
        """The greatest cost of one run, given the sizes that values may have."""
        return self.program.estimate(size_of).high if self.program is not None else 0

    def message_max_cost(self, size_of: SizeOf) -> int:
        """The greatest cost of making the message."""
        return self.message.estimate(size_of).high if self.message is not None else 0


_ELEMENTS = ("@items", "@values")
_STAGES = {"compilation": "compilation", "instantiation": "program instantiation"}
"""What rules call what failed."""


def compile_rule(rule: Rule, node: Structural, declared: Declared) -> CompiledRule:
    """Compile one rule; what is wrong with it is noted in the result."""
    if not rule.rule.strip():
        return CompiledRule(rule, None)
    old_type = optional_of(declared.type) if rule.optional_old_self else declared.type
    env = base_environment().extend({"self": declared.type, "oldSelf": old_type}, declared.structs)
    try:
        program = env.compile(rule.rule, _only(Kind.BOOL, "cel expression must evaluate to a bool"))
    except CompileError as problem:
        return CompiledRule(rule, None, error=RuleError("rule", f"{_STAGES[problem.stage]} failed: {problem}"))
    except UnwantedTypeError as problem:
        return CompiledRule(rule, None, error=RuleError("rule", str(problem)))
    found = CompiledRule(rule, program, uses_old=program.uses("oldSelf"))
    found.quick = program.compiled(("self", "oldSelf"))
    if rule.message_expression:
        _compile_message(found, rule.message_expression, env)
    if rule.field_path:
        try:
            found.field_path = valid_field_path(rule.field_path, node)[0]
        except FieldPathError:
            found.field_path = ""
    return found


def _only(kind: Kind, text: str) -> Callable[[Type], None]:
    """Refuses with a text all results that are not of one kind."""

    def judge(found: Type) -> None:
        if found.kind is not kind or found.nullable:
            raise UnwantedTypeError(text)

    return judge


def _compile_message(found: CompiledRule, source: str, env: Environment) -> None:
    part = "messageExpression"
    try:
        found.message = env.compile(source, _only(Kind.STRING, "messageExpression must evaluate to a string"))
    except CompileError as problem:
        found.message_error = RuleError(part, f"messageExpression {problem.stage} failed: {problem}")
    except UnwantedTypeError as problem:
        found.message_error = RuleError(part, str(problem))


@dataclass(slots=True)
class RuleNode:
    """The rules at a node and below it, where there are any."""

    node: Structural
    declared: Declared | None
    rules: tuple[CompiledRule, ...]
    fields: dict[str, RuleNode]
    items: RuleNode | None
    rest: RuleNode | None

    @property
    def unseen(self) -> bool:
        """Whether there are rules at a node that expressions cannot see: whatever is there breaks them."""
        return self.declared is None and bool(self.node.rules)

    @property
    def uses_old(self) -> bool:
        """Whether any rule at the node looks at the old value."""
        return any(compiled.uses_old for compiled in self.rules)

    @property
    def looks_back(self) -> bool:
        """Whether any rule at the node or below does."""
        inner = (*self.fields.values(), self.items, self.rest)
        return self.uses_old or any(node is not None and node.looks_back for node in inner)


def has_rules(node: Structural | None) -> bool:
    """Whether there is any rule at a node or below."""
    if node is None:
        return False
    return bool(node.rules) or any(has_rules(child) for child in node.children())


def compile_rules(node: Structural, *, is_root: bool = True, strict: bool = False) -> RuleNode | None:
    """Compile all rules of a schema; None when there are none. `strict` ones are for data that may not fit it."""
    if not has_rules(node):
        return None
    return _compile_node(node, declare(node, is_root=is_root, strict=strict), is_root)


def _compile_node(node: Structural, declared: Declared | None, is_root: bool) -> RuleNode:
    def child(sub: Structural | None, step: str) -> RuleNode | None:
        if sub is None or not has_rules(sub):
            return None
        inner = declared.child(step, sub) if declared is not None else None
        if inner is None and step not in _ELEMENTS:
            return None
        return _compile_node(sub, inner, sub.embedded)

    rules: tuple[CompiledRule, ...] = ()
    if node.rules and declared is not None:
        rules = tuple(compile_rule(rule, node, declared) for rule in node.rules)
    return RuleNode(
        node=node,
        declared=declared,
        rules=rules,
        fields={n: found for n, sub in node.properties.items() if (found := child(sub, n)) is not None},
        items=child(node.items, _ELEMENTS[0]),
        rest=child(node.additional, _ELEMENTS[1]),
    )
