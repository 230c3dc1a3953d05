"""The record of a Scale: what the owners of an object own of its replicas, seen through the scale subresource."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from watchkeeper.meta.errors import ApiError
from watchkeeper.runtime.managedfields.entries import EntryError, Managed, Owned, decode, encode
from watchkeeper.runtime.managedfields.field_set import FieldSet, difference, has, of_paths
from watchkeeper.runtime.managedfields.path import Path

Object = dict[str, Any]

SCALE_VERSION = "autoscaling/v1"
_REPLICAS_IN_SCALE: Path = ("f:spec", "f:replicas")
REPLICAS_PATH: Path = _REPLICAS_IN_SCALE
"""Where built-in kinds have their replicas."""


class ScaleRecord:
    """Turns the record of an object into that of its Scale, and back after a write of the Scale."""

    def __init__(self, entries: list[Object] | None, version: str, paths: Mapping[str, Path | None]) -> None:
        """`entries` are the object's, at whose `version` the Scale is written; `paths` says where the replicas are.

        Entries of versions that `paths` does not name are dropped. A None path is a version without a scale.
        """
        self._managed = _decoded(entries)
        self._version = version
        self._paths = paths

    def to_scale(self) -> list[Object]:
        """The record of the Scale."""
        found: Managed = {}
        for identity, owned in self._managed.items():
            path = self._paths.get(owned.api_version)
            if path is not None and has(owned.fields, path):
                fields = of_paths([_REPLICAS_IN_SCALE])
                found[identity] = Owned(fields, SCALE_VERSION, owned.time, owned.applied)
        return encode(found)

    def to_object(self, scale_entries: list[Object] | None) -> list[Object]:
        """The record of the object after its Scale has been written with a record of its own."""
        scaled = _decoded(scale_entries)
        found: Managed = {}
        for identity, owned in self._managed.items():
            if owned.api_version not in self._paths:
                continue
            path = self._paths[owned.api_version]
            if path is None or not has(owned.fields, path):
                found[identity] = owned
            elif identity in scaled:
                found[identity] = owned
                del scaled[identity]
            else:
                # Somebody else has written the replicas meanwhile.
                fields = difference(owned.fields, of_paths([path]))
                if fields:
                    found[identity] = owned.with_fields(fields)
        for identity, owned in scaled.items():
            if has(owned.fields, _REPLICAS_IN_SCALE):
                before = self._managed.get(identity)
                time = before.time if before is not None else None
                found[identity] = Owned(self._replicas(), self._version, time, owned.applied)
        return encode(found)

    def _replicas(self) -> FieldSet:
        path = self._paths.get(self._version)
        return of_paths([path] if path is not None else [])


def _decoded(entries: list[Object] | None) -> Managed:
    try:
        return decode(entries, trusted=True)
    except EntryError as error:
        raise ApiError(500, "", str(error)) from error
