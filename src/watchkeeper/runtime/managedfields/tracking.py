"""What updating and applying share: the versions of one kind, and the record of an update."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Mapping
from typing import Any

import orjson

from watchkeeper.runtime.alike import EXACT, KnownSpec
from watchkeeper.runtime.managedfields.capping import cap_updaters
from watchkeeper.runtime.managedfields.entries import UPDATE, Managed, ManagerId, Owned, encode, manager_id
from watchkeeper.runtime.managedfields.field_set import FieldSet, difference, of_paths, ordered, union
from watchkeeper.runtime.managedfields.filters import Filter
from watchkeeper.runtime.managedfields.foreign import Foreign
from watchkeeper.runtime.managedfields.nodes import MapNode, NodeTable
from watchkeeper.runtime.managedfields.renewal import renewed
from watchkeeper.runtime.managedfields.updater import Comparisons, Updater, without_changes
from watchkeeper.runtime.managedfields.validate import may_lack_keys
from watchkeeper.runtime.managedfields.versions import Versions
from watchkeeper.runtime.scheme import Kind, Scheme
from watchkeeper.runtime.timestamps import time_text
from watchkeeper.runtime.zero import zero_struct

Object = dict[str, Any]

_SYSTEM_METADATA = frozenset(
    {
        "name",
        "namespace",
        "creationTimestamp",
        "selfLink",
        "uid",
        "clusterName",
        "generation",
        "managedFields",
        "resourceVersion",
    }
)
_MAPS_OF_TEXTS = ("labels", "annotations")
_MAX_AROUND = 2048
_SPEC = "f:spec"
NEVER_OWNED: FieldSet = of_paths(
    [
        ("f:apiVersion",),
        ("f:kind",),
        ("f:metadata",),
        *(("f:metadata", f"f:{name}") for name in sorted(_SYSTEM_METADATA)),
    ]
)
"""What the server or the path decides, so that nobody owns it."""

_BUILTIN_NODES = NodeTable()


def utc_now() -> str:
    """The time as entries record it: RFC 3339 in UTC, to the second."""
    return time_text(time.time())


class Tracking:
    """One kind at one version, on the main resource or a subresource."""

    def __init__(
        self,
        scheme: Scheme,
        kind: Kind,
        subresource: str,
        filters: Mapping[str, Filter],
        now: Callable[[], str],
        *,
        foreign: Foreign | None = None,
        applies_changes: bool = True,
    ) -> None:
        self.kind = kind
        self.version = kind.gvk.api_version
        self.subresource = subresource
        self.now = now
        self.applies_changes = applies_changes
        self._scheme = scheme
        self._at_hub = kind.gvk == kind.hub
        self._empty: Object | None = None
        self.versions = Versions(scheme, kind, _BUILTIN_NODES if kind.builtin else NodeTable(validated=True), foreign)
        self.updater = Updater(self.versions, filters)

    @property
    def node(self) -> MapNode:
        """The schema of the kind at its version."""
        return self.versions.node(self.version)

    @functools.cached_property
    def fits(self) -> bool:
        """Whether all that can be stored of the kind fits its schema. Those of custom resources change."""
        return self.kind.builtin and not may_lack_keys(self.node)

    def empty(self) -> Object:
        """A new object as it is before anybody sets anything. Shared; not to be changed."""
        if self._empty is None:
            fields = zero_struct(self.kind.schema) if self.kind.builtin else {}
            self._empty = {**fields, "kind": self.kind.gvk.kind, "apiVersion": self.version}
        return self._empty

    def from_hub(self, obj: Object) -> Object:
        """An object of the hub version at this version; it may be the object itself."""
        return obj if self._at_hub else self.versions.convert(obj, self.version)

    def to_hub(self, obj: Object) -> Object:
        """An object of this version at the hub version. Consumes it."""
        return obj if self._at_hub else self._scheme.convert(obj, self.kind.hub)

    def updater_id(self, manager: str) -> ManagerId:
        """The id under which what `manager` changes is recorded."""
        return manager_id(manager, UPDATE, self.version, self.subresource)

    def record_update(self, changes: Comparisons, managed: Managed, identity: ManagerId) -> Managed:
        """Who owns what after an updater has made `changes`, of states without a record and at this version.

        Raises Mismatch, and what conversion raises.
        """
        left, changed = without_changes(managed, changes, identity), changes.own.changed
        mine = difference(changed, NEVER_OWNED)
        if mine is not changed and identity in left:  # it may say so in a record that it has sent
            kept = difference(left[identity].fields, changed)
            if kept:
                left[identity] = left[identity].with_fields(kept)
            else:
                del left[identity]
        return self._credited(left, mine, identity)

    def record_create(self, after: Object, managed: Managed, manager: str) -> Managed:
        """The same for a new object; others own something of it only if its maker says so."""
        specs = self.kind.specs
        known = specs.known(after.get("spec")) if specs is not None and not managed and not self.subresource else None
        identity = self.updater_id(manager)
        if known is None:
            return self.record_update(self.updater.compared(self.empty(), after), managed, identity)
        around = _around_spec(after)
        mine = known.owned.get(around) if around is not None else None
        if mine is None:
            mine = difference(self._set_fields(after, known), NEVER_OWNED)
            if around is not None:
                known.remember(around, mine)
        return self._credited({}, mine, identity)

    def _set_fields(self, new: Object, known: KnownSpec) -> FieldSet:
        """All that a new object sets."""
        if known.fields is None:
            found = self.updater.compare(self.empty(), new, self.version).changed
            known.fields = found.get(_SPEC)
            return found
        rest = self.updater.compare(_without_spec(self.empty()), _without_spec(new), self.version).changed
        return ordered({**rest, _SPEC: known.fields})

    def _credited(self, left: Managed, mine: FieldSet, identity: ManagerId) -> Managed:
        if mine:
            earlier = left.get(identity)
            fields = union(earlier.fields, mine) if earlier is not None else mine
            left[identity] = Owned(fields, self.version, self.now())
        cap_updaters(left)
        return left

    def renewed(self, entries: Any, changes: Comparisons, identity: ManagerId) -> list[Object] | None:
        """What is recorded after an update that changes nobody's fields, given what is; None if it may change some.

        That is when what the updater has modified was its own already, and nobody else's.
        """
        changed, removed = changes.own
        if removed or not _is_ownable(changed):
            return None
        return renewed(entries, changed, identity, self.now)


def _is_ownable(fields: FieldSet) -> bool:
    return NEVER_OWNED.keys().isdisjoint(fields) or difference(fields, NEVER_OWNED) is fields


def _around_spec(obj: Object) -> bytes | None:
    """What decides, besides the spec, which fields of a new object its maker owns; None for what is too much to keep.

    Who sets a label or an annotation owns it whatever its value is, and nobody owns what the system sets.
    """
    metadata = obj["metadata"]
    if metadata.__class__ is not dict:
        return None
    around = obj.copy()
    del around["spec"]
    around["metadata"] = {
        name: list(value) if name in _MAPS_OF_TEXTS and value.__class__ is dict else value
        for name, value in metadata.items()
        if name not in _SYSTEM_METADATA
    }
    try:
        text = orjson.dumps(around, option=EXACT)
    except TypeError:
        return None
    return text if len(text) <= _MAX_AROUND else None


def _without_spec(obj: Object) -> Object:
    rest = obj.copy()
    rest.pop("spec", None)
    return rest


def without_record(obj: Object) -> Object:
    """The object without managedFields, sharing everything else."""
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict) or "managedFields" not in metadata:
        return obj
    metadata = metadata.copy()
    del metadata["managedFields"]
    return {**obj, "metadata": metadata}


def write_record(metadata: Object, managed: Managed) -> None:
    """Put a record into an object's metadata; nothing when nobody owns anything."""
    if managed:
        metadata["managedFields"] = encode(managed)
    else:
        metadata.pop("managedFields", None)
