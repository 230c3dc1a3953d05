"""How definitions are written: what is reset, what is checked, and what the client is warned about."""

from __future__ import annotations

from typing import Any

from watchkeeper.apiextensions.definition.defaults import add_stored_version
from watchkeeper.apiextensions.definition.model import GROUP, KIND, read_spec
from watchkeeper.apiextensions.definition.validation import (
    definition_errors,
    definition_update_errors,
    status_errors,
)
from watchkeeper.apiextensions.definition.walk import walk
from watchkeeper.apis.behavior import KindBehavior
from watchkeeper.cel.formats import format_check
from watchkeeper.meta.field import FieldError, go_quote
from watchkeeper.meta.gvk import GroupKind

Object = dict[str, Any]

_NUMBER_FORMATS = {"integer": ("int32", "int64"), "number": ("float", "double")}


def _prepare_for_create(definition: Object) -> None:
    definition["status"] = {"conditions": None, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": []}
    add_stored_version(definition)


def _prepare_for_update(definition: Object, old: Object) -> None:
    definition["status"] = dict(old.get("status") or {})
    add_stored_version(definition)


def _prepare_for_status_update(definition: Object, old: Object) -> None:
    definition["spec"] = old.get("spec")


def _status_update_errors(definition: Object, old: Object) -> list[FieldError]:
    return status_errors(definition)


def _unknown_formats(definition: Object) -> list[str]:
    """Formats that nobody checks, in the order in which they are found."""
    found: list[str] = []
    for schema in read_spec(definition).schemas():
        for node in walk(schema):
            form, kind = node.get("format") or "", node.get("type") or ""
            if not form:
                continue
            known = _NUMBER_FORMATS.get(kind, ())
            if form not in known and (kind not in ("", "string") or format_check(form) is None):
                found.append(form)
    return found


def _warnings_on_create(definition: Object) -> list[str]:
    return [f"unrecognized format {go_quote(form)}" for form in _unknown_formats(definition)]


def _warnings_on_update(definition: Object, old: Object) -> list[str]:
    if definition.get("spec") == old.get("spec"):
        return []
    known = set(_unknown_formats(old))
    return [f"unrecognized format {go_quote(form)}" for form in _unknown_formats(definition) if form not in known]


DEFINITION_BEHAVIOR = KindBehavior(
    kind=GroupKind(GROUP, KIND),
    prepare_for_create=_prepare_for_create,
    prepare_for_update=_prepare_for_update,
    prepare_for_status_update=_prepare_for_status_update,
    validate=definition_errors,
    validate_update=definition_update_errors,
    validate_status_update=_status_update_errors,
    warnings_on_create=_warnings_on_create,
    warnings_on_update=_warnings_on_update,
    allow_unconditional_update=False,
    has_generation=True,
    qualified_finalizers=False,
)
