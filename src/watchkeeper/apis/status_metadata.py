"""What writers of a status may not change of an object's metadata, for kinds that say so."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

Object = dict[str, Any]

_ABOUT = ("annotations", "finalizers", "labels", "ownerReferences")
_KEPT = (*_ABOUT, "deletionTimestamp", "generation")


def keep_metadata(new: Object, old: Object) -> None:
    """Put all metadata but managedFields and what identifies the object back to what it was."""
    _keep(new["metadata"], old["metadata"], _KEPT)


def keep_metadata_but_times(new: Object, old: Object) -> None:
    """The same, but for the time of a deletion, which is refused then."""
    _keep(new["metadata"], old["metadata"], _ABOUT)


def _keep(meta: Object, was: Object, names: Iterable[str]) -> None:
    for name in names:
        if name in was:
            meta[name] = was[name]
        else:
            meta.pop(name, None)


def keep_all_metadata(new: Object, old: Object) -> None:
    """Put all metadata but managedFields back to what it was."""
    meta, owners = new["metadata"], new["metadata"].get("managedFields")
    meta.clear()
    meta.update(old["metadata"])
    if owners is not None:
        meta["managedFields"] = owners
    else:
        meta.pop("managedFields", None)
