"""ServiceCIDRs: the ranges that Services get their addresses from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from watchkeeper.apis import printing
from watchkeeper.apis.behavior import Column, KindBehavior, TableSpec
from watchkeeper.apis.networking.ingress import GROUP
from watchkeeper.apis.status_metadata import keep_metadata
from watchkeeper.apis.validation.metadata import IMMUTABLE
from watchkeeper.apis.validation.net import parse_cidr, validate_cidr
from watchkeeper.meta.field import FieldError, invalid, required
from watchkeeper.meta.gvk import GroupKind

Object = dict[str, Any]

READY = "Ready"
_PATH = "spec.cidrs"


def ready_status(cidr: Object) -> str:
    """What its condition says: True, False or Unknown; "" when there is none."""
    conditions = (cidr.get("status") or {}).get("conditions") or ()
    return next((each.get("status", "") for each in conditions if each.get("type") == READY), "")


def is_ready(cidr: Object) -> bool:
    """Whether addresses are given from it. One that nobody judges, because no controller runs, is ready."""
    return not cidr["metadata"].get("deletionTimestamp") and ready_status(cidr) in ("True", "")


def _blocks(cidr: Object) -> list[str]:
    found: list[str] = (cidr.get("spec") or {}).get("cidrs") or []
    return found


def _errors(blocks: Sequence[str]) -> list[FieldError]:
    if not blocks:
        return [required(_PATH, "at least one CIDR required")]
    if len(blocks) > 2:
        return [invalid(_PATH, {"CIDRs": blocks}, "may only hold up to 2 values")]
    errors = [e for i, block in enumerate(blocks) for e in validate_cidr(block, f"{_PATH}[{i}]")]
    families = [parsed[1].version for block in blocks if (parsed := parse_cidr(block)) is not None]
    if len(families) == 2 and families[0] == families[1]:
        why = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"
        errors.append(invalid(_PATH, blocks, why))
    return errors


def _validate_update(new: Object, old: Object) -> list[FieldError]:
    """A second family may be added; nothing else changes."""
    now, was = _blocks(new), _blocks(old)
    if len(now) == len(was):
        changed = [i for i, block in enumerate(was) if block != now[i]]
        return [invalid(f"{_PATH}[{i}]", now[i], IMMUTABLE) for i in changed]
    if (len(was), len(now)) != (1, 2):
        return [invalid(_PATH, (new.get("spec") or {}).get("cidrs"), IMMUTABLE)]
    first = [] if now[0] == was[0] else [invalid(f"{_PATH}[0]", now[0], IMMUTABLE)]
    return first + _errors(now)


def _cells(cidr: Object, now: float) -> list[Any]:
    return [printing.name_of(cidr), ",".join(_blocks(cidr)), printing.age(cidr, now)]


BEHAVIORS = [
    KindBehavior(
        kind=GroupKind(GROUP, "ServiceCIDR"),
        validate=lambda obj: _errors(_blocks(obj)),
        validate_update=_validate_update,
        prepare_for_status_update=keep_metadata,
        table=TableSpec(
            columns=(printing.NAME, Column("CIDRs", "string", "The ranges, one for each IP family."), printing.AGE),
            cells=_cells,
        ),
    )
]
