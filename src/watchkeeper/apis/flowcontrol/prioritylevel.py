"""PriorityLevelConfigurations: how many requests of a kind are served at once, and which wait."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from watchkeeper.apis import printing
from watchkeeper.apis.behavior import Column, KindBehavior, TableSpec
from watchkeeper.apis.flowcontrol.flowschema import GROUP
from watchkeeper.apis.flowcontrol.flowschema_validation import validate_condition_types
from watchkeeper.apis.status_metadata import keep_all_metadata
from watchkeeper.apis.validation.internal_form import InternalForm, Reference, internal_form
from watchkeeper.meta.field import FieldError, forbidden, invalid, not_supported, required
from watchkeeper.meta.gvk import GroupKind, GroupVersionKind

Object = dict[str, Any]
Part = Mapping[str, Any]

_EXEMPT = "exempt"
_TYPES = ("Exempt", "Limited")
_RESPONSES = ("Queue", "Reject")
_MAX_QUEUES = 10_000_000
_MAX_HASH_BITS = 60
"""How many bits of a hash choose a hand of queues (apiserver's `shufflesharding`)."""
_QUEUING = (("handSize", 8), ("queues", 64), ("queueLengthLimit", 50))
_SHARES = {"limited": 30, _EXEMPT: 0}
_CATCH_ALL = {
    "type": "Limited",
    "limited": {"nominalConcurrencyShares": 5, "lendablePercent": 0, "limitResponse": {"type": "Reject"}},
}
_PRESERVE_ZERO = "flowcontrol.k8s.io/preserve-zero-concurrency-shares"

_QUEUES = Reference(queues=("Queues", 0), handSize=("HandSize", 0), queueLengthLimit=("QueueLengthLimit", 0))
_SPEC: InternalForm = {
    "type": ("Type", ""),
    "limited": (
        "Limited",
        Reference(
            nominalConcurrencyShares=("NominalConcurrencyShares", 0),
            limitResponse=("LimitResponse", {"type": ("Type", ""), "queuing": ("Queuing", _QUEUES)}),
            lendablePercent=("LendablePercent", None),
            borrowingLimitPercent=("BorrowingLimitPercent", None),
        ),
    ),
    _EXEMPT: (
        "Exempt",
        Reference(
            nominalConcurrencyShares=("NominalConcurrencyShares", None), lendablePercent=("LendablePercent", None)
        ),
    ),
}


def default_level(level: Object) -> None:
    """Fill in shares and queues."""
    spec = level.setdefault("spec", {})
    for name, shares in _SHARES.items():
        part = spec.get(name)
        if part is not None:
            if part.get("nominalConcurrencyShares") is None:
                part["nominalConcurrencyShares"] = shares
            if part.get("lendablePercent") is None:
                part["lendablePercent"] = 0
    queuing = ((spec.get("limited") or {}).get("limitResponse") or {}).get("queuing")
    if queuing is not None:
        for name, value in _QUEUING:
            if not queuing.get(name):
                queuing[name] = value


def _validate(level: Object) -> list[FieldError]:
    spec, meta = level.get("spec") or {}, level["metadata"]
    name = meta.get("name") or ""
    errors: list[FieldError] = []
    if _PRESERVE_ZERO in (meta.get("annotations") or {}):
        errors.append(forbidden("metadata.annotations", f"annotation '{_PRESERVE_ZERO}' is forbidden"))
    errors += _spec_errors(spec, name)
    if name == _EXEMPT and {**spec, _EXEMPT: None} != {"type": "Exempt", _EXEMPT: None}:
        why = "spec of 'exempt' except the 'spec.exempt' field must equal the fixed value"
        errors.append(invalid("spec", internal_form(spec, _SPEC), why))
    elif name == "catch-all" and spec != _CATCH_ALL:
        why = "spec of 'catch-all' must equal the fixed value"
        errors.append(invalid("spec", internal_form(spec, _SPEC), why))
    return errors + validate_condition_types(level.get("status") or {})


def _spec_errors(spec: Part, name: str) -> list[FieldError]:
    kind, limited, exempt = spec.get("type") or "", spec.get("limited"), spec.get(_EXEMPT)
    errors: list[FieldError] = []
    if (name == _EXEMPT) != (kind == "Exempt"):
        errors.append(invalid("spec.type", kind, "must be 'Exempt' if and only if `name` is 'exempt'"))
    if kind == "Exempt":
        if limited is not None:
            errors.append(forbidden("spec.limited", "must be nil if the type is not Limited"))
        if exempt is not None:
            errors += _share_errors(exempt, "spec.exempt")
            errors += _lendable_errors(exempt, "spec.exempt")
    elif kind == "Limited":
        if exempt is not None:
            errors.append(forbidden("spec.exempt", "must be nil if the type is Limited"))
        if limited is None:
            errors.append(required("spec.limited", "must not be empty when type is Limited"))
        else:
            errors += _limited_errors(limited, "spec.limited")
    else:
        errors.append(not_supported("spec.type", kind, _TYPES))
    return errors


def _share_errors(part: Part, path: str) -> list[FieldError]:
    shares = part.get("nominalConcurrencyShares") or 0
    if shares < 0:
        return [invalid(f"{path}.nominalConcurrencyShares", shares, "must be a non-negative integer")]
    return []


def _lendable_errors(part: Part, path: str) -> list[FieldError]:
    percent = part.get("lendablePercent") or 0
    if not 0 <= percent <= 100:
        return [invalid(f"{path}.lendablePercent", percent, "must be between 0 and 100, inclusive")]
    return []


def _limited_errors(limited: Part, path: str) -> list[FieldError]:
    errors = _share_errors(limited, path)
    errors += _response_errors(limited.get("limitResponse") or {}, f"{path}.limitResponse")
    errors += _lendable_errors(limited, path)
    borrowing = limited.get("borrowingLimitPercent")
    if borrowing is not None and borrowing < 0:
        why = "if specified, must be a non-negative integer"
        errors.append(invalid(f"{path}.borrowingLimitPercent", borrowing, why))
    return errors


def _response_errors(response: Part, path: str) -> list[FieldError]:
    kind, queuing, at = response.get("type") or "", response.get("queuing"), f"{path}.queuing"
    if kind not in _RESPONSES:
        return [not_supported(f"{path}.type", kind, _RESPONSES)]
    if kind == "Queue":
        if queuing is None:
            return [required(at, "must not be empty if limited.limitResponse.type is Limited")]
        return _queuing_errors(queuing, at)
    if queuing is not None:
        return [forbidden(at, "must be nil if limited.limitResponse.type is not Limited")]
    return []


def _queuing_errors(queuing: Part, path: str) -> list[FieldError]:
    length, queues, hand = (queuing.get(name) or 0 for name in ("queueLengthLimit", "queues", "handSize"))
    errors: list[FieldError] = []
    if length <= 0:
        errors.append(invalid(f"{path}.queueLengthLimit", length, "must be positive"))
    if queues <= 0:
        errors.append(invalid(f"{path}.queues", queues, "must be positive"))
    elif queues > _MAX_QUEUES:
        errors.append(invalid(f"{path}.queues", queues, f"must not be greater than {_MAX_QUEUES}"))
    if hand <= 0:
        errors.append(invalid(f"{path}.handSize", hand, "must be positive"))
    elif hand > queues:
        errors.append(invalid(f"{path}.handSize", hand, f"should not be greater than queues ({queues})"))
    elif math.ceil(math.log2(queues) * hand) > _MAX_HASH_BITS:
        why = (
            f"required entropy bits of deckSize {queues} and handSize {hand} should not be greater than "
            f"{_MAX_HASH_BITS}"
        )
        errors.append(invalid(f"{path}.handSize", hand, why))
    return errors


def _cells(level: Object, now: float) -> list[Any]:
    spec = level.get("spec") or {}
    limited = spec.get("limited")
    shares: Any = printing.NONE
    queuing: list[Any] = [printing.NONE] * 3
    if limited is not None:
        shares = limited.get("nominalConcurrencyShares") or 0
        given = (limited.get("limitResponse") or {}).get("queuing")
        if given is not None:
            queuing = [given.get(name) or 0 for name in ("queues", "handSize", "queueLengthLimit")]
    return [printing.name_of(level), spec.get("type") or "", shares, *queuing, printing.age(level, now)]


BEHAVIORS = [
    KindBehavior(
        kind=GroupKind(GROUP, "PriorityLevelConfiguration"),
        prepare_for_status_update=keep_all_metadata,
        validate=_validate,
        validate_update=lambda new, _old: _validate(new),
        validate_status_update=lambda new, _old: validate_condition_types(new.get("status") or {}),
        has_generation=True,
        table=TableSpec(
            columns=(
                printing.NAME,
                Column("Type", "string", "Whether its requests are limited."),
                Column("NominalConcurrencyShares", "string", "Its share of the requests served at once."),
                Column("Queues", "string", "How many queues there are."),
                Column("HandSize", "string", "How many queues each flow may use."),
                Column("QueueLengthLimit", "string", "How many requests wait in one queue."),
                printing.AGE,
            ),
            cells=_cells,
        ),
    )
]
DEFAULTS = {GroupVersionKind(GROUP, "v1", "PriorityLevelConfiguration"): default_level}
