"""Checks a whole schema of a definition: its root, its structure, its defaults, its keywords and its rules."""

from __future__ import annotations

from typing import Any

from watchkeeper.apiextensions.definition.default_values import default_errors
from watchkeeper.apiextensions.definition.internal_form import SCHEMA_FIELDS, schema_form
from watchkeeper.apiextensions.definition.rule_check import RuleScope
from watchkeeper.apiextensions.definition.schema_check import Requirements, check_schema
from watchkeeper.apiextensions.definition.walk import walk
from watchkeeper.apiextensions.schema.invariants import validate_structural
from watchkeeper.apiextensions.schema.structural import NotStructural, read_structural
from watchkeeper.cel.regex import RegexError, compile_pattern
from watchkeeper.meta.field import FieldError, forbidden, invalid

Json = Any
Object = dict[str, Any]

_ALLOWED_AT_ROOT = (
    "Description", "Type", "Format", "Title", "Maximum", "ExclusiveMaximum", "Minimum", "ExclusiveMinimum",
    "MaxLength", "MinLength", "Pattern", "MaxItems", "MinItems", "UniqueItems", "MultipleOf", "Required", "Items",
    "Properties", "ExternalDocs", "Example", "XPreserveUnknownFields", "XValidations",
)  # fmt: skip


def validation_errors(
    validation: Object | None, path: str, requirements: Requirements, *, has_status: bool, unchanged: bool
) -> list[FieldError]:
    """What is wrong with an entry `schema`, at `path`; `unchanged` when an update left it as it was."""
    schema = (validation or {}).get("openAPIV3Schema")
    if schema is None:
        return []
    where = f"{path}.openAPIV3Schema"
    errors = _status_root_errors(schema, where) if has_status else []
    if schema.get("nullable"):
        errors.append(forbidden(f"{where}.nullable", "nullable cannot be true at the root"))
    late: list[FieldError] = []
    scope: RuleScope | None = None
    if requirements.structural:
        found, late, scope = _structural_errors(schema, where, requirements)
        errors += found
    errors += check_schema(schema, where, requirements, scope, suppress_cost=unchanged).all()
    if not errors:
        errors += late
    if scope is not None:
        errors += scope.total.errors(where)
    # Structural ones have had their patterns compiled.
    return errors if errors or requirements.structural else _pattern_errors(schema, path)


def _status_root_errors(schema: Json, path: str) -> list[FieldError]:
    """With a status subresource, the schema of status must be complete without what stands at the root."""
    for key, name, zero in SCHEMA_FIELDS:
        if schema.get(key, zero) in (zero, None):
            continue
        if key == "type":
            if schema["type"] != "object":
                words = "is allowed as the type at the root of the schema if the status subresource is enabled"
                return [invalid(f"{path}.type", schema["type"], f'only "object" {words}')]
        elif name not in _ALLOWED_AT_ROOT:
            words = "fields are allowed at the root of the schema if the status subresource is enabled"
            return [invalid(path, schema_form(schema), f"only [{' '.join(_ALLOWED_AT_ROOT)}] {words}")]
    return []


def _structural_errors(
    schema: Json, path: str, requirements: Requirements
) -> tuple[list[FieldError], list[FieldError], RuleScope | None]:
    """Errors; errors to be told only when there are no others; and the scope of rules if all is well."""
    try:
        root = read_structural(schema)
    except NotStructural as problem:
        return [], [invalid(path, "", str(problem))], None
    errors = validate_structural(root, path)
    errors = errors or default_errors(root, path, require_pruned=requirements.pruned_defaults)
    return errors, [], None if errors else RuleScope.root(root)


def _pattern_errors(schema: Json, path: str) -> list[FieldError]:
    """Patterns of schemas that need not be structural must compile nevertheless."""
    for node in walk(schema):
        try:
            compile_pattern(node.get("pattern") or "")
        except RegexError as problem:
            return [invalid(path, "", f"error building validator: {problem}")]
    return []
