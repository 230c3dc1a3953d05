"""Validates definitions: new ones, changed ones, and changes of their status."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from watchkeeper.apiextensions.definition.approval import approval_errors
from watchkeeper.apiextensions.definition.ca_bundle import ca_bundle_errors
from watchkeeper.apiextensions.definition.conditions import ESTABLISHED, is_true
from watchkeeper.apiextensions.definition.default_values import has_unpruned_default
from watchkeeper.apiextensions.definition.list_keywords import is_atomic, map_list_key_errors
from watchkeeper.apiextensions.definition.parts import MAX_SELECTABLE_FIELDS, name_errors
from watchkeeper.apiextensions.definition.schema_check import Requirements, has_invalid_type
from watchkeeper.apiextensions.definition.spec import DefinedSpec, read_spec
from watchkeeper.apiextensions.definition.spec_check import SpecOptions, spec_errors
from watchkeeper.apiextensions.definition.walk import walk
from watchkeeper.apiextensions.schema.correlation import same
from watchkeeper.apiextensions.schema.invariants import validate_structural
from watchkeeper.apiextensions.schema.structural import NotStructural, read_structural
from watchkeeper.apis.validation.metadata import validate_immutable
from watchkeeper.apis.validation.webhooks import takes_known_review
from watchkeeper.meta.field import FieldError, invalid

Object = dict[str, Any]
Json = Any


def definition_errors(definition: Object) -> list[FieldError]:
    """All that is wrong with a new definition, besides its metadata."""
    spec = read_spec(definition)
    errors = spec_errors(spec, SpecOptions())
    errors += status_errors(definition)
    errors += _stored_version_errors(definition, spec)
    errors += approval_errors(definition, None)
    return errors + _preserve_errors(spec, None)


def definition_update_errors(definition: Object, old: Object) -> list[FieldError]:
    """All that is wrong with a changed definition, besides the generic rules of metadata."""
    spec, old_spec = read_spec(definition), read_spec(old)
    errors = _spec_update_errors(spec, old_spec, old)
    if is_true(old, ESTABLISHED):
        errors += validate_immutable(spec.scope, old_spec.scope, "spec.scope")
        errors += validate_immutable(_name(spec, "kind"), _name(old_spec, "kind"), "spec.names.kind")
    errors += validate_immutable(spec.group, old_spec.group, "spec.group")
    errors += validate_immutable(_name(spec, "plural"), _name(old_spec, "plural"), "spec.names.plural")
    errors += status_errors(definition)
    errors += _stored_version_errors(definition, spec)
    errors += approval_errors(definition, old)
    return errors + _preserve_errors(spec, old_spec)


def status_errors(definition: Object) -> list[FieldError]:
    """What is wrong with the status."""
    status = definition.get("status") or {}
    return name_errors(status.get("acceptedNames") or {}, "status.acceptedNames")


def _name(spec: DefinedSpec, key: str) -> str:
    found: str = spec.names.get(key) or ""
    return found


def _stored_version_errors(definition: Object, spec: DefinedSpec) -> list[FieldError]:
    path = "status.storedVersions"
    stored: list[str] = (definition.get("status") or {}).get("storedVersions") or []
    if not stored:
        return [invalid(path, None, "must have at least one stored version")]
    names = {v.name for v in spec.versions}
    seen: set[str] = set()
    errors: list[FieldError] = []
    for v in spec.versions:
        # A name that a version before it had has been struck off the list.
        if v.storage and (v.name not in stored or v.name in seen):
            errors.append(invalid(path, stored, f"must have the storage version {v.name}"))
        seen.add(v.name)
    for i, name in enumerate(stored):
        if name not in names:
            text = (
                f"missing from spec.versions; {name} was previously a storage version, and must remain in "
                f"spec.versions until a storage migration ensures no data remains persisted in "
                f"{name} and removes {name} from status.storedVersions"
            )
            errors.append(invalid(f"{path}[{i}]", name, text))
    return errors


def _preserve_errors(spec: DefinedSpec, old: DefinedSpec | None) -> list[FieldError]:
    if not spec.preserve_unknown_fields or (old is not None and old.preserve_unknown_fields):
        return []
    text = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
    return [invalid("spec.preserveUnknownFields", True, text)]


# -- what an update is asked: no more than the old definition fulfilled ---------------------------------------------


def _spec_update_errors(spec: DefinedSpec, old_spec: DefinedSpec, old: Object) -> list[FieldError]:
    """What the old definition fulfilled is looked into only when the new one does not fulfill all there is."""
    options = _options_of_update(spec, old_spec, old)
    errors = spec_errors(spec, options)
    if not errors:
        return errors
    requirements = _requirements_of_update(spec, old_spec, options.requirements.unchanged)
    if requirements == options.requirements:
        return errors
    return spec_errors(spec, replace(options, requirements=requirements))


def _options_of_update(spec: DefinedSpec, old_spec: DefinedSpec, old: Object) -> SpecOptions:
    """With all requirements, whatever the old definition fulfilled of them."""
    conversion = old_spec.conversion or {}
    webhook = conversion.get("webhook") or {}
    review_versions = webhook.get("conversionReviewVersions") or []
    bundle = (webhook.get("clientConfig") or {}).get("caBundle")
    allow_invalid_bundle = not is_true(old, ESTABLISHED) or bool(bundle and ca_bundle_errors(bundle, ""))
    known = {v.name for v in old_spec.versions}
    kept = (v.name for v in spec.versions if v.name in known)
    unchanged = frozenset(name for name in kept if same(spec.schema_of(name), old_spec.schema_of(name)))
    return SpecOptions(
        requirements=Requirements(unchanged=unchanged),
        known_review_version=not review_versions or takes_known_review(review_versions),
        allow_invalid_bundle=allow_invalid_bundle,
        many_selectable_fields=frozenset(_many_selectable(spec, old_spec)),
    )


def _requirements_of_update(spec: DefinedSpec, old_spec: DefinedSpec, unchanged: frozenset[str]) -> Requirements:
    schemas = old_spec.schemas()
    structural = all(_is_structural(schema) for schema in schemas)
    return Requirements(
        structural=structural or not spec.preserve_unknown_fields or spec.has_extensions(),
        open_api_schema=old_spec.schema is not None or all(v.schema is not None for v in old_spec.versions),
        valid_types=not any(has_invalid_type(schema) for schema in schemas),
        pruned_defaults=not any(_is_structural(s) and has_unpruned_default(read_structural(s)) for s in schemas),
        atomic_sets=all(_has_atomic_sets(schema) for schema in schemas),
        map_list_keys=not any(map_list_key_errors(node, "") for schema in schemas for node in walk(schema)),
        unchanged=unchanged,
    )


def _is_structural(schema: Json) -> bool:
    try:
        return not validate_structural(read_structural(schema), "")
    except NotStructural:
        return False


def _has_atomic_sets(schema: Json) -> bool:
    return all(
        is_atomic(node["items"])
        for node in walk(schema)
        if node.get("x-kubernetes-list-type") == "set" and isinstance(node.get("items"), dict)
    )


def _many_selectable(spec: DefinedSpec, old: DefinedSpec) -> list[str]:
    def kept(new_fields: list[Object], old_fields: list[Object]) -> bool:
        return len(old_fields) > MAX_SELECTABLE_FIELDS and new_fields == old_fields

    found = [""] if kept(spec.selectable_fields, old.selectable_fields) else []
    before = {v.name: v.selectable_fields for v in old.versions}
    return found + [v.name for v in spec.versions if kept(v.selectable_fields, before.get(v.name, []))]
