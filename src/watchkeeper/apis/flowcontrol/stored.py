"""Priority levels as they were stored before v1: the number of shares had another name, and none meant 30."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]

_DEFAULT_SHARES = 30
_ZERO_IS_MEANT = "flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares"


def level_of_assured_shares(level: Object) -> Object:
    """A PriorityLevelConfiguration of v1beta1 or v1beta2 as v1 has it. Consumes it."""
    limited = (level.get("spec") or {}).get("limited")
    if limited is not None:
        limited["nominalConcurrencyShares"] = limited.pop("assuredConcurrencyShares", 0) or _DEFAULT_SHARES
    return level


def level_of_v1beta3(level: Object) -> Object:
    """A PriorityLevelConfiguration of v1beta3, with an annotation if none is meant, as v1 has it. Consumes it."""
    limited = (level.get("spec") or {}).get("limited")
    annotations = (level.get("metadata") or {}).get("annotations") or {}
    zero_is_meant = annotations.pop(_ZERO_IS_MEANT, None) is not None
    if limited is not None and not limited.get("nominalConcurrencyShares"):
        limited["nominalConcurrencyShares"] = 0 if zero_is_meant else _DEFAULT_SHARES
    return level
