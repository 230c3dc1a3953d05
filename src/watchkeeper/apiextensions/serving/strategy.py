"""How custom resources are created and updated (apiextensions-apiserver's customResourceStrategy)."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

import orjson

from watchkeeper.apiextensions.serving.version import CompiledVersion
from watchkeeper.apis.behavior import KindBehavior
from watchkeeper.apis.validation.metadata import (
    validate_object_meta,
    validate_object_meta_update,
    validate_updated_object_meta,
)
from watchkeeper.apis.validation.names import is_qualified_name
from watchkeeper.meta import errors
from watchkeeper.meta.field import FieldError, go_quote
from watchkeeper.registry.metadata import metadata_of
from watchkeeper.registry.rest import Context
from watchkeeper.registry.strategy import (
    StatusStrategy,
    Strategy,
    carry,
    carry_system_metadata,
    carry_times,
    carry_uid,
)
from watchkeeper.runtime.scheme import gvk_of

Object = dict[str, Any]

_UNCOUNTED = {False: frozenset({"metadata"}), True: frozenset({"metadata", "status"})}
"""What no generation counts, by whether the status has a subresource of its own."""
_STANDARD_FINALIZERS = frozenset({"orphan", "foregroundDeletion", "kubernetes"})


class CustomStrategy(Strategy):
    """The strategy of one version."""

    def __init__(self, version: CompiledVersion, behavior: KindBehavior, *, namespaced: bool) -> None:
        super().__init__(version.gvk, behavior, namespaced=namespaced, has_status=version.has_status)
        self.version = version
        self.hooks = version.hooks

    def before_create(self, ctx: Context, obj: Object) -> None:
        """Make a decoded, defaulted object ready to be stored, in place. Raises Invalid."""
        meta = metadata_of(obj)
        if not self.namespaced:
            meta.pop("namespace", None)
        if self.has_status:
            obj.pop("status", None)
        meta["generation"] = 1
        if self.hooks.prepare_for_create is not None:
            self.hooks.prepare_for_create(obj)
        found = self.version.type_errors(obj)
        if not found:
            found = validate_object_meta(meta, namespaced=self.namespaced)
            found = self.version.errors_of_new(obj, found)
            if not found and self.hooks.validate is not None:
                found = self.hooks.validate(obj)
        if found:
            raise errors.invalid(gvk_of(obj).group_kind, meta.get("name", ""), found)
        if self.has_status:
            # What is stored without a status is read with the one that the schema has by default.
            self.version.fill_in(obj)
        for text in finalizer_warnings(meta, {}):
            ctx.warn(text)

    def before_update(self, ctx: Context, obj: Object, old: Object, *, settled: bool = False) -> None:
        """Make a new state ready to be stored in place of the old, in place. Raises Invalid."""
        meta, old_meta = metadata_of(obj), old["metadata"]
        if not self.namespaced:
            meta.pop("namespace", None)
        carry_system_metadata(meta, old_meta)
        self.prepare_for_update(obj, old)
        meta = obj["metadata"]
        carry_uid(meta, old_meta)
        carry_times(meta, old_meta)
        found = validate_updated_object_meta(meta, old_meta)
        found += self.update_errors(ctx, obj, old, sound=not found)
        if found:
            raise errors.invalid(gvk_of(obj).group_kind, meta.get("name", ""), found)
        for text in self.warnings_on_update(obj, old):
            ctx.warn(text)

    def prepare_for_update(self, obj: Object, old: Object) -> None:
        """Keep the status that has a subresource of its own; count a generation for all but changed metadata."""
        if self.has_status:
            carry(obj, old, "status")
        if self.hooks.prepare_for_update is not None:
            self.hooks.prepare_for_update(obj, old)
        if not _same_but_metadata(obj, old):
            obj["metadata"]["generation"] = (old["metadata"].get("generation") or 0) + 1

    def counts_outgrown(self, obj: Object, old: Object, fields: Set[str]) -> bool:
        """kube-apiserver compares what is applied before it prunes it, and so sees a change each time."""
        if not fields - _UNCOUNTED[self.has_status]:
            return False
        generation = old["metadata"].get("generation") or 0
        if obj["metadata"].get("generation") == generation:
            obj["metadata"]["generation"] = generation + 1
        return True

    def update_errors(self, ctx: Context, obj: Object, old: Object, *, sound: bool) -> list[FieldError]:
        """All that is wrong with the new state or the change, as the kind's own validation tells it.

        `sound`: the rules of all kinds find nothing wrong with the metadata.
        """
        found = self.version.type_errors(obj)
        if found:
            return found
        found = [] if sound else validate_object_meta_update(obj["metadata"], old["metadata"])
        found = self.version.errors_of_update(obj, old, found, ctx.warn)
        if not found and self.hooks.validate_update is not None:
            found = self.hooks.validate_update(obj, old)
        return found

    def warnings_on_update(self, obj: Object, old: Object) -> list[str]:
        """About finalizers that have come."""
        return finalizer_warnings(obj["metadata"], old["metadata"])


class CustomStatusStrategy(CustomStrategy, StatusStrategy):
    """The strategy of the status subresource."""

    def counts_outgrown(self, obj: Object, old: Object, fields: Set[str]) -> bool:
        """A status that is given more than is kept is written each time; no generation counts it."""
        return "status" in fields

    def prepare_for_update(self, obj: Object, old: Object) -> None:
        """Keep all of the old object but status, and who owns which field."""
        status, managed = obj.get("status", self), obj["metadata"].get("managedFields")
        meta = dict(old["metadata"])
        meta.pop("managedFields", None)
        if managed:
            meta["managedFields"] = managed
        obj.clear()
        obj.update(old)
        obj["metadata"] = meta
        if status is self or (status is None and old.get("status") is None):
            # A null where nothing was is no change, so not held against anybody, and is not shown.
            obj.pop("status", None)
        else:
            obj["status"] = status

    def update_errors(self, ctx: Context, obj: Object, old: Object, *, sound: bool) -> list[FieldError]:
        """All that is wrong with the new status."""
        found = self.version.type_errors(obj)
        if found:
            return found
        found = [] if sound else validate_object_meta_update(obj["metadata"], old["metadata"])
        return self.version.errors_of_status(obj, old, found, ctx.warn)

    def warnings_on_update(self, obj: Object, old: Object) -> list[str]:
        """None: finalizers cannot come through status."""
        return []


def _same_but_metadata(obj: Object, old: Object) -> bool:
    new = {k: v for k, v in obj.items() if k != "metadata"}
    before = {k: v for k, v in old.items() if k != "metadata"}
    # Equal they may be, although one has true or 1.0 where the other has 1.
    if new != before:
        return False
    return orjson.dumps(new, option=orjson.OPT_SORT_KEYS) == orjson.dumps(before, option=orjson.OPT_SORT_KEYS)


def finalizer_warnings(meta: Object, old: Object) -> list[str]:
    """About finalizers that are not as they should be named, as far as they are new."""
    names = meta.get("finalizers")
    if not names:
        return []
    known = set(old.get("finalizers") or ())
    warnings: list[str] = []
    for name in sorted(set(names) - known):
        where = f"metadata.finalizers: {go_quote(name)}"
        warnings += [f"{where}: {wrong}" for wrong in is_qualified_name(name)]
        if "/" in name or name in _STANDARD_FINALIZERS:
            continue
        path = " including a path (/)" if "." in name else ""
        advice = (
            f"prefer a domain-qualified finalizer name{path} to avoid accidental conflicts with other finalizer writers"
        )
        warnings.append(f"{where}: {advice}")
    return warnings
