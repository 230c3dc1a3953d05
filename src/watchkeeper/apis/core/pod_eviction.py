"""Evictions: whether disruption budgets let a Pod go, and what an eviction leaves behind.

The registry goes through these steps as kube-apiserver's eviction storage does: read the Pod; if `ignores_budgets`,
delete it; else find its budget, and unless `is_not_counted`, `take_disruption` and store the budget's status; then
`mark_evicted` and delete. Where `ignores_budgets` or `is_not_counted` decided, marking and deleting depend on the
version that was read, but for Pods that `has_ended` says are over.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from watchkeeper.apis.core.pod_conditions import is_ready, set_condition
from watchkeeper.apis.validation.selectors import selector_matches
from watchkeeper.meta import errors
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.field import FieldError, invalid
from watchkeeper.meta.gvk import GroupResource

Object = dict[str, Any]

NAME_MISMATCH = "name in URL does not match name in Eviction object"
SEVERAL_BUDGETS = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."

_VIOLATION = "Cannot evict pod as it would violate the pod's disruption budget."
_MAX_UNCONFIRMED = 2000
"""Evictions that the budget's controller may be behind with."""
_BUDGETS = GroupResource("policy", "poddisruptionbudget")
_UNREADABLE = "ignoreStoreReadErrorWithClusterBreakingPotential"


def delete_options(eviction: Mapping[str, Any], dry_run: list[str]) -> Object:
    """The options of the deletion: those in the eviction, with the request's `dryRun` where they have none.

    Raises ValueError when both say something and differ.
    """
    options = dict(eviction.get("deleteOptions") or {})
    own = options.get("dryRun") or []
    if not own:
        if dry_run:
            options["dryRun"] = dry_run
    elif dry_run and dry_run != own:
        shown = " and ".join(f"[{' '.join(values)}]" for values in (dry_run, own))
        raise ValueError(f"Non-matching dry-run options in request and content: {shown}")
    return options


def check_options(eviction: Mapping[str, Any]) -> list[FieldError]:
    """What is wrong with the options of the deletion: an eviction has to read the Pod."""
    if not (eviction.get("deleteOptions") or {}).get(_UNREADABLE):
        return []
    return [
        invalid(f"deleteOptions.{_UNREADABLE}", True, "can not be set for pod eviction, try after removing the option")
    ]


def has_ended(pod: Mapping[str, Any]) -> bool:
    """Whether a Pod is over or on its way: evicting it disrupts nothing."""
    phase = (pod.get("status") or {}).get("phase")
    return phase in ("Succeeded", "Failed") or bool(pod["metadata"].get("deletionTimestamp"))


def ignores_budgets(pod: Mapping[str, Any]) -> bool:
    """Whether a Pod goes whatever budgets say, because it does no work yet or any more."""
    return has_ended(pod) or (pod.get("status") or {}).get("phase") == "Pending"


def budgets_of(pod: Mapping[str, Any], budgets: Iterable[Object]) -> list[Object]:
    """Those of a namespace's budgets that cover a Pod."""
    labels = pod["metadata"].get("labels") or {}
    return [b for b in budgets if selector_matches((b.get("spec") or {}).get("selector"), labels)]


def is_not_counted(pod: Mapping[str, Any], budget: Mapping[str, Any]) -> bool:
    """Whether an unready Pod may go without being counted: its budget allows that, or is kept without it."""
    if is_ready(pod):
        return False
    if (budget.get("spec") or {}).get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    status = budget.get("status") or {}
    desired = status.get("desiredHealthy") or 0
    return desired > 0 and (status.get("currentHealthy") or 0) >= desired


def take_disruption(budget: Object, pod_name: str, now: str) -> None:
    """Count one disruption off a budget's status, in place, and note the Pod. `now` is in RFC 3339.

    Raises 429 when the budget allows none or is not up to date, and 403 when its status makes no sense.
    """
    name: str = budget["metadata"]["name"]
    status: Object = budget.setdefault("status", {})
    if (status.get("observedGeneration") or 0) < (budget["metadata"].get("generation") or 0):
        raise still_processed(name)
    allowed: int = status.get("disruptionsAllowed") or 0
    if allowed < 0:
        raise errors.forbidden(_BUDGETS, name, "pdb disruptions allowed is negative")
    disrupted = status.get("disruptedPods") or {}
    if len(disrupted) > _MAX_UNCONFIRMED:
        text = "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
        raise errors.forbidden(_BUDGETS, name, text)
    if not allowed:
        raise _refusal(_reason(name, status))
    status["disruptionsAllowed"] = allowed - 1
    if allowed == 1:
        _note_exhaustion(status, now)
    status["disruptedPods"] = {**disrupted, pod_name: now}


def still_processed(budget: str) -> ApiError:
    """429: the budget's controller has not seen its latest state; come back in ten seconds."""
    refusal = errors.too_many_requests(_VIOLATION, 10)
    cause = _cause(f"The disruption budget {budget} is still being processed by the server.")
    refusal.details = {**(refusal.details or {}), "causes": [cause]}
    return refusal


def mark_evicted(pod: Object, now: str) -> None:
    """Say in a Pod's status, in place, that it goes because of an eviction."""
    condition = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting",
    }
    set_condition(pod.setdefault("status", {}), condition, now)


def _cause(message: str) -> Object:
    return {"reason": "DisruptionBudget", "message": message}


def _refusal(message: str) -> ApiError:
    return ApiError(429, "TooManyRequests", _VIOLATION, details={"causes": [_cause(message)]})


def _reason(name: str, status: Mapping[str, Any]) -> str:
    """Why a budget allows nothing. A failed sync comes first: the numbers mean nothing then."""
    text = f"The disruption budget {name} does not allow evicting pods currently"
    condition = next((c for c in status.get("conditions") or () if c.get("type") == "DisruptionAllowed"), None)
    told = condition if condition and condition.get("status") == "False" and condition.get("message") else None
    if told is not None and told.get("reason") == "SyncFailed":
        return f"{text} because it failed sync: {told['message']}"
    current, desired = status.get("currentHealthy") or 0, status.get("desiredHealthy") or 0
    if current <= desired:
        return f"The disruption budget {name} needs {desired} healthy pods and has {current} currently"
    if told is not None:
        return f"{text} ({told.get('reason') or ''}): {told['message']}"
    return text


def _note_exhaustion(status: Object, now: str) -> None:
    condition = {
        "type": "DisruptionAllowed",
        "status": "False",
        "observedGeneration": status.get("observedGeneration") or 0,
        "lastTransitionTime": now,
        "reason": "InsufficientPods",
        "message": "",
    }
    if not condition["observedGeneration"]:
        del condition["observedGeneration"]
    kept = []
    for each in status.get("conditions") or ():
        if each.get("type") != "DisruptionAllowed":
            kept.append(each)
        elif each.get("status") == "False":
            condition["lastTransitionTime"] = each.get("lastTransitionTime")
    status["conditions"] = [*kept, condition]
