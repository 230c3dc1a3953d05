"""DeleteOptions as requests and evictions give them, checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from watchkeeper.meta import errors
from watchkeeper.meta.field import FieldError, invalid, not_supported
from watchkeeper.meta.gvk import GroupKind
from watchkeeper.registry.rest import DeleteOptions

_KIND = GroupKind("meta.k8s.io", "DeleteOptions")
IGNORE_READ_ERRORS = "ignoreStoreReadErrorWithClusterBreakingPotential"
"""The option that a DELETE asks with for the removal of what cannot be read."""
_POLICIES = ["Foreground", "Background", "Orphan"]


def read_delete_options(body: Mapping[str, Any]) -> DeleteOptions:
    """DeleteOptions as decoded from a body. Raises a 422 for what is unknown or contradicts itself."""
    policy, orphan, dry_run = body.get("propagationPolicy"), body.get("orphanDependents"), body.get("dryRun") or []
    wrong = [*_policy_errors(policy, orphan), *dry_run_errors(dry_run)]
    if wrong:
        raise errors.invalid(_KIND, "", wrong)
    preconditions = body.get("preconditions") or {}
    return DeleteOptions(
        grace_period_seconds=body.get("gracePeriodSeconds"),
        uid=preconditions.get("uid"),
        resource_version=preconditions.get("resourceVersion"),
        orphan_dependents=orphan,
        propagation_policy=policy,
        dry_run=bool(dry_run),
        ignore_store_read_error=bool(body.get(IGNORE_READ_ERRORS)),
        has_preconditions=body.get("preconditions") is not None,
    )


def dry_run_errors(values: list[str]) -> list[FieldError]:
    """What is wrong with the stages that are to be left out."""
    return [not_supported("dryRun", values, ["All"])] if any(value != "All" for value in values) else []


def _policy_errors(policy: str | None, orphan_dependents: bool | None) -> list[FieldError]:
    """What is wrong with how a deletion is to treat dependents."""
    wrong: list[FieldError] = []
    if orphan_dependents is not None and policy is not None:
        why = "orphanDependents and deletionPropagation cannot be both set"
        wrong.append(invalid("propagationPolicy", policy, why))
    if policy is not None and policy not in _POLICIES:
        wrong.append(not_supported("propagationPolicy", policy, [*_POLICIES, "nil"]))
    return wrong


def check_unsafe(options: DeleteOptions) -> None:
    """Raise a 422 for what cannot be asked for together with the removal of an object that cannot be read."""
    others = {
        "dryRun": options.dry_run or None,
        "propagationPolicy": options.propagation_policy,
        "orphanDependents": options.orphan_dependents,
        "gracePeriodSeconds": options.grace_period_seconds,
        "preconditions": options.has_preconditions or None,
    }
    given = [name for name, value in others.items() if value is not None]
    wrong = [invalid(IGNORE_READ_ERRORS, True, f"cannot be set together with .{name}") for name in given]
    if wrong:
        raise errors.invalid(_KIND, "", wrong)
