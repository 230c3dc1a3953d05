"""Records of updates that leave all fields with who owns them: a heartbeat changes its own fields again and again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from watchkeeper.runtime.managedfields.capping import MAX_UPDATERS
from watchkeeper.runtime.managedfields.entries import APPLY, UPDATE, ManagerId, entry_order
from watchkeeper.runtime.managedfields.field_set import FieldSet, covers, difference

Object = dict[str, Any]

_OPERATIONS = (APPLY, UPDATE)


def renewed(entries: Any, changed: FieldSet, updater: ManagerId, now: Callable[[], str]) -> list[Object] | None:
    """The entries after `updater` has modified, and not removed, some fields: as they are, but for the time of its own.

    `entries` are what is stored, and not changed. None when more might have to be changed: the updater does not own
    all of `changed`, others own some of it, or there are other versions.
    """
    if not entries or len(entries) > MAX_UPDATERS:
        return None
    own = None
    for entry in entries:
        if not _is_readable(entry, updater.api_version):
            return None
        fields = entry["fieldsV1"]
        if _is_of(entry, updater):
            if own is not None or not covers(fields, changed):
                return None
            own = entry
        elif difference(fields, changed) is not fields:
            return None
    if not changed:
        return list(entries)
    if own is None:
        return None
    time = now()
    found = [{**entry, "time": time} if entry is own else entry for entry in entries]
    if len(found) > 1:
        found.sort(key=entry_order)
    return found


def _is_readable(entry: Any, api_version: str) -> bool:
    """Whether an entry is as this server writes them, at a version."""
    return (
        entry.__class__ is dict
        and entry.get("apiVersion") == api_version
        and entry.get("fieldsType") == "FieldsV1"
        and bool(entry.get("fieldsV1"))
        and entry.get("operation") in _OPERATIONS
    )


def _is_of(entry: Object, updater: ManagerId) -> bool:
    return (
        entry["operation"] == UPDATE
        and entry.get("manager") == updater.manager
        and (entry.get("subresource") or "") == updater.subresource
    )
