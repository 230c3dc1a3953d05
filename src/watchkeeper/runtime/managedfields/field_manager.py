"""Field managers: they keep metadata.managedFields true as objects are created, updated and applied."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from watchkeeper.meta.errors import ApiError
from watchkeeper.runtime.managedfields.applying import Apply
from watchkeeper.runtime.managedfields.entries import EntryError, Managed, decode, encode, is_reset, without_empty
from watchkeeper.runtime.managedfields.field_set import LEAF, FieldSet, difference
from watchkeeper.runtime.managedfields.filters import Filter
from watchkeeper.runtime.managedfields.foreign import Foreign
from watchkeeper.runtime.managedfields.nodes import Mismatch
from watchkeeper.runtime.managedfields.tracking import Tracking, utc_now, without_record
from watchkeeper.runtime.managedfields.validate import check
from watchkeeper.runtime.scheme import DecodeError, Kind, NotRegistered, Scheme

Object = dict[str, Any]

_RECORD: FieldSet = {"f:metadata": {"f:managedFields": LEAF}}


class FieldManager:
    """Ownership for one kind at one version, on the main resource or a subresource.

    Objects come and go at the hub version, but for the configurations that are applied.
    """

    def __init__(
        self,
        scheme: Scheme,
        kind: Kind,
        *,
        subresource: str = "",
        filters: Mapping[str, Filter] | None = None,
        now: Callable[[], str] = utc_now,
        foreign: Foreign | None = None,
        applies_changes: bool = True,
    ) -> None:
        """`kind` is what bodies are; `filters` say, by apiVersion, which fields clients can write here at all.

        With `foreign`, which converts in place of the scheme, the methods are to be called within `completed`. Without
        `applies_changes` nothing can be applied but what is so already: the reference finds no way to convert a Scale
        of a custom resource that an apply has changed.
        """
        self._tracking = Tracking(
            scheme, kind, subresource, filters or {}, now, foreign=foreign, applies_changes=applies_changes
        )

    def __repr__(self) -> str:
        tracking = self._tracking
        path = f"{tracking.kind.gvk.kind}/{tracking.subresource}" if tracking.subresource else tracking.kind.gvk.kind
        return f"<FieldManager {tracking.version} {path}>"

    def update(self, live: Object | None, new: Object, manager: str) -> Object:
        """Record what `manager` changes by making `new` of `live` (None: by creating it).

        Returns `new`, whose metadata is changed in place. An object that does not fit its schema ends up without a
        record. Raises nothing.
        """
        metadata = new.get("metadata")
        if not isinstance(metadata, dict):
            return new
        try:
            entries = self._update(live, new, metadata, manager)
        except (Mismatch, DecodeError, NotRegistered, ApiError):
            entries = []
        if entries:
            metadata["managedFields"] = entries
        else:
            metadata.pop("managedFields", None)
        return new

    def apply(
        self,
        live: Object | None,
        applied: Object,
        manager: str,
        *,
        force: bool,
        unknown: list[str] | None = None,
    ) -> Object:
        """Merge what `manager` applies into `live` (None: create it). Returns the new state with its record.

        `applied` is a parsed body at the version of the kind. Neither object is changed, but the outcome shares parts
        with `live`. What it names that the kind does not keep, where its schema lets that pass, is added to `unknown`,
        as in decoding. Raises ApiError: a 409 with one cause for each field that others own, unless `force` takes them
        over; a 400 for another kind or a body with a record of its own; a 500, as the reference has it, for a body
        that does not fit the schema.
        """
        return Apply(self._tracking, applied, manager, force=force, unknown=unknown).to(live)

    def apply_part(self, live: Object, part: Object, manager: str) -> Object:
        """Apply a part of an object, whoever owns what it names. Returns the new state with its record."""
        gvk = self._tracking.kind.gvk
        head = {"apiVersion": gvk.api_version, "kind": gvk.kind, "metadata": {"name": live["metadata"]["name"]}}
        return self.apply(live, {**head, **part}, manager, force=True)

    def _update(self, live: Object | None, new: Object, metadata: Object, manager: str) -> list[Object]:
        """The entries to write. Takes the record off `metadata`."""
        tracking = self._tracking
        kept = live["metadata"].get("managedFields") if live is not None else None
        managed = self._sent_record(metadata.pop("managedFields", None), kept)
        if live is None:
            if managed:
                managed = tracking.updater.reconciled(managed, tracking.empty())
            return encode(tracking.record_create(self._at_version(new), managed or {}, manager))
        before, after = tracking.from_hub(without_record(live)), self._at_version(new)
        identity = tracking.updater_id(manager)
        if kept and kept.__class__ is not list:
            raise TypeError("managedFields is no list")  # as somebody has stored it; whoever writes the object is told
        if managed is None and kept and tracking.kind.builtin:
            changes = tracking.updater.compared(before, after)
            renewed = tracking.renewed(kept, changes, identity)
            if renewed is not None:
                return renewed
            managed = _readable(kept)
        else:
            managed = tracking.updater.reconciled(_readable(kept) if managed is None else managed, before)
            changes = tracking.updater.compared(before, after)
        if not managed and live["metadata"].get("uid"):
            # Nobody keeps a record of this object, and an update does not begin one.
            return []
        return encode(tracking.record_update(changes, managed, identity))

    def _at_version(self, new: Object) -> Object:
        """The new state at this version, checked where nobody else checks it."""
        tracking = self._tracking
        after = tracking.from_hub(new)
        if not tracking.kind.builtin and (tracking.subresource or "status" in after):
            # Nobody else refuses what does not fit in a part that is not written here.
            part = after if tracking.subresource else {"status": after["status"]}
            check(tracking.node, part, allow_repeated=True)
        return after

    def _sent_record(self, sent: Any, kept: Any) -> Managed | None:
        """The record that was sent with the object; None where that of the live object counts.

        A subresource cannot send a record. What cannot be understood does not count.
        """
        if sent is None or sent is kept or self._tracking.subresource or sent == kept:
            return None
        if not sent and not self._tracking.kind.builtin:
            return None  # metadata of custom objects is read with what is empty left out
        if is_reset(sent):
            return {}
        try:
            found = decode(sent)
        except EntryError:
            return None
        # The record is nobody's: whoever is said to own it would lose it with the next update.
        named = ((identity, owned.with_fields(difference(owned.fields, _RECORD))) for identity, owned in found.items())
        return without_empty(named) or None


def _readable(kept: Any) -> Managed:
    """A stored record; an empty one if it cannot be understood."""
    try:
        return decode(kept, trusted=True)
    except EntryError:
        return {}
