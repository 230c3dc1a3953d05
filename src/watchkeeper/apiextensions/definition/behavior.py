"""How definitions are written: what is reset, what is checked, and what the client is warned about.

Checking takes all of what schemas and expressions need; that is imported when the first definition comes.
"""

from __future__ import annotations

from typing import Any

from watchkeeper.apiextensions.definition.defaults import add_stored_version
from watchkeeper.apiextensions.definition.model import GROUP, KIND
from watchkeeper.apiextensions.definition.raw_values import settle_values
from watchkeeper.apis.behavior import KindBehavior
from watchkeeper.apis.validation.names import NameRule, name_is_dns_subdomain
from watchkeeper.meta.field import FieldError, go_quote
from watchkeeper.meta.gvk import GroupKind

Object = dict[str, Any]


def _prepare_for_create(definition: Object) -> None:
    definition["status"] = {"conditions": None, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": []}
    add_stored_version(definition)
    settle_values(definition)


def _prepare_for_update(definition: Object, old: Object) -> None:
    definition["status"] = dict(old.get("status") or {})
    add_stored_version(definition)
    settle_values(definition)


def _prepare_for_status_update(definition: Object, old: Object) -> None:
    definition["spec"] = old.get("spec")


def _errors(definition: Object) -> list[FieldError]:
    from watchkeeper.apiextensions.definition.validation import definition_errors

    return definition_errors(definition)


def _name_rule(definition: Object) -> NameRule:
    spec = definition.get("spec") or {}
    expected = f"{(spec.get('names') or {}).get('plural') or ''}.{spec.get('group') or ''}"

    def wrong(name: str, prefix: bool) -> list[str]:
        found = name_is_dns_subdomain(name, prefix)
        return found if name == expected else [*found, 'must be spec.names.plural+"."+spec.group']

    return wrong


def _update_errors(definition: Object, old: Object) -> list[FieldError]:
    from watchkeeper.apiextensions.definition.validation import definition_update_errors

    return definition_update_errors(definition, old)


def _status_update_errors(definition: Object, old: Object) -> list[FieldError]:
    from watchkeeper.apiextensions.definition.parts import name_errors

    return name_errors((definition.get("status") or {}).get("acceptedNames") or {}, "status.acceptedNames")


def _unknown_formats(definition: Object) -> list[str]:
    from watchkeeper.apiextensions.definition.formats import unknown_formats

    return unknown_formats(definition)


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
    validate=_errors,
    name_rule_of=_name_rule,
    validate_update=_update_errors,
    validate_status_update=_status_update_errors,
    warnings_on_create=_warnings_on_create,
    warnings_on_update=_warnings_on_update,
    allow_unconditional_update=False,
    has_generation=True,
    qualified_finalizers=False,
    status_has_table=False,
)
