"""The rules of CertificateSigningRequests: on create, on update, and through their subresources."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

from watchkeeper.apis.certificates.pem import certificates_fault, request_fault
from watchkeeper.apis.core.unified_diff import unified_diff
from watchkeeper.apis.validation.internal_form import InternalForm, internal_form
from watchkeeper.apis.validation.metadata import validate_builtin_object_meta, validate_builtin_object_meta_update
from watchkeeper.apis.validation.names import any_name
from watchkeeper.apis.validation.signers import validate_signer_name
from watchkeeper.meta.field import FieldError, duplicate, forbidden, invalid, not_supported, required

Object = dict[str, Any]
Conditions = Sequence[Mapping[str, Any]]

_CONDITIONS = "status.conditions"
_CERTIFICATE = "status.certificate"
_LEGACY_SIGNER = "kubernetes.io/legacy-unknown"
_DECISIONS = ("Approved", "Denied")
_TRUE_ONLY = (*_DECISIONS, "Failed")
_STATUSES = ("False", "True", "Unknown")
_CONDITION: InternalForm = {
    "type": ("Type", ""),
    "status": ("Status", ""),
    "reason": ("Reason", ""),
    "message": ("Message", ""),
    "lastUpdateTime": ("LastUpdateTime", None),
    "lastTransitionTime": ("LastTransitionTime", None),
}
_MIN_SECONDS = 600
_USAGES = (
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
)


def validate_request(request: Object) -> list[FieldError]:
    """What is wrong with a new request."""
    return _errors(request, None)


def validate_request_update(new: Object, old: Object) -> list[FieldError]:
    """What is wrong with an update of the request itself."""
    return _update_errors(new, old)


def validate_request_status(new: Object, old: Object) -> list[FieldError]:
    """What is wrong with an update by the signer."""
    return _update_errors(new, old, certificate=True) + _metadata_errors(new, old)


def validate_approval(new: Object, old: Object) -> list[FieldError]:
    """What is wrong with an update by an approver."""
    return _update_errors(new, old, decisions=True) + _metadata_errors(new, old)


def _metadata_errors(new: Object, old: Object) -> list[FieldError]:
    """Metadata are judged as those of a new request, and as changed ones; any name will do."""
    meta = new["metadata"]
    errors = validate_builtin_object_meta(meta, namespaced=False, name_rule=any_name)
    return errors + validate_builtin_object_meta_update(meta, old["metadata"])


def _conditions(request: Object | None) -> Conditions:
    found: Conditions = ((request or {}).get("status") or {}).get("conditions") or ()
    return found


def _bytes_of(text: str | None) -> bytes:
    try:
        return base64.b64decode(text or "")
    except ValueError:
        return b""


def _errors(request: Object, old: Object | None) -> list[FieldError]:
    """Faults that the old state has too are let pass, but for those of the request's own content."""
    spec = request.get("spec") or {}
    was = (old or {}).get("spec") or {}
    errors: list[FieldError] = []
    if fault := request_fault(_bytes_of(spec.get("request"))):
        errors.append(invalid("spec.request", spec.get("request"), fault))
    errors += _usage_errors(spec.get("usages") or [], was.get("usages") or [])
    signer = spec.get("signerName") or ""
    if signer == _LEGACY_SIGNER and was.get("signerName") != _LEGACY_SIGNER:
        why = "the legacy signerName is not allowed via this API version"
        errors.append(invalid("spec.signerName", signer, why))
    else:
        errors += validate_signer_name(signer, "spec.signerName")
    seconds = spec.get("expirationSeconds")
    if seconds is not None and seconds < _MIN_SECONDS:
        why = "may not specify a duration less than 600 seconds (10 minutes)"
        errors.append(invalid("spec.expirationSeconds", seconds, why))
    errors += _condition_errors(_conditions(request), _conditions(old))
    return errors + _certificate_errors(request, old)


def _usage_errors(usages: Sequence[str], was: Sequence[str]) -> list[FieldError]:
    path = "spec.usages"
    errors = [] if usages else [required(path)]
    if all(usage in _USAGES for usage in was):
        unknown = ((i, usage) for i, usage in enumerate(usages) if usage not in _USAGES)
        errors += [not_supported(f"{path}[{i}]", usage, _USAGES) for i, usage in unknown]
    if len(set(was)) == len(was):
        repeated = ((i, usage) for i, usage in enumerate(usages) if usage in usages[:i])
        errors += [duplicate(f"{path}[{i}]", usage) for i, usage in repeated]
    return errors


def _condition_errors(conditions: Conditions, was: Conditions) -> list[FieldError]:
    types_were = [condition.get("type", "") for condition in was]
    both_were, repeated_were = set(_DECISIONS) <= set(types_were), len(set(types_were)) < len(types_were)
    errors: list[FieldError] = []
    seen: set[str] = set()
    for i, condition in enumerate(conditions):
        path, kind, status = f"{_CONDITIONS}[{i}]", condition.get("type", ""), condition.get("status", "")
        if not kind and "" not in types_were:
            errors.append(required(f"{path}.type"))
        allowed = ("True",) if kind in _TRUE_ONLY else _STATUSES
        if not status:
            errors.append(required(f"{path}.status"))
        elif status not in allowed:
            errors.append(not_supported(f"{path}.status", status, allowed))
        if kind in _DECISIONS and not both_were and (set(_DECISIONS) - {kind}) & seen:
            errors.append(invalid(_CONDITIONS, kind, "Approved and Denied conditions are mutually exclusive"))
        if kind in seen and not repeated_were:
            errors.append(duplicate(f"{path}.type", kind))
        seen.add(kind)
    return errors


def _certificate_errors(request: Object, old: Object | None) -> list[FieldError]:
    now = (request.get("status") or {}).get("certificate")
    was = ((old or {}).get("status") or {}).get("certificate")
    if old is not None and (now == was or certificates_fault(_bytes_of(was))):
        return []
    fault = certificates_fault(_bytes_of(now))
    return [invalid(_CERTIFICATE, "<certificate data>", fault)] if fault else []


def _update_errors(new: Object, old: Object, *, certificate: bool = False, decisions: bool = False) -> list[FieldError]:
    """`certificate` and `decisions` say which of them this way of updating may set."""
    errors = _errors(new, old)
    for kind in _TRUE_ONLY:
        before, after = _of_type(old, kind), _of_type(new, kind)
        if len(after) < len(before):
            errors.append(forbidden(_CONDITIONS, f'updates may not remove a condition of type "{kind}"'))
    for kind in () if decisions else _DECISIONS:
        before, after = _of_type(old, kind), _of_type(new, kind)
        if len(after) > len(before):
            errors.append(forbidden(_CONDITIONS, f'updates may not add a condition of type "{kind}"'))
        elif len(after) == len(before) and after != before:
            difference = unified_diff(*([internal_form(each, _CONDITION) for each in side] for side in (before, after)))
            why = f'updates may not modify a condition of type "{kind}"\n{difference}'
            errors.append(forbidden(_CONDITIONS, why))
    now, was = ((each.get("status") or {}).get("certificate") for each in (new, old))
    if (now or "") != (was or ""):
        if not certificate:
            errors.append(forbidden(_CERTIFICATE, "updates may not set certificate content"))
        elif was:
            errors.append(forbidden(_CERTIFICATE, "updates may not modify existing certificate content"))
    return errors


def _of_type(request: Object, kind: str) -> list[Mapping[str, Any]]:
    return [condition for condition in _conditions(request) if condition.get("type") == kind]
