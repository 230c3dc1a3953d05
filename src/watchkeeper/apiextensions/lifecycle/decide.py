"""What the status of a definition should say. No effects here."""

from __future__ import annotations

import copy
from typing import Any

from watchkeeper.apiextensions.definition.approval import Approval, approval, is_protected_group
from watchkeeper.apiextensions.definition.conditions import (
    API_APPROVED,
    ESTABLISHED,
    NAMES_ACCEPTED,
    NON_STRUCTURAL,
    condition,
    find_condition,
    is_true,
    remove_condition,
    same_condition,
    set_condition,
)
from watchkeeper.apiextensions.lifecycle.names import TakenNames, decide_names
from watchkeeper.meta.field import FieldError, aggregate, invalid

Object = dict[str, Any]

_APPROVALS = {
    Approval.INVALID: ("False", "InvalidAnnotation"),
    Approval.MISSING: ("False", "MissingAnnotation"),
    Approval.APPROVED: ("True", "ApprovedAnnotation"),
    Approval.BYPASSED: ("False", "UnapprovedAnnotation"),
}


def settled(definition: Object, taken: TakenNames, now: str) -> Object | None:
    """The definition as its status should be, None when it is so already. `taken` includes its own names."""
    new = dict(definition, status=copy.deepcopy(definition.get("status") or {}))
    changed = _settle(new, API_APPROVED, _approval_condition(new), now)  # first, as clients find it there
    changed |= _settle_names(new, taken, now)
    changed |= _settle_established(new, now)
    changed |= _settle(new, NON_STRUCTURAL, _structure_condition(new), now)
    return new if changed else None


def _settle_names(definition: Object, taken: TakenNames, now: str) -> bool:
    decision = decide_names(definition, taken)
    if decision is None:
        return False
    accepted = (definition.get("status") or {}).get("acceptedNames")
    if accepted == decision.accepted and all(same_condition(definition, c) for c in decision.conditions):
        return False
    definition.setdefault("status", {})["acceptedNames"] = decision.accepted
    for each in decision.conditions:
        set_condition(definition, each, now)
    return True


def _settle_established(definition: Object, now: str) -> bool:
    if not is_true(definition, NAMES_ACCEPTED) or is_true(definition, ESTABLISHED):
        return False
    webhook = ((definition.get("spec") or {}).get("conversion") or {}).get("webhook") or {}
    bundle = (webhook.get("clientConfig") or {}).get("caBundle")
    if bundle and _is_broken(bundle):
        text = "The conversion webhook CABundle is invalid"
        new = condition(ESTABLISHED, "False", "InvalidCABundle", text)
    else:
        new = condition(ESTABLISHED, "True", "InitialNamesAccepted", "the initial names have been accepted")
    if same_condition(definition, new):
        return False
    set_condition(definition, new, now)
    return True


def _is_broken(bundle: str) -> bool:
    from watchkeeper.apiextensions.definition.ca_bundle import ca_bundle_errors

    return bool(ca_bundle_errors(bundle, ""))


def _settle(definition: Object, kind: str, new: Object | None, now: str) -> bool:
    if new is None:
        # A condition of a group's approval is never taken back: groups do not change.
        if kind == API_APPROVED or find_condition(definition, kind) is None:
            return False
        remove_condition(definition, kind)
        return True
    if same_condition(definition, new):
        return False
    set_condition(definition, new, now)
    return True


def _approval_condition(definition: Object) -> Object | None:
    if not is_protected_group((definition.get("spec") or {}).get("group") or ""):
        return None
    state, reason = approval(definition["metadata"].get("annotations") or {})
    status, word = _APPROVALS[state]
    return condition(API_APPROVED, status, word, reason)


def _structure_condition(definition: Object) -> Object | None:
    """What a schema of old lacks. Nothing that is not structural comes in any more, so few need a look."""
    spec: Object = definition.get("spec") or {}
    if not spec.get("preserveUnknownFields") and find_condition(definition, NON_STRUCTURAL) is None:
        return None
    from watchkeeper.apiextensions.schema.invariants import validate_structural
    from watchkeeper.apiextensions.schema.structural import NotStructural, read_structural

    errors: list[FieldError] = []
    if spec.get("preserveUnknownFields"):
        errors.append(invalid("spec.preserveUnknownFields", True, "must be false"))
    for i, version in enumerate(spec.get("versions") or ()):
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        if schema is None:
            continue
        try:
            root = read_structural(schema)
        except NotStructural as problem:
            text = f"failed to check validation schema for version {version.get('name')}: {problem}"
            return condition(NON_STRUCTURAL, "Unknown", "StructuralError", text)
        errors += validate_structural(root, f"spec.versions[{i}].schema.openAPIV3Schema")
    return condition(NON_STRUCTURAL, "True", "Violations", aggregate(errors)) if errors else None
