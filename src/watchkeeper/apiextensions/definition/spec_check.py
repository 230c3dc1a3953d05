"""Validates the spec of a definition, in the order of apiextensions-apiserver."""

from __future__ import annotations

from dataclasses import dataclass, field

from watchkeeper.apiextensions.definition.conversion_check import conversion_errors
from watchkeeper.apiextensions.definition.internal_form import versions_form
from watchkeeper.apiextensions.definition.parts import (
    column_errors,
    name_errors,
    selectable_field_errors,
    subresource_errors,
)
from watchkeeper.apiextensions.definition.schema_check import Requirements
from watchkeeper.apiextensions.definition.schema_root import validation_errors
from watchkeeper.apiextensions.definition.spec import DefinedSpec, DefinedVersion, Object
from watchkeeper.apiextensions.schema.structural import NotStructural, read_structural
from watchkeeper.apis.validation.names import is_dns1035_label, is_dns1123_subdomain
from watchkeeper.meta.field import FieldError, JsonText, invalid, not_supported, required

SCOPES = ("Cluster", "Namespaced")


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecOptions:
    """What is asked of a spec."""

    requirements: Requirements = field(default_factory=Requirements)
    known_review_version: bool = True
    allow_invalid_bundle: bool = True
    many_selectable_fields: frozenset[str] = frozenset()
    """Versions that had too many selectable fields before and have not changed them; "" for the shared ones."""


def spec_errors(spec: DefinedSpec, options: SpecOptions, path: str = "spec") -> list[FieldError]:
    """All that is wrong with a spec."""
    errors = _group_errors(spec.group, f"{path}.group")
    errors += _enum_errors(spec.scope, SCOPES, f"{path}.scope")
    errors += _missing_schema_errors(spec, options, path)
    if spec.preserve_unknown_fields and spec.has_defaults():
        text = "must be false in order to use defaults in the schema"
        errors.append(invalid(f"{path}.preserveUnknownFields", True, text))
    names: set[str] = set()
    for i, version in enumerate(spec.versions):
        names.add(version.name)
        where = f"{path}.versions[{i}]"
        wrong = is_dns1035_label(version.name)
        if wrong:
            errors.append(invalid(f"{where}.name", version.name, ",".join(wrong)))
        errors += _version_errors(spec, version, options, where)
    errors += _versions_errors(spec, names, path)
    for key in ("plural", "singular", "kind", "listKind"):
        if not spec.names.get(key):
            errors.append(required(f"{path}.names.{key}"))
    errors += name_errors(spec.names, f"{path}.names")
    errors += _shared_errors(spec, options, path)
    strategy = (spec.conversion or {}).get("strategy")
    if spec.preserve_unknown_fields and strategy not in (None, "None"):
        text = "must be None if spec.preserveUnknownFields is true"
        errors.append(invalid(f"{path}.conversion.strategy", strategy, text))
    return errors + conversion_errors(
        spec.conversion,
        f"{path}.conversion",
        known_review_version=options.known_review_version,
        allow_invalid_bundle=options.allow_invalid_bundle,
    )


def _group_errors(group: str, path: str) -> list[FieldError]:
    if not group:
        return [required(path)]
    wrong = is_dns1123_subdomain(group)
    if wrong:
        return [invalid(path, group, ",".join(wrong))]
    return [] if "." in group else [invalid(path, group, "should be a domain with at least one dot")]


def _enum_errors(value: str, allowed: tuple[str, ...], path: str) -> list[FieldError]:
    if not value:
        return [required(path)]
    return [] if value in allowed else [not_supported(path, value, allowed, plain=True)]


def _missing_schema_errors(spec: DefinedSpec, options: SpecOptions, path: str) -> list[FieldError]:
    if spec.schema is not None:
        return []
    missing = [(i, v) for i, v in enumerate(spec.versions) if v.schema is None]
    where = f"{path}.versions[{{}}].schema.openAPIV3Schema"
    if options.requirements.open_api_schema:
        return [required(where.format(i)) for i, _ in missing]
    if spec.preserve_unknown_fields:
        return []
    text = "because otherwise all fields are pruned"
    return [required(where.format(i), text) for i, v in missing if v.served]


def _versions_errors(spec: DefinedSpec, names: set[str], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if len(names) < len(spec.versions):
        errors.append(invalid(f"{path}.versions", versions_form(spec), "must contain unique version names"))
    if sum(v.storage for v in spec.versions) != 1:
        text = "must have exactly one version marked as storage version"
        errors.append(invalid(f"{path}.versions", versions_form(spec), text))
    wrong = is_dns1035_label(spec.version) if spec.version else ()
    if wrong:
        errors.append(invalid(f"{path}.version", spec.version, ",".join(wrong)))
    return errors


def _has_status(subresources: Object | None) -> bool:
    return (subresources or {}).get("status") is not None


def _version_errors(spec: DefinedSpec, version: DefinedVersion, options: SpecOptions, path: str) -> list[FieldError]:
    warning = version.deprecation_warning
    shown = JsonText(warning or "")
    errors = [invalid(f"{path}.deprecationWarning", shown, text) for text in _warning_problems(version)]
    shared = not any(v.subresources is not None for v in spec.versions)
    errors += validation_errors(
        version.validation,
        f"{path}.schema",
        options.requirements,
        has_status=_has_status(spec.subresources if shared else version.subresources),
        unchanged=version.name in options.requirements.unchanged,
    )
    errors += subresource_errors(version.subresources, f"{path}.subresources")
    for i, column in enumerate(version.columns):
        errors += column_errors(column, f"{path}.additionalPrinterColumns[{i}]")
    if version.selectable_fields:
        where = f"{path}.selectableFields"
        if version.schema is None:
            text = "may only be set when `version.schema.openAPIV3Schema` is not included"
            errors.append(invalid(where, "", text))
        else:
            many = version.name in options.many_selectable_fields
            errors += _selectable(version.selectable_fields, version.schema, path, many)
    return errors


def _selectable(fields: list[Object], schema: Object, path: str, allow_too_many: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    try:
        root = read_structural(schema)
    except NotStructural as problem:
        errors.append(invalid(f"{path}.schema.openAPIV3Schema", "", str(problem)))
        root = read_structural({"type": "object"})
    return errors + selectable_field_errors(fields, root, f"{path}.selectableFields", allow_too_many=allow_too_many)


def _shared_errors(spec: DefinedSpec, options: SpecOptions, path: str) -> list[FieldError]:
    """What is wrong with what all versions share."""
    errors = validation_errors(
        spec.validation,
        f"{path}.validation",
        options.requirements,
        has_status=any(_has_status(s) for s in (spec.subresources, *(v.subresources for v in spec.versions))),
        unchanged=spec.version in options.requirements.unchanged,
    )
    errors += subresource_errors(spec.subresources, f"{path}.subresources")
    for i, column in enumerate(spec.columns):
        errors += column_errors(column, f"{path}.additionalPrinterColumns[{i}]")
    if spec.selectable_fields:
        if spec.schema is None:
            text = "may only be set when validations.schema is included"
            errors.append(invalid(f"{path}.selectableFields", "", text))
        else:
            many = "" in options.many_selectable_fields
            errors += _selectable(spec.selectable_fields, spec.schema, path, many)
    return errors


def _warning_problems(version: DefinedVersion) -> list[str]:
    text = version.deprecation_warning
    if text is None:
        return []
    if not version.deprecated:
        return ["can only be set for deprecated versions"]
    problems = []
    if len(text.encode()) > 256:
        problems.append("must be <= 256 characters long")
    if not text:
        problems.append("must not be an empty string")
    for i, ch in enumerate(text):
        if not ch.isprintable():
            at = len(text[:i].encode())
            words = "must only contain printable UTF-8 characters; non-printable character found at index"
            problems.append(f"{words} {at}")
            break
    return problems
