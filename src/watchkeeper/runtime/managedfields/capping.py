"""Keeping the number of entries small: the oldest updaters of an object are merged into one entry per version."""

from __future__ import annotations

from watchkeeper.runtime.managedfields.entries import UPDATE, Managed, ManagerId, Owned
from watchkeeper.runtime.managedfields.field_set import FieldSet, union_of

MAX_UPDATERS = 10
ANCIENT = "ancient-changes"


def cap_updaters(managed: Managed, limit: int = MAX_UPDATERS) -> None:
    """Merge the oldest updaters, in place, until no more than `limit` are left, or nothing more can be merged."""
    if len(managed) <= limit:
        return
    updaters = [identity for identity, owned in managed.items() if not owned.applied]
    excess = len(updaters) - limit
    if excess <= 0:
        return
    updaters.sort(key=lambda identity: (managed[identity].time or "", identity.text()))
    first_of: dict[str, ManagerId] = {}
    merged: dict[ManagerId, list[FieldSet]] = {}
    for identity in updaters:
        if excess <= 0:
            break
        owned = managed[identity]
        first = first_of.setdefault(owned.api_version, identity)
        if first == identity:
            continue
        bucket = ManagerId(ANCIENT, UPDATE, owned.api_version, "")
        if identity == bucket:
            # As in the reference, the bucket is merged into itself and then removed when an updater sorts before it.
            del managed[bucket]
            merged.pop(bucket, None)
        else:
            if bucket not in managed:
                managed[bucket] = managed.pop(first)
            _merge_into(managed, bucket, managed.pop(identity), merged)
        excess -= 1
    for bucket, more in merged.items():
        kept = managed[bucket]
        managed[bucket] = kept._replace(fields=union_of([kept.fields, *more]))


def _merge_into(managed: Managed, bucket: ManagerId, owned: Owned, merged: dict[ManagerId, list[FieldSet]]) -> None:
    """Add an updater to a bucket, which takes its time; its fields are noted in `merged`, to be added at once."""
    managed[bucket] = managed[bucket]._replace(time=owned.time, entry=None)
    merged.setdefault(bucket, []).append(owned.fields)
