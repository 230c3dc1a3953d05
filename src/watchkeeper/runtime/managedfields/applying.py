"""Server-side apply: merge a configuration into an object, and record that its applier owns what it names."""

from __future__ import annotations

from typing import Any

from watchkeeper.meta import errors
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.gvk import GroupVersion, GroupVersionKind
from watchkeeper.runtime.managedfields import last_applied
from watchkeeper.runtime.managedfields.compare import equal
from watchkeeper.runtime.managedfields.conflicts import Conflicts
from watchkeeper.runtime.managedfields.entries import APPLY, EntryError, Managed, decode, manager_id
from watchkeeper.runtime.managedfields.field_set import difference
from watchkeeper.runtime.managedfields.nodes import Mismatch
from watchkeeper.runtime.managedfields.tracking import NEVER_OWNED, Tracking, without_record, write_record
from watchkeeper.runtime.managedfields.validate import check
from watchkeeper.runtime.managedfields.versions import decode_merged
from watchkeeper.runtime.raw_json import mark, raw_paths, sorted_text
from watchkeeper.runtime.schema import Schema, SchemaType
from watchkeeper.runtime.scheme import DecodeError

Object = dict[str, Any]

BEFORE_FIRST_APPLY = "before-first-apply"
"""Owns what was there before anybody kept a record."""
_EXISTING = "failed to create manager for existing fields: failed to convert new object ({}) to smd typed"


class Apply:
    """One apply of a configuration, at the version of the configuration."""

    def __init__(
        self, tracking: Tracking, applied: Object, manager: str, *, force: bool, unknown: list[str] | None = None
    ) -> None:
        """Raises a 400 for a configuration of another kind, or with a record of its own."""
        self.tracking = tracking
        self.applied = applied
        self.manager = manager
        self.force = force
        self.unknown = unknown
        self.identity = manager_id(manager, APPLY, tracking.version, tracking.subresource)
        gvk = _said_kind(applied)
        if gvk != tracking.kind.gvk:
            raise errors.bad_request(f"invalid object type: {gvk}")
        metadata = applied.get("metadata")
        if isinstance(metadata, dict) and isinstance(metadata.get("managedFields"), list):
            raise errors.bad_request("metadata.managedFields must be nil")

    def to(self, live: Object | None) -> Object:
        """The outcome, at the hub version and with its record. Raises ApiError."""
        try:
            return self._to(live)
        except Conflicts as conflicts:
            raise conflicts.to_api_error() from None
        except Mismatch as mismatch:
            raise ApiError(500, "", f"failed to merge config: {mismatch}") from mismatch

    def _to(self, live: Object | None) -> Object:
        tracking = self.tracking
        managed = _record_of(live)
        state = tracking.empty() if live is None else without_record(live)
        base = state if live is None else tracking.from_hub(state)
        if not managed:
            if not tracking.applies_changes:
                named = _described({"kind": tracking.kind.gvk.kind, "apiVersion": tracking.version})
                why = f"failed to convert live object ({named}) to proper version: {self._no_way()}"
                raise ApiError(500, "", f"failed to create manager for existing fields: {why}")
            if not tracking.fits:
                self._check(base, _EXISTING, allow_repeated=True)
            changes = tracking.updater.compared(tracking.empty(), base)
            managed = tracking.record_update(changes, managed, tracking.updater_id(BEFORE_FIRST_APPLY))
        decodes = self._check(self.applied, "failed to create typed patch object ({})", allow_repeated=False)
        if not tracking.fits:
            self._check(base, "failed to create typed live object ({})", allow_repeated=True)
        if not tracking.kind.builtin:
            managed = tracking.updater.reconciled(managed, base)
        outcome, managed = self._merge(base, managed)
        if decodes and outcome == base and (not tracking.node.untyped or equal(outcome, base)):
            # A new owner of values that stay as they are has no time.
            result = tracking.to_hub(base) if live is None else state
        else:
            if not tracking.applies_changes:
                raise self._inconvertible(self._no_way())
            if self.identity in managed:
                managed[self.identity] = managed[self.identity]._replace(time=tracking.now(), entry=None)
            result = tracking.to_hub(self._completed(outcome))
        if self.manager == last_applied.KUBECTL and last_applied.last_applied(result):
            result = last_applied.record(result, self.applied)
        result = result.copy()
        result["metadata"] = (result.get("metadata") or {}).copy()
        write_record(result["metadata"], managed)
        return result

    def _check(self, obj: Object, failure: str, *, allow_repeated: bool) -> bool:
        """As `check`, but raises a 500 that begins with `failure`, in which the object is named."""
        try:
            return check(self.tracking.node, obj, allow_repeated=allow_repeated)
        except Mismatch as mismatch:
            raise ApiError(500, "", f"{failure.format(_described(obj))}: {mismatch}") from None

    def _merge(self, base: Object, managed: Managed) -> tuple[Object, Managed]:
        """The merged object and its record. Raises Conflicts."""
        updater, identity = self.tracking.updater, self.identity
        try:
            outcome, owned = updater.apply(base, self.applied, managed, identity, force=self.force)
        except Conflicts as conflicts:
            if self.manager != last_applied.KUBECTL:
                raise
            remaining = last_applied.remaining_conflicts(self.tracking.node, base, conflicts)
            if remaining:
                raise Conflicts(remaining) from None
            outcome, owned = updater.apply(base, self.applied, managed, identity, force=True)
        mine = owned.get(identity)
        if mine is not None:
            fields = difference(mine.fields, NEVER_OWNED)
            if fields:
                owned[identity] = mine.with_fields(fields)
            else:
                del owned[identity]
        return outcome, owned

    def _no_way(self) -> str:
        return f"request to convert CR to an invalid group/version: {self.tracking.version}"

    def _inconvertible(self, why: str) -> ApiError:
        return ApiError(500, "", f"failed to convert new object ({_described(self.applied)}) to proper version: {why}")

    def _completed(self, outcome: Object) -> Object:
        """A merged object as its kind has it: decoded, defaulted, and its raw objects written anew."""
        kind = self.tracking.kind
        try:
            obj = decode_merged(kind, outcome, self.unknown)
        except Mismatch as mismatch:
            raise self._inconvertible(str(mismatch)) from mismatch
        if not kind.builtin:
            # Decoding a body of a custom kind drops null; what is applied keeps it, for validation to refuse.
            _keep_nulls(outcome, obj, kind.schema)
        obj["kind"], obj["apiVersion"] = kind.gvk.kind, kind.gvk.api_version
        if kind.default is not None:
            try:
                kind.default(obj)
            except DecodeError as error:
                why = f"failed to convert to unversioned ({_described(self.applied)}): {error}"
                raise ApiError(500, "", why) from error
        if kind.builtin and kind.schema is not None:
            mark(obj, raw_paths(kind.schema), sorted_text)
        return obj


def _keep_nulls(before: Any, after: Any, schema: Schema | None) -> None:
    if isinstance(before, dict) and isinstance(after, dict):
        declared = schema.fields if schema is not None else {}
        for name, value in before.items():
            field = declared.get(name)
            inner = field.schema if field is not None else schema.element if schema is not None else None
            if value is None:
                if inner is None or not _takes_null(inner):
                    after.setdefault(name, None)
            elif name != "metadata":
                _keep_nulls(value, after.get(name), inner)
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for item, decoded in zip(before, after, strict=True):
            _keep_nulls(item, decoded, schema.element if schema is not None else None)


def _takes_null(schema: Schema) -> bool:
    """Whether validation takes a null of this type. One that may stay is there when the object is decoded."""
    return schema.type is SchemaType.ANY and schema.preserve_unknown_fields


def _record_of(live: Object | None) -> Managed:
    try:
        return decode(live["metadata"].get("managedFields"), trusted=True) if live is not None else {}
    except EntryError as error:
        raise ApiError(500, "", f"failed to decode managed fields: {error}") from error


def _said_kind(obj: Object) -> GroupVersionKind:
    """What an object says it is; nothing at all when its version cannot be read."""
    kind, api_version = obj.get("kind"), obj.get("apiVersion")
    try:
        version = GroupVersion.parse(api_version) if isinstance(api_version, str) else GroupVersion("", "")
    except ValueError:
        return GroupVersionKind("", "", "")
    return GroupVersionKind(version.group, version.version, kind if isinstance(kind, str) else "")


def _described(obj: Object) -> str:
    """Namespace, name and kind of an object, as errors have them."""
    metadata = obj.get("metadata")
    named = metadata if isinstance(metadata, dict) else {}
    namespace, name = named.get("namespace"), named.get("name")
    where = f"{namespace if isinstance(namespace, str) else ''}/{name if isinstance(name, str) else ''}"
    return f"{where}; {_said_kind(obj)}"
