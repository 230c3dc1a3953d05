"""What writers of a status may not change of an object's metadata, for kinds that say so."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]

_KEPT = ("annotations", "deletionTimestamp", "finalizers", "generation", "labels", "ownerReferences")


def keep_metadata(new: Object, old: Object) -> None:
    """Put all metadata but managedFields and what identifies the object back to what it was."""
    meta, was = new["metadata"], old["metadata"]
    for name in _KEPT:
        if name in was:
            meta[name] = was[name]
        else:
            meta.pop(name, None)
