"""ServiceAccounts."""

from __future__ import annotations

from typing import Any

from watchkeeper.apis import printing
from watchkeeper.apis.behavior import KindBehavior, TableSpec
from watchkeeper.meta.gvk import GroupKind

Object = dict[str, Any]


def _cells(obj: Object, now: float) -> list[Any]:
    return [printing.name_of(obj), printing.age(obj, now)]


BEHAVIORS = [
    KindBehavior(
        kind=GroupKind("", "ServiceAccount"),
        has_status=False,
        table=TableSpec(columns=(printing.NAME, printing.AGE), cells=_cells),
    )
]
