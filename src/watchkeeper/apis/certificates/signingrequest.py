"""CertificateSigningRequests. Who asks is filled in where the requester is known, in the registry."""

from __future__ import annotations

import time
from typing import Any

from watchkeeper.apis import printing
from watchkeeper.apis.behavior import Column, KindBehavior, PartHooks, TableSpec
from watchkeeper.apis.certificates.signingrequest_validation import (
    validate_approval,
    validate_request,
    validate_request_status,
    validate_request_update,
)
from watchkeeper.apis.validation.names import any_name
from watchkeeper.meta.gvk import GroupKind

Object = dict[str, Any]

KIND = GroupKind("certificates.k8s.io", "CertificateSigningRequest")
_PARTS = ("spec", "status")


def _prepare_for_update(new: Object, old: Object) -> None:
    """A request does not change; it is decided upon through its subresources."""
    _restore(new, old, "spec")


def _restore(new: Object, old: Object, *parts: str) -> None:
    for part in parts:
        if part in old:
            new[part] = old[part]
        else:
            new.pop(part, None)


def prepare_for_status(new: Object, old: Object) -> None:
    """The signer writes the certificate and conditions of its own."""
    _restore(new, old, "spec")
    for decision in ("Approved", "Denied"):
        _keep_conditions(new, old, decision)
    _date_conditions(new, old)


def _keep_conditions(new: Object, old: Object, kind: str) -> None:
    """Put the conditions of a type back to what they were, unless there are more or fewer than before."""
    before = [each for each in _conditions(old) if each.get("type") == kind]
    conditions = _conditions(new)
    places = [i for i, each in enumerate(conditions) if each.get("type") == kind]
    if before and len(before) == len(places):
        for place, condition in zip(places, before, strict=True):
            conditions[place] = dict(condition)


def _conditions(request: Object) -> list[Object]:
    found: list[Object] = (request.get("status") or {}).get("conditions") or []
    return found


def prepare_for_approval(new: Object, old: Object) -> None:
    """Approvers write conditions, nothing else."""
    conditions = (new.get("status") or {}).get("conditions")
    _restore(new, old, *_PARTS)
    status = dict(new.get("status") or {})
    if conditions:
        status["conditions"] = conditions
    else:
        status.pop("conditions", None)
    new["status"] = status
    _date_conditions(new, old)


def _date_conditions(new: Object, old: Object) -> None:
    """Conditions without times get them: now, or for a transition the time it already had."""
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    before = _conditions(old)
    for condition in _conditions(new):
        if not condition.get("lastUpdateTime"):
            condition["lastUpdateTime"] = now
        if not condition.get("lastTransitionTime"):
            same = (
                each.get("lastTransitionTime")
                for each in before
                if all(each.get(name) == condition.get(name) for name in ("type", "status"))
            )
            condition["lastTransitionTime"] = next(filter(None, same), now)


def _fields(request: Object) -> dict[str, str]:
    return {"spec.signerName": (request.get("spec") or {}).get("signerName") or ""}


def _condition(request: Object) -> str:
    status = request.get("status") or {}
    types = {condition.get("type") for condition in status.get("conditions") or ()}
    shown = "Denied" if "Denied" in types else "Approved" if "Approved" in types else "Pending"
    if "Failed" in types:
        shown += ",Failed"
    return f"{shown},Issued" if status.get("certificate") else shown


def _cells(request: Object, now: float) -> list[Any]:
    spec = request.get("spec") or {}
    seconds = spec.get("expirationSeconds")
    return [
        printing.name_of(request),
        printing.age(request, now),
        spec.get("signerName") or printing.NONE,
        spec.get("username") or "",
        printing.NONE if seconds is None else printing.human_duration(seconds),
        _condition(request),
    ]


BEHAVIORS = [
    KindBehavior(
        kind=KIND,
        prepare_for_update=_prepare_for_update,
        validate=validate_request,
        validate_update=validate_request_update,
        name_rule=any_name,
        selectable_fields=_fields,
        selectable_labels=("spec.signerName",),
        unsupported_field_label=lambda label: f"field label not supported: {label}",
        table=TableSpec(
            columns=(
                printing.NAME,
                printing.AGE,
                Column("SignerName", "string", "Who is to sign."),
                Column("Requestor", "string", "Who asks."),
                Column("RequestedDuration", "string", "How long the certificate is to be valid."),
                Column("Condition", "string", "What has been decided and done."),
            ),
            cells=_cells,
        ),
        extra={
            "subresources": {
                "approval": PartHooks(prepare_for_approval, validate_approval),
                "status": PartHooks(prepare_for_status, validate_request_status),
            }
        },
    )
]
