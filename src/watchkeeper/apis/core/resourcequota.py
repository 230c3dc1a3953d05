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
from watchkeeper.apis.quantities import amount, round_resources
from watchkeeper.meta.gvk import GroupKind, GroupVersionKind

Object = dict[str, Any]


def default_quota(quota: Object) -> None:
    """Quantities are rounded up to thousandths."""
    round_resources((quota.get("spec") or {}).get("hard"))
    status = quota.get("status") or {}
    round_resources(status.get("hard"))
    round_resources(status.get("used"))


def _warnings(quota: Object) -> list[str]:
    """Requests that may be more than limits."""
    hard = (quota.get("spec") or {}).get("hard") or {}
    found: list[str] = []
    for name in _COMPARED:
        asked = next((each for each in (f"requests.{name}", *_BARE.get(name, ())) if each in hard), "")
        limit = f"limits.{name}"
        if asked and limit in hard and amount(hard[asked]) > amount(hard[limit]):
            found.append(f"ResourceQuota {asked} ({hard[asked]}) should be less than {limit} ({hard[limit]})")
    return found


_COMPARED = ("cpu", "memory", "storage", "ephemeral-storage")
_BARE = {"cpu": ("cpu",), "memory": ("memory",)}
"""What requests are also called."""


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
        warnings_on_create=_warnings,
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
