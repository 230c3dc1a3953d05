"""Deletion, decided: what a DELETE does to an object, given its state and the options. No effects here.

The rules are those of apiserver's `rest.BeforeDelete` and of the generic registry's handling of finalizers.
"""

from __future__ import annotations

import calendar
import enum
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from watchkeeper.apis.behavior import KindBehavior
from watchkeeper.meta import errors
from watchkeeper.meta.gvk import GroupResource, GroupVersionKind
from watchkeeper.registry.metadata import now_text
from watchkeeper.registry.rest import DeleteOptions

Object = dict[str, Any]

ORPHAN = "orphan"
FOREGROUND = "foregroundDeletion"


class Outcome(enum.Enum):
    """What is to happen."""

    REMOVE = "remove"
    """Take it out of storage now."""
    MARK = "mark"
    """Store it with the new metadata; it stays until its finalizers or its grace period are through."""
    MARK_AND_REMOVE = "mark and remove"
    """Store it with the new metadata, then remove it: a graceful kind that is given no time."""
    PENDING = "pending"
    """It is being deleted already; nothing changes."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The outcome, and for MARK and MARK_AND_REMOVE the metadata to store."""

    outcome: Outcome
    metadata: Object | None = None


def decide(obj: Object, options: DeleteOptions, behavior: KindBehavior, kind: GroupVersionKind) -> Decision:
    """Decide on a deletion; settles the grace period in `options` for graceful kinds. Raises Conflict."""
    meta = obj["metadata"]
    _check_preconditions(meta, options, kind)
    if options.grace_period_seconds is not None and options.grace_period_seconds < 0:
        options.grace_period_seconds = 1
    graceful, pending, times = _grace(obj, options, behavior)
    if pending:
        return Decision(Outcome.PENDING)
    finalizers = finalizers_for(meta.get("finalizers") or (), options, behavior)
    changed = dict(meta, **times)
    if finalizers:
        changed["finalizers"] = finalizers
    else:
        changed.pop("finalizers", None)
    if graceful:
        immediate = not options.grace_period_seconds and not finalizers
        return Decision(Outcome.MARK_AND_REMOVE if immediate else Outcome.MARK, changed)
    if finalizers:
        _mark_as_deleting(changed)
        return Decision(Outcome.MARK, changed)
    return Decision(Outcome.REMOVE)


def _check_preconditions(meta: Object, options: DeleteOptions, kind: GroupVersionKind) -> None:
    resource, name = GroupResource(kind.group, kind.kind), meta.get("name", "")
    if options.uid is not None and options.uid != meta.get("uid"):
        raise errors.conflict(
            resource,
            name,
            f"the UID in the precondition ({options.uid}) does not match the UID in record ({meta.get('uid')})."
            " The object might have been deleted and then recreated",
        )
    if options.resource_version is not None and options.resource_version != meta.get("resourceVersion"):
        raise errors.conflict(
            resource,
            name,
            f"the ResourceVersion in the precondition ({options.resource_version}) does not match the"
            f" ResourceVersion in record ({meta.get('resourceVersion')}). The object might have been modified",
        )


def _grace(obj: Object, options: DeleteOptions, behavior: KindBehavior) -> tuple[bool, bool, Object]:
    """(graceful, pending, metadata changes) as rest.BeforeDelete has them."""
    if behavior.grace_period is None:
        return False, False, {}
    meta = obj["metadata"]
    if meta.get("deletionTimestamp") is not None:
        return _shorten(meta, options)
    period = behavior.grace_period(obj, options.as_mapping())
    if period is None:
        return False, False, {}
    options.grace_period_seconds = period
    times: Object = {
        "deletionTimestamp": now_text(time.time() + period),
        "deletionGracePeriodSeconds": period,
    }
    if meta.get("generation"):
        times["generation"] = meta["generation"] + 1
    return True, False, times


def _shorten(meta: Object, options: DeleteOptions) -> tuple[bool, bool, Object]:
    """A second deletion may only bring the end nearer."""
    current = meta.get("deletionGracePeriodSeconds")
    if not current:
        # What is given no time should be gone already: whoever deletes it again ends it.
        return False, False, {}
    if current < 0:
        current = 1
    period = options.grace_period_seconds
    if period is None:
        options.grace_period_seconds = current
        return False, True, {}
    if period >= current:
        return False, True, {}
    end = calendar.timegm(time.strptime(meta["deletionTimestamp"], "%Y-%m-%dT%H:%M:%SZ")) - current + period
    if end < time.time():
        end, period = int(time.time()), min(period, 1)
    return True, False, {"deletionTimestamp": now_text(end), "deletionGracePeriodSeconds": period}


def _mark_as_deleting(meta: Object) -> None:
    if meta.get("deletionTimestamp") is None:
        if meta.get("generation"):
            meta["generation"] += 1
        meta["deletionTimestamp"] = now_text()
    elif meta["deletionTimestamp"] > now_text():
        meta["deletionTimestamp"] = now_text()
    meta["deletionGracePeriodSeconds"] = 0


def finalizers_for(current: Sequence[str], options: DeleteOptions, behavior: KindBehavior) -> list[str]:
    """The finalizers that the options leave an object with: its own, and the garbage collector's as asked."""
    kept = [f for f in current if f not in (ORPHAN, FOREGROUND)]
    if should_orphan(current, options, behavior):
        kept.append(ORPHAN)
    if should_delete_dependents(current, options, behavior):
        kept.append(FOREGROUND)
    return list(current) if set(kept) == set(current) else kept


def should_orphan(current: Sequence[str], options: DeleteOptions, behavior: KindBehavior) -> bool:
    """Whether dependents stay: as the options say, else as a finalizer says, else as the kind does by default."""
    if behavior.default_propagation == "Unsupported":
        return False
    if options.orphan_dependents is not None:
        return options.orphan_dependents
    if options.propagation_policy is not None:
        return options.propagation_policy == "Orphan"
    if ORPHAN in current:
        return True
    if FOREGROUND in current:
        return False
    return behavior.default_propagation == "Orphan"


def should_delete_dependents(current: Sequence[str], options: DeleteOptions, behavior: KindBehavior) -> bool:
    """Whether dependents go first (foreground deletion)."""
    if behavior.default_propagation == "Unsupported":
        return False
    if options.orphan_dependents is not None:
        return False
    if options.propagation_policy is not None:
        return options.propagation_policy == "Foreground"
    return FOREGROUND in current


def removed_by_update(new: Object, old: Object) -> bool:
    """Whether an update takes the last finalizer off an object that is due to go, and so removes it."""
    if new.get("finalizers") or old.get("deletionTimestamp") is None:
        return False
    return not old.get("deletionGracePeriodSeconds")
