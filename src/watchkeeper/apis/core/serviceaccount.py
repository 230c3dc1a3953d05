"""ServiceAccounts."""

from __future__ import annotations

from typing import Any

from watchkeeper.apis import printing
from watchkeeper.apis.behavior import KindBehavior, TableSpec
from watchkeeper.meta.gvk import GroupKind

Object = dict[str, Any]

_ENFORCE_MOUNTABLE = "kubernetes.io/enforce-mountable-secrets"
_ENFORCE_WARNING = (
    f"metadata.annotations[{_ENFORCE_MOUNTABLE}]: deprecated in v1.32+;"
    " prefer separate namespaces to isolate access to mounted secrets"
)


def clean_secrets(account: Object) -> None:
    """Of references to secrets only the names are kept."""
    secrets = account.get("secrets")
    if secrets:
        account["secrets"] = [{"name": ref["name"]} if ref.get("name") else {} for ref in secrets]


def _is_enforced(account: Object) -> bool:
    return _ENFORCE_MOUNTABLE in (account["metadata"].get("annotations") or {})


def _warnings(account: Object) -> list[str]:
    return [_ENFORCE_WARNING] if _is_enforced(account) else []


def _cells(account: Object, now: float) -> list[Any]:
    return [printing.name_of(account), printing.age(account, now)]


BEHAVIORS = [
    KindBehavior(
        kind=GroupKind("", "ServiceAccount"),
        prepare_for_create=clean_secrets,
        prepare_for_update=lambda new, _old: clean_secrets(new),
        warnings_on_create=_warnings,
        warnings_on_update=lambda new, old: [] if _is_enforced(old) else _warnings(new),
        has_status=False,
        table=TableSpec(columns=(printing.NAME, printing.AGE), cells=_cells),
    )
]
