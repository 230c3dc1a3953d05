"""The metadata of stored custom resources, which others may have written before anybody checked it."""

from __future__ import annotations

import re
from typing import Any

from watchkeeper.apiextensions.schema.embedded import well_formed_metadata

Object = dict[str, Any]

_TEXTS = frozenset({"name", "namespace", "uid", "generateName", "resourceVersion", "selfLink"})
_TIMES = frozenset({"creationTimestamp", "deletionTimestamp"})
_COUNTS = frozenset({"generation", "deletionGracePeriodSeconds"})
_MAPS = frozenset({"labels", "annotations"})
_ENTRIES = {
    "ownerReferences": frozenset({"apiVersion", "kind", "name", "uid"}),
    "managedFields": frozenset({"apiVersion", "fieldsType", "manager", "operation", "subresource", "time"}),
}
"""What is a text in the entries of a list."""
_ENTRY_CLASSES = {"controller": bool, "blockOwnerDeletion": bool, "fieldsV1": dict}

_is_time = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ").fullmatch


def readable_metadata(metadata: Object) -> Object:
    """The metadata without what cannot be read. What is well formed, as nearly all is, is only looked at."""
    for name, value in metadata.items():
        if not _is_ordinary(name, value):
            found = well_formed_metadata(metadata)
            if found.get("generation") == 0:
                del found["generation"]
            return found
    return metadata


def _is_ordinary(name: str, value: Any) -> bool:
    """Whether a field is as a server writes it. It may be fine if it is not."""
    kind = value.__class__
    if kind is str:
        return name in _TEXTS or (name in _TIMES and _is_time(value) is not None)
    if kind is int:
        return name in _COUNTS and value > 0
    if kind is dict:
        return name in _MAPS and all(each.__class__ is str for each in value.values())
    if kind is list:
        if name == "finalizers":
            return all(each.__class__ is str for each in value)
        texts = _ENTRIES.get(name)
        return texts is not None and all(_is_ordinary_entry(each, texts) for each in value)
    return False


def _is_ordinary_entry(entry: Any, texts: frozenset[str]) -> bool:
    if entry.__class__ is not dict:
        return False
    for name, value in entry.items():
        kind = value.__class__
        if kind is str:
            if name not in texts or (name == "time" and _is_time(value) is None):
                return False
        elif _ENTRY_CLASSES.get(name) is not kind:
            return False
    return True
