"""The conditions in a definition's status."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]

ESTABLISHED = "Established"
NAMES_ACCEPTED = "NamesAccepted"
NON_STRUCTURAL = "NonStructuralSchema"
TERMINATING = "Terminating"
API_APPROVED = "KubernetesAPIApprovalPolicyConformant"


def find_condition(definition: Object, kind: str) -> Object | None:
    """The condition of a type, None when there is none."""
    conditions = (definition.get("status") or {}).get("conditions") or []
    return next((c for c in conditions if c.get("type") == kind), None)


def is_true(definition: Object, kind: str) -> bool:
    """Whether a condition is there and True."""
    found = find_condition(definition, kind)
    return found is not None and found.get("status") == "True"


def is_false(definition: Object, kind: str) -> bool:
    """Whether a condition is there and False."""
    found = find_condition(definition, kind)
    return found is not None and found.get("status") == "False"


def condition(kind: str, status: str, reason: str, message: str) -> Object:
    """A condition, without the time of its last transition."""
    return {"type": kind, "status": status, "reason": reason, "message": message}


def set_condition(definition: Object, new: Object, now: str) -> None:
    """Set a condition in place; `now` becomes its transition time if its status changes."""
    status = definition.setdefault("status", {})
    if not status.get("conditions"):
        status["conditions"] = []
    found = find_condition(definition, new["type"])
    if found is None:
        status["conditions"].append({"type": new["type"], "status": new["status"], "lastTransitionTime": now,
                                     "reason": new["reason"], "message": new["message"]})  # fmt: skip
        return
    if found.get("status") != new["status"] or not found.get("lastTransitionTime"):
        found["lastTransitionTime"] = now
    found.update(status=new["status"], reason=new["reason"], message=new["message"])


def remove_condition(definition: Object, kind: str) -> None:
    """Remove a condition, if it is there."""
    status = definition.get("status") or {}
    if status.get("conditions"):
        status["conditions"] = [c for c in status["conditions"] if c.get("type") != kind]


def same_condition(definition: Object, new: Object) -> bool:
    """Whether the condition is there and says what `new` says."""
    found = find_condition(definition, new["type"])
    if found is None:
        return False
    return all(found.get(key) == new[key] for key in ("status", "reason", "message"))
