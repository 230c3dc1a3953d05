"""ResourceQuotas."""

from __future__ import annotations

from typing import Any

from watchkeeper.apis import printing
from watchkeeper.apis.behavior import Column, KindBehavior, TableSpec
from watchkeeper.apis.core.resourcequota_validation import (
    validate_quota,
    validate_quota_status,
    validate_quota_update,
)
from watchkeeper.apis.quantities import round_resources
from watchkeeper.meta.gvk import GroupKind, GroupVersionKind

Object = dict[str, Any]


def default_quota(quota: Object) -> None:
    """Quantities are rounded up to thousandths."""
    round_resources((quota.get("spec") or {}).get("hard"))
    status = quota.get("status") or {}
    round_resources(status.get("hard"))
    round_resources(status.get("used"))


def _cells(quota: Object, now: float) -> list[Any]:
    status = quota.get("status") or {}
    used = status.get("used") or {}
    requests: list[str] = []
    limits: list[str] = []
    for name, hard in sorted((status.get("hard") or {}).items()):
        column = limits if name.startswith("limits.") else requests
        column.append(f"{name}: {used.get(name, '0')}/{hard}")
    return [printing.name_of(quota), ", ".join(requests), ", ".join(limits), printing.age(quota, now)]


BEHAVIORS = [
    KindBehavior(
        kind=GroupKind("", "ResourceQuota"),
        validate=validate_quota,
        validate_update=validate_quota_update,
        validate_status_update=lambda new, _old: validate_quota_status(new),
        table=TableSpec(
            columns=(
                printing.NAME,
                Column("Request", "string", "What is used of what may be requested or created."),
                Column("Limit", "string", "What is used of what may be set as limits."),
                printing.AGE,
            ),
            cells=_cells,
        ),
    )
]
DEFAULTS = {GroupVersionKind("", "v1", "ResourceQuota"): default_quota}
