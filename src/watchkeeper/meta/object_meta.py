"""The metadata that objects of every kind have."""

from __future__ import annotations

OBJECT_META = (
    *("name", "generateName", "namespace", "selfLink", "uid", "resourceVersion", "generation", "creationTimestamp"),
    *("deletionTimestamp", "deletionGracePeriodSeconds", "labels", "annotations", "ownerReferences", "finalizers"),
    "managedFields",
)
"""Its fields, in the order of Go's ObjectMeta, which is the order in which they are checked and shown."""


def object_meta_without(*names: str) -> tuple[str, ...]:
    """The other fields, in order."""
    return tuple(name for name in OBJECT_META if name not in names)
