"""Who owns what after a write: the rules of structured merge and diff, over all versions in which it is recorded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import orjson

from watchkeeper.meta.errors import ApiError
from watchkeeper.runtime.managedfields.compare import Comparison, compare
from watchkeeper.runtime.managedfields.conflicts import Conflict, Conflicts
from watchkeeper.runtime.managedfields.entries import Managed, ManagerId, Owned, without_empty
from watchkeeper.runtime.managedfields.field_set import (
    LEAF,
    FieldSet,
    difference,
    intersection,
    members,
    union,
)
from watchkeeper.runtime.managedfields.filters import Filter
from watchkeeper.runtime.managedfields.merge import hides, merge, remove
from watchkeeper.runtime.managedfields.named import fields_of, with_named_fields
from watchkeeper.runtime.managedfields.nodes import MapNode, Mismatch
from watchkeeper.runtime.managedfields.reconcile import reconcile
from watchkeeper.runtime.managedfields.versions import Object, Versioned, Versions


class Updater:
    """Computes ownership for objects of one kind. All objects it is given are without managedFields."""

    def __init__(self, versions: Versions, filters: Mapping[str, Filter]) -> None:
        """`filters` say, by version, what counts of a set at all."""
        self.versions = versions
        self._filters = filters

    def reconciled(self, managed: Managed, live: Object) -> Managed:
        """What is recorded, brought in line with today's schemas; records of unknown versions are gone.

        Raises a 500 for custom resources where `live` cannot be converted to a version that is recorded.
        """
        found: Managed = {}
        state = Versioned(self.versions, live)
        for identity, owned in managed.items():
            if self.versions.knows(owned.api_version):
                if not self.versions.builtin:
                    with _failing(""):
                        state.at(owned.api_version)
                fields = reconcile(self.versions.node(owned.api_version), owned.fields)
                found[identity] = owned.with_fields(fields)
        return found

    def compared(self, live: Object, new: Object) -> Comparisons:
        """Two states, both at one version, to be compared at others as well. Raises Mismatch."""
        return Comparisons(self, live, new)

    def filtered(self, fields: FieldSet, api_version: str) -> FieldSet:
        """The part of a set that counts."""
        keep = self._filters.get(api_version)
        return keep(fields) if keep is not None else fields

    def compare(self, live: Object, new: Object, api_version: str) -> Comparison:
        """The comparison of two states, as far as it counts."""
        found = compare(self.versions.node(api_version), live, new)
        keep = self._filters.get(api_version)
        if keep is None:
            return found
        return Comparison(
            keep(found.changed) if found.changed else LEAF, keep(found.removed) if found.removed else LEAF
        )

    def apply(
        self, live: Object, applied: Object, managed: Managed, applier: ManagerId, *, force: bool
    ) -> tuple[Object, Managed]:
        """Merge a configuration into an object. Returns the outcome and who owns what then.

        Both objects are at one version. Raises Conflicts unless forced; Mismatch, and what conversion raises.
        """
        version = live["apiVersion"]
        node = self.versions.node(version)
        merged: Object = merge(node, live, applied)
        last = managed.get(applier)
        mine = Owned(
            self.filtered(fields_of(node, applied), version), version, last.time if last else None, applied=True
        )
        managed = {**managed, applier: mine}
        if last is not None and (last.api_version != version or _gives_up(node, last, mine, applied, merged)):
            merged = _Prune(self.versions, managed, last, version).run(merged)
        return merged, self._settle(live, merged, managed, applier, force=force)

    def _settle(self, live: Object, merged: Object, managed: Managed, applier: ManagerId, *, force: bool) -> Managed:
        comparisons = Comparisons(self, live, merged)
        others = {identity: owned for identity, owned in managed.items() if identity != applier}
        if not force:
            conflicts = _conflicts(others, comparisons)
            if conflicts:
                raise Conflicts(conflicts)
        left = without_changes(others, comparisons)
        left[applier] = managed[applier]
        return without_empty(left.items())


def _gives_up(node: MapNode, last: Owned, mine: Owned, applied: Object, merged: Object) -> bool:
    """Whether an applier lets go of anything that it applied before, at the same version.

    Else there is nothing to take out. What it names as null it keeps, but lets go of what is in it.
    """
    if difference(last.fields, mine.fields):
        return True
    text = orjson.dumps(applied)
    # Few configurations have anything empty in them, and the text tells that sooner than a walk.
    return (b":null" in text or b":{}" in text) and hides(node, applied, merged)


@contextmanager
def _failing(prefix: str) -> Iterator[None]:
    """Values that do not fit where they are converted to are a 500, which says what failed."""
    try:
        yield
    except Mismatch as mismatch:
        raise ApiError(500, "", f"{prefix}{mismatch}") from None


class Comparisons:
    """Two states of an object compared at each version that somebody asks for."""

    def __init__(self, updater: Updater, live: Object, new: Object) -> None:
        self._updater = updater
        self._states = live, new
        self._versioned: tuple[Versioned, Versioned] | None = None
        version = new["apiVersion"]
        self.own = updater.compare(live, new, version)
        """The comparison at the version of the objects themselves."""
        self._found: dict[str, Comparison] = {version: self.own}

    def at(self, api_version: str) -> Comparison | None:
        """The comparison at a version; None for versions that nobody knows any more."""
        found = self._found.get(api_version)
        if found is None and self._updater.versions.knows(api_version):
            found = self._found[api_version] = self._compared_at(api_version)
        return found

    def _compared_at(self, api_version: str) -> Comparison:
        if self._versioned is None:
            live, new = self._states
            self._versioned = Versioned(self._updater.versions, live), Versioned(self._updater.versions, new)
        before, after = self._versioned
        with _failing("failed to convert old object: "):
            live = before.at(api_version)
        with _failing("failed to convert new object: "):
            new = after.at(api_version)
        return self._updater.compare(live, new, api_version)


def without_changes(managed: Managed, comparisons: Comparisons, updater: ManagerId | None = None) -> Managed:
    """Everybody's fields without those that are gone or, but for the updater's, have changed.

    Whoever is left with nothing is left out. It is for the caller to give the updater the rest of the changes. Raises
    Mismatch, and what conversion to the versions that are recorded raises.
    """
    left: Managed = {}
    for identity, owned in managed.items():
        found = comparisons.at(owned.api_version)
        if found is None:
            continue
        fields = owned.fields
        if found.changed and identity != updater:
            fields = difference(fields, found.changed)
        if found.removed:
            fields = difference(fields, found.removed)
        if fields:
            left[identity] = owned if fields is owned.fields else owned.with_fields(fields)
    return left


def _conflicts(managed: Managed, comparisons: Comparisons) -> list[Conflict]:
    """What others own of what would change, by manager, in the order of paths."""
    found: list[Conflict] = []
    for identity in sorted(managed, key=ManagerId.text):
        owned = managed[identity]
        comparison = comparisons.at(owned.api_version)
        if comparison is not None:
            contested = intersection(owned.fields, comparison.changed)
            found += (Conflict(identity, path) for path in members(contested))
    return found


class _Prune:
    """Takes out of a merged object what its applier applied before but does not now, unless somebody else owns it."""

    def __init__(self, versions: Versions, managed: Managed, last: Owned, version: str) -> None:
        self.versions = versions
        self.managed = managed
        self.last = last
        self.version = version

    def run(self, merged: Object) -> Object:
        """The object at the applier's version. An earlier apply of a version that is gone removes nothing."""
        at = self.last.api_version
        if not self.versions.knows(at):
            return merged
        before = self._convert(merged, at, "failed to convert merged object to last applied version: ")
        node = self.versions.node(at)
        pruned: Object = remove(node, before, with_named_fields(node, self.last.fields)) or {}
        pruned = self._add_back_owned(before, pruned)
        dangling = "failed add back dangling items: failed to convert pruned object to last applied version: "
        pruned = self._add_back_dangling(before, self._convert(pruned, at, dangling))
        return self._convert(pruned, self.version, "")

    def _convert(self, obj: Object, api_version: str, failure: str) -> Object:
        if obj.get("apiVersion", api_version) == api_version:
            return obj
        with _failing(f"failed to prune fields: {failure}"):
            return self.versions.convert(obj, api_version)

    def _add_back_owned(self, merged: Object, pruned: Object) -> Object:
        """What anybody owns stays, the applier's new configuration included."""
        owned_at: dict[str, FieldSet] = {self.last.api_version: LEAF}
        for owned in self.managed.values():
            owned_at[owned.api_version] = union(owned_at.get(owned.api_version, LEAF), owned.fields)
        for version, owned_fields in owned_at.items():
            if not self.versions.knows(version):
                continue
            failure = "failed add back owned items: failed to convert {} object at version {}: "
            merged = self._convert(merged, version, failure.format("merged", version))
            pruned = self._convert(pruned, version, failure.format("pruned", version))
            node = self.versions.node(version)
            all_fields = with_named_fields(node, fields_of(node, merged))
            kept = with_named_fields(node, fields_of(node, pruned))
            kept = union(kept, with_named_fields(node, owned_fields))
            pruned = remove(node, merged, difference(all_fields, kept))
        return pruned

    def _add_back_dangling(self, merged: Object, pruned: Object) -> Object:
        """Only what the applier itself applied before is removed."""
        node = self.versions.node(self.last.api_version)
        kept = with_named_fields(node, fields_of(node, pruned))
        all_fields = with_named_fields(node, fields_of(node, merged))
        last = with_named_fields(node, self.last.fields)
        found: Object = remove(node, merged, intersection(difference(all_fields, kept), last))
        return found
