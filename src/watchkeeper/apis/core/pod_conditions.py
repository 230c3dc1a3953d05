"""The conditions in a Pod's status."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Object = dict[str, Any]


def set_condition(status: Object, condition: Mapping[str, Any], now: str) -> None:
    """Add a condition to a Pod's status, in place, or replace the one of its type.

    `now` (RFC 3339) becomes the transition time unless the condition was in this state already.
    """
    found = find_condition(status, condition["type"])
    stamped = {"lastProbeTime": None, "lastTransitionTime": now, **condition}
    if found is None:
        status["conditions"] = [*(status.get("conditions") or ()), stamped]
        return
    if found.get("status") == condition.get("status"):
        stamped["lastTransitionTime"] = found.get("lastTransitionTime")
    status["conditions"] = [stamped if each is found else each for each in status["conditions"]]


def find_condition(status: Mapping[str, Any], kind: str) -> Object | None:
    """The first condition of a type."""
    for condition in status.get("conditions") or ():
        if condition.get("type") == kind:
            found: Object = condition
            return found
    return None


def is_ready(pod: Mapping[str, Any]) -> bool:
    """Whether a Pod's condition Ready is true."""
    condition = find_condition(pod.get("status") or {}, "Ready")
    return condition is not None and condition.get("status") == "True"
