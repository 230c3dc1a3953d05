"""ComponentStatuses: how they show in tables."""

from __future__ import annotations

from typing import Any

from watchkeeper.apis import printing
from watchkeeper.apis.behavior import Column, KindBehavior, TableSpec
from watchkeeper.meta.gvk import GroupKind, GroupVersionKind

Object = dict[str, Any]


def _cells(component: Object, now: float) -> list[Any]:
    for condition in component.get("conditions") or ():
        if condition.get("type") == "Healthy":
            healthy = "Healthy" if condition.get("status") == "True" else "Unhealthy"
            return [
                printing.name_of(component),
                healthy,
                condition.get("message") or "",
                condition.get("error") or "",
            ]
    return [printing.name_of(component), "Unknown", "", ""]


BEHAVIORS = [
    KindBehavior(
        kind=GroupKind("", "ComponentStatus"),
        has_status=False,
        table=TableSpec(
            columns=(
                printing.NAME,
                Column("Status", "string", "Whether the component is healthy."),
                Column("Message", "string", "What it says about itself."),
                Column("Error", "string", "What went wrong when it was asked."),
            ),
            cells=_cells,
        ),
    )
]
WARNINGS = {GroupVersionKind("", "v1", "ComponentStatus"): "v1 ComponentStatus is deprecated in v1.19+"}
