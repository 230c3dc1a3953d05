"""Leases."""

from __future__ import annotations

from typing import Any

from watchkeeper.apis import printing
from watchkeeper.apis.behavior import Column, KindBehavior, TableSpec
from watchkeeper.apis.validation.metadata import NEGATIVE
from watchkeeper.apis.validation.names import is_qualified_name
from watchkeeper.meta.field import FieldError, forbidden, invalid, not_supported
from watchkeeper.meta.gvk import GroupKind

Object = dict[str, Any]

_COORDINATED = ("strategy", "preferredHolder")
"""Fields of coordinated leader election, a feature that is off: only Leases that have them already keep them."""
_STRATEGIES = ("OldestEmulationVersion",)


def _validate(lease: Object) -> list[FieldError]:
    spec = lease.get("spec") or {}
    seconds, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
    errors: list[FieldError] = []
    if seconds is not None and seconds <= 0:
        errors.append(invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0"))
    if transitions is not None and transitions < 0:
        errors.append(invalid("spec.leaseTransitions", transitions, NEGATIVE))
    strategy, preferred = spec.get("strategy"), spec.get("preferredHolder")
    if strategy is not None:
        errors += _strategy_errors(strategy)
    if preferred and not strategy:
        errors.append(forbidden("spec.preferredHolder", "may only be specified if `strategy` is defined"))
    return errors


def _strategy_errors(strategy: str) -> list[FieldError]:
    path = "spec.strategy"
    if "/" in strategy:
        return [invalid(path, strategy, text) for text in is_qualified_name(strategy)]
    return [] if strategy in _STRATEGIES else [not_supported(f"{path}.strategy", strategy, _STRATEGIES)]


def _prepare(lease: Object, old: Object | None = None) -> None:
    spec = lease.get("spec")
    if spec:
        was = (old or {}).get("spec") or {}
        for name in _COORDINATED:
            if was.get(name) is None:
                spec.pop(name, None)


def _cells(lease: Object, now: float) -> list[Any]:
    holder = (lease.get("spec") or {}).get("holderIdentity") or ""
    return [printing.name_of(lease), holder, printing.age(lease, now)]


BEHAVIORS = [
    KindBehavior(
        kind=GroupKind("coordination.k8s.io", "Lease"),
        prepare_for_create=_prepare,
        prepare_for_update=_prepare,
        shares_parts=True,
        validate=_validate,
        validate_update=lambda new, _old: _validate(new),
        allow_create_on_update=True,
        allow_unconditional_update=False,
        has_status=False,
        table=TableSpec(
            columns=(printing.NAME, Column("Holder", "string", "Who has it."), printing.AGE),
            cells=_cells,
        ),
    )
]
