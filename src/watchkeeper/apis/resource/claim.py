"""ResourceClaims and their templates: their behavior in the generic registry."""

from __future__ import annotations

from typing import Any

from watchkeeper.apis import printing
from watchkeeper.apis.behavior import Column, KindBehavior, TableSpec
from watchkeeper.apis.resource.claim_form import SPEC
from watchkeeper.apis.resource.claim_status_validation import (
    allocated_devices,
    device_id,
    validate_claim_status_update,
)
from watchkeeper.apis.resource.claim_validation import (
    Compile,
    unchecked,
    validate_claim_spec,
    validate_template_spec,
)
from watchkeeper.apis.schema_data import object_meta_schema
from watchkeeper.apis.semantic import same
from watchkeeper.apis.validation.internal_form import internal_form
from watchkeeper.apis.validation.metadata import IMMUTABLE
from watchkeeper.meta.field import FieldError, invalid
from watchkeeper.meta.gvk import GroupKind, GroupVersionKind
from watchkeeper.runtime.go_order import in_go_order

Object = dict[str, Any]

_GROUP = "resource.k8s.io"
_KEPT_METADATA = ("deletionTimestamp", "labels", "annotations", "finalizers", "ownerReferences")


def default_claim(claim: Object) -> None:
    """Fill in a claim: each request asks for one device; what tolerates a taint tolerates one value of it."""
    _default_spec(claim.get("spec") or {})
    allocation = (claim.get("status") or {}).get("allocation") or {}
    for result in (allocation.get("devices") or {}).get("results") or ():
        _default_tolerations(result)


def default_template(template: Object) -> None:
    """Fill in the claim that a template makes."""
    _default_spec((template.get("spec") or {}).get("spec") or {})


def _default_spec(spec: Object) -> None:
    for request in (spec.get("devices") or {}).get("requests") or ():
        if request.get("exactly") is not None:
            _default_request(request["exactly"])
        for alternative in request.get("firstAvailable") or ():
            _default_request(alternative)


def _default_request(request: Object) -> None:
    if not request.get("allocationMode"):
        request["allocationMode"] = "ExactCount"
    if request["allocationMode"] == "ExactCount" and not request.get("count"):
        request["count"] = 1
    _default_tolerations(request)


def _default_tolerations(holder: Object) -> None:
    for toleration in holder.get("tolerations") or ():
        if not toleration.get("operator"):
            toleration["operator"] = "Equal"


def _prepare_for_create(claim: Object) -> None:
    claim["status"] = {}


def _prepare_for_status_update(new: Object, old: Object) -> None:
    """Status writers change no metadata; what drivers report goes with the device."""
    meta, before = new["metadata"], old["metadata"]
    for field in _KEPT_METADATA:
        if field in before:
            meta[field] = before[field]
        else:
            meta.pop(field, None)
    status = new.setdefault("status", {})
    gone = allocated_devices(old.get("status") or {}) - allocated_devices(status)
    kept = [device for device in status.get("devices") or () if device_id(device) not in gone]
    if kept:
        status["devices"] = kept
    else:
        status.pop("devices", None)


def _validate_change(new: Object, old: Object) -> list[FieldError]:
    if same(new.get("spec"), old.get("spec"), "resource.v1.ResourceClaimSpec"):
        return []
    return [invalid("spec", internal_form(new.get("spec"), SPEC), IMMUTABLE)]


def _validate_template_change(new: Object, old: Object) -> list[FieldError]:
    if same(new.get("spec"), old.get("spec"), "resource.v1.ResourceClaimTemplateSpec"):
        return []
    spec = new.get("spec") or {}
    shown = {
        **in_go_order(spec.get("metadata") or {}, object_meta_schema()),
        "Spec": internal_form(spec.get("spec"), SPEC),
    }
    return [invalid("spec", shown, IMMUTABLE)]


def _state(claim: Object) -> str:
    status, states = claim.get("status") or {}, []
    deleted = bool(claim["metadata"].get("deletionTimestamp"))
    if deleted:
        states.append("deleted")
    if status.get("allocation") is not None:
        states.append("allocated")
        if status.get("reservedFor"):
            states.append("reserved")
    elif not deleted:
        states.append("pending")
    return ",".join(states)


_STATE = "A summary of the current state (allocated, pending, reserved, etc.)."


def claim_behaviors(compiled: Compile) -> list[KindBehavior]:
    """The behavior of claims and templates, with what can compile the expressions of their selectors."""
    return [
        KindBehavior(
            kind=GroupKind(_GROUP, "ResourceClaim"),
            prepare_for_create=_prepare_for_create,
            prepare_for_status_update=_prepare_for_status_update,
            validate=lambda claim: validate_claim_spec(claim.get("spec") or {}, "spec", compiled),
            validate_change=_validate_change,
            validate_status_update=validate_claim_status_update,
            status_has_table=False,
            table=TableSpec(
                columns=(printing.NAME, Column("State", "string", _STATE), printing.AGE),
                cells=lambda claim, now: [printing.name_of(claim), _state(claim), printing.age(claim, now)],
            ),
        ),
        KindBehavior(
            kind=GroupKind(_GROUP, "ResourceClaimTemplate"),
            validate=lambda template: validate_template_spec(template.get("spec") or {}, "spec", compiled),
            validate_update=lambda template, _old: validate_template_spec(template.get("spec") or {}, "spec", compiled),
            validate_change=_validate_template_change,
            table=TableSpec(
                columns=(printing.NAME, printing.AGE),
                cells=lambda template, now: [printing.name_of(template), printing.age(template, now)],
            ),
        ),
    ]


BEHAVIORS = claim_behaviors(unchecked)
DEFAULTS = {
    GroupVersionKind(_GROUP, "v1", "ResourceClaim"): default_claim,
    GroupVersionKind(_GROUP, "v1", "ResourceClaimTemplate"): default_template,
}
