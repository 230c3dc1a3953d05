"""The rules of how fast a workload's pods are replaced."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from watchkeeper.apis.validation.internal_form import InternalForm, Reference
from watchkeeper.apis.validation.numbers import (
    int_or_percent_value,
    validate_nonnegative,
    validate_nonnegative_int_or_percent,
    validate_not_over_100_percent,
)
from watchkeeper.meta.field import FieldError, invalid, required

_ROLLING = Reference(maxUnavailable=("MaxUnavailable", 0), maxSurge=("MaxSurge", 0))
STRATEGY_FORM: InternalForm = {"type": ("Type", ""), "rollingUpdate": ("RollingUpdate", _ROLLING)}
"""How errors show the strategy of a Deployment or DaemonSet."""


def validate_rolling_deployment(rolling: Mapping[str, Any], path: str) -> list[FieldError]:
    """The rolling update of a Deployment: surge and unavailability, not both zero."""
    unavailable, surge = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
    errors = validate_nonnegative_int_or_percent(unavailable, f"{path}.maxUnavailable")
    errors += validate_nonnegative_int_or_percent(surge, f"{path}.maxSurge")
    if int_or_percent_value(unavailable) == 0 and int_or_percent_value(surge) == 0:
        errors.append(invalid(f"{path}.maxUnavailable", unavailable, "may not be 0 when `maxSurge` is 0"))
    return errors + validate_not_over_100_percent(unavailable, f"{path}.maxUnavailable")


def validate_rolling_daemon_set(rolling: Mapping[str, Any], path: str) -> list[FieldError]:
    """The rolling update of a DaemonSet: exactly one of surge and unavailability."""
    unavailable, surge = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
    errors = validate_nonnegative_int_or_percent(unavailable, f"{path}.maxUnavailable")
    errors += validate_nonnegative_int_or_percent(surge, f"{path}.maxSurge")
    errors += validate_not_over_100_percent(unavailable, f"{path}.maxUnavailable")
    errors += validate_not_over_100_percent(surge, f"{path}.maxSurge")
    has_unavailable, has_surge = int_or_percent_value(unavailable) != 0, int_or_percent_value(surge) != 0
    if has_unavailable and has_surge:
        errors.append(invalid(f"{path}.maxSurge", surge, "may not be set when maxUnavailable is non-zero"))
    elif not has_unavailable and not has_surge:
        errors.append(required(f"{path}.maxUnavailable", "cannot be 0 when maxSurge is 0"))
    return errors


def validate_rolling_stateful_set(rolling: Mapping[str, Any], path: str) -> list[FieldError]:
    """The rolling update of a StatefulSet."""
    errors = validate_nonnegative(rolling.get("partition"), f"{path}.partition")
    unavailable = rolling.get("maxUnavailable")
    if unavailable is not None:
        at = f"{path}.maxUnavailable"
        errors += validate_nonnegative_int_or_percent(unavailable, at)
        if int_or_percent_value(unavailable) == 0:
            errors.append(invalid(at, unavailable, "cannot be 0"))
        errors += validate_not_over_100_percent(unavailable, at)
    return errors
