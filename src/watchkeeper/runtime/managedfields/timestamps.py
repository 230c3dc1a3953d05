"""Writes that change nothing but the times of a record: they are undone, so that they need no new version."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]


def keep_times_of_unchanged(new: Object, old: Object) -> None:
    """Give the record of `new`, in place, the times of `old` when the objects are otherwise the same."""
    ours, theirs = new["metadata"].get("managedFields"), old["metadata"].get("managedFields")
    if not ours or not theirs or len(ours) != len(theirs):
        return
    pairs = list(zip(ours, theirs, strict=True))
    if all(entry.get("time") == before.get("time") for entry, before in pairs):
        return
    if any(_untimed(entry) != _untimed(before) for entry, before in pairs):
        return
    if _without_record(new) == _without_record(old):
        new["metadata"]["managedFields"] = theirs


def _untimed(entry: Object) -> Object:
    return {name: value for name, value in entry.items() if name != "time"}


def _without_record(obj: Object) -> Object:
    return {**obj, "metadata": {name: value for name, value in obj["metadata"].items() if name != "managedFields"}}
