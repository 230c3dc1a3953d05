"""Checks x-kubernetes-validations: what entries say, whether they compile, and what running them may cost."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from watchkeeper.apiextensions.definition.internal_form import rule_form
from watchkeeper.apiextensions.schema.declarations import MAX_REQUEST, Declared, declare
from watchkeeper.apiextensions.schema.field_path import FieldPathError, valid_field_path
from watchkeeper.apiextensions.schema.rules import CompiledRule, compile_rule
from watchkeeper.apiextensions.schema.structural import NotStructural, Rule, Structural, read_structural
from watchkeeper.cel.costs import UNLIMITED
from watchkeeper.meta.field import FieldError, forbidden, internal_error, invalid, not_supported, required

Json = Any

EXPRESSION_LIMIT = 10_000_000
"""The greatest estimated cost of one expression, however often it may run."""
TOTAL_LIMIT = 100_000_000
"""The greatest estimated cost of all expressions of a schema together."""
_REASONS = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
_NEWLINE = re.compile(r"[\n\r]")


@dataclass(slots=True)
class TotalCost:
    """What all expressions of a schema may cost, and which of them cost most."""

    total: int = 0
    expensive: list[tuple[int, str]] = field(default_factory=list)

    def add(self, path: str, cost: int) -> None:
        """Count one expression."""
        self.total = min(self.total + cost, UNLIMITED)
        if cost >= TOTAL_LIMIT // 100:
            self.expensive.append((cost, path))
            self.expensive.sort(key=lambda entry: -entry[0])
            del self.expensive[4:]

    def errors(self, path: str) -> list[FieldError]:
        """What is wrong when it is too much."""
        if self.total <= TOTAL_LIMIT:
            return []
        text = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
        errors = [forbidden(where, text) for _cost, where in self.expensive]
        words = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
        errors.append(forbidden(path, _over_budget(words, self.total, TOTAL_LIMIT)))
        return errors


@dataclass(slots=True)
class RuleScope:
    """A node as its rules see it. `cardinality` bounds how often it may occur; None is no bound."""

    node: Structural
    cardinality: int | None
    total: TotalCost
    parent: RuleScope | None = None
    step: str = ""
    in_scope: bool = False
    """Whether there are rules here or above, so that the parent's types are known anyway."""
    _declared: Declared | None = None

    @classmethod
    def root(cls, node: Structural) -> RuleScope:
        """The scope of a whole schema."""
        return cls(node, 1, TotalCost(), in_scope=bool(node.rules))

    def property(self, name: str) -> RuleScope | None:
        """The scope of a field."""
        return self._child(self.node.properties.get(name), name)

    def items(self) -> RuleScope | None:
        """The scope of a list's items."""
        return self._child(self.node.items, "@items")

    def values(self) -> RuleScope | None:
        """The scope of a map's values."""
        return self._child(self.node.additional, "@values")

    def _child(self, node: Structural | None, step: str) -> RuleScope | None:
        if node is None:
            return None
        cardinality = self.cardinality
        if cardinality is not None:
            most = _max_elements(self.node)
            cardinality = None if most is None else min(cardinality * most, UNLIMITED)
        return RuleScope(node, cardinality, self.total, self, step, self.in_scope or bool(node.rules))

    def declared(self) -> Declared | None:
        """The types of the node; None when expressions cannot see it."""
        if self._declared is None:
            above = self.parent.declared() if self.parent is not None and self.parent.in_scope else None
            found = above.child(self.step, self.node) if above is not None else None
            if found is None:
                found = declare(self.node, is_root=self.parent is None or self.node.embedded)
            self._declared = found
        return self._declared


def _max_elements(node: Structural) -> int | None:
    if node.type == "array":
        limit = node.get("maxItems")
    elif node.type == "object" and node.has_additional:
        limit = node.get("maxProperties")
    else:
        return 1
    return None if limit is None else max(limit, 0)


def rule_entry_errors(schema: Json, node: Structural | None, path: str) -> list[FieldError]:
    """What is wrong with the entries as they are written."""
    errors: list[FieldError] = []
    for i, entry in enumerate(schema["x-kubernetes-validations"]):
        where = f"{path}.x-kubernetes-validations[{i}]"
        errors += _text_errors(entry, where)
        reason = entry.get("reason")
        if reason is not None and reason not in _REASONS:
            errors.append(not_supported(f"{where}.reason", reason, _REASONS))
        field_path = entry.get("fieldPath") or ""
        if not field_path:
            continue
        if not field_path.strip():
            errors.append(invalid(f"{where}.fieldPath", field_path, "must be non-empty if specified"))
        if _NEWLINE.search(field_path):
            errors.append(invalid(f"{where}.fieldPath", field_path, "must not contain line breaks"))
        if not _leads_somewhere(schema, node, field_path):
            errors.append(invalid(f"{where}.fieldPath", field_path, "must be a valid path"))
    return errors


def _text_errors(entry: Json, where: str) -> list[FieldError]:
    errors: list[FieldError] = []
    rule, message, expression = (entry.get(k) or "" for k in ("rule", "message", "messageExpression"))
    if not rule.strip():
        errors.append(required(f"{where}.rule", "rule is not specified"))
    elif message and not message.strip():
        errors.append(invalid(f"{where}.message", message, "must be non-empty if specified"))
    elif _NEWLINE.search(message.strip()):
        errors.append(invalid(f"{where}.message", message, "must not contain line breaks"))
    elif _NEWLINE.search(rule.strip()) and not message.strip():
        text = "message must be specified if rule contains line breaks"
        errors.append(required(f"{where}.message", text))
    if expression and not expression.strip():
        text = "messageExpression must be non-empty if specified"
        errors.append(required(f"{where}.messageExpression", text))
    return errors


def _leads_somewhere(schema: Json, node: Structural | None, path: str) -> bool:
    try:
        valid_field_path(path, node if node is not None else read_structural(schema))
    except FieldPathError:
        return False
    except NotStructural:
        return True
    return True


def check_rules(
    schema: Json, path: str, scope: RuleScope, uncorrelatable: str | None, suppress_cost: bool
) -> list[FieldError]:
    """Compile and price the rules of a node."""
    declared = scope.declared()
    if declared is None:
        problem = "unable to convert structural schema to CEL declarations"
        words = "internal error: failed to construct type information for x-kubernetes-validations rules"
        return [internal_error(f"{path}.x-kubernetes-validations", f"{words}: {problem}")]
    errors: list[FieldError] = []
    often = scope.cardinality if scope.cardinality is not None else MAX_REQUEST // (declared.min_size + 1)
    for i, entry in enumerate(schema["x-kubernetes-validations"]):
        where = f"{path}.x-kubernetes-validations[{i}]"
        compiled = compile_rule(Rule.of(entry), scope.node, declared)
        cost = min(compiled.max_cost(declared.size_of) * often, UNLIMITED)
        errors += _price(f"{where}.rule", "estimated rule cost", cost, scope, suppress_cost)
        if compiled.error is not None:
            errors.append(invalid(f"{where}.rule", rule_form(entry), compiled.error.detail))
        errors += _message_errors(compiled, entry, where, scope, suppress_cost)
        if compiled.uses_old:
            if uncorrelatable is not None:
                words = "oldSelf cannot be used on the uncorrelatable portion of the schema within"
                errors.append(invalid(f"{where}.rule", entry.get("rule"), f"{words} {uncorrelatable}"))
        elif entry.get("optionalOldSelf") is not None:
            text = "may not be set if oldSelf is not used in rule"
            errors.append(invalid(f"{where}.optionalOldSelf", entry["optionalOldSelf"], text))
    return errors


def _message_errors(
    compiled: CompiledRule, entry: Json, where: str, scope: RuleScope, suppress_cost: bool
) -> list[FieldError]:
    if compiled.message_error is not None:
        return [invalid(f"{where}.messageExpression", rule_form(entry), compiled.message_error.detail)]
    if compiled.message is None:
        return []
    words, declared = "estimated messageExpression cost", scope.declared()
    cost = compiled.message_max_cost(declared.size_of) if declared is not None else 0
    return _price(f"{where}.messageExpression", words, cost, scope, suppress_cost)


def _price(where: str, words: str, cost: int, scope: RuleScope, suppress: bool) -> list[FieldError]:
    scope.total.add(where, cost)
    if suppress or cost <= EXPRESSION_LIMIT:
        return []
    return [forbidden(where, _over_budget(words, cost, EXPRESSION_LIMIT))]


def _over_budget(words: str, cost: int, limit: int) -> str:
    factor = cost / limit
    if factor > 100:
        times = "more than 100x"
    else:
        times = f"{factor:f}x" if factor < 1.5 else f"{factor:.1f}x"
    hint = "try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings"
    return f"{words} exceeds budget by factor of {times} ({hint} are declared)"
