"""Writes that change nothing but the times of a record: they are undone, so that they need no new version."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]


def keep_times_of_unchanged(new: Object, old: Object) -> None:
    """Give the record of `new`, in place, the times of `old` when the objects are otherwise the same."""
    metadata, before = new["metadata"], old["metadata"]
    ours, theirs = metadata.get("managedFields"), before.get("managedFields")
    if not ours or not theirs or len(ours) != len(theirs):
        return
    # What nearly every update changes is looked at first.
    if not (_same_but(new, old, "metadata") and _same_but(metadata, before, "managedFields")):
        return
    pairs = list(zip(ours, theirs, strict=True))
    if all(_time(entry) == _time(before) for entry, before in pairs):
        return
    if all(_untimed(entry) == _untimed(before) for entry, before in pairs):
        metadata["managedFields"] = theirs


def _same_but(new: Object, old: Object, left_out: str) -> bool:
    """Whether two objects, both with the field that is left out, have the same in all others."""
    if len(new) != len(old):
        return False
    for name, value in new.items():
        before = old.get(name, old)
        if value is not before and value != before and name != left_out:
            return False
    return True


def _time(entry: Object | None) -> Any:
    return entry and entry.get("time")


def _untimed(entry: Object | None) -> Object:
    return {name: value for name, value in (entry or {}).items() if name != "time"}
