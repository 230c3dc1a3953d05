"""Namespaces end in steps: a DELETE marks them, their content goes, and with the last of `spec.finalizers` they go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from watchkeeper.apis.core.namespace import default_namespace, validate_finalize
from watchkeeper.meta.field import FieldError
from watchkeeper.meta.gvk import GroupKind
from watchkeeper.registry import deletion
from watchkeeper.registry.metadata import now_text
from watchkeeper.registry.rest import Context, DeleteOptions
from watchkeeper.registry.staged import StagedStore
from watchkeeper.registry.strategy import StatusStrategy, Strategy

Object = dict[str, Any]


class _HeldBySpec(Strategy):
    """A namespace stays as long as its spec names finalizers, whatever its metadata says."""

    def removed_by_update(self, obj: Object, old: Object) -> bool:
        """Whether an update lets it go."""
        if (obj.get("spec") or {}).get("finalizers"):
            return False
        return super().removed_by_update(obj, old)


class NamespaceStrategy(_HeldBySpec):
    """How namespaces are written."""

    def before_create(self, ctx: Context, obj: Object) -> None:
        """A name that was made up becomes a label once it is found to be one."""
        super().before_create(ctx, obj)
        default_namespace(obj)


class NamespaceStatusStrategy(_HeldBySpec, StatusStrategy):
    """How their status is written."""


class FinalizeStrategy(NamespaceStrategy):
    """The finalize subresource: it changes `spec.finalizers` and nothing else."""

    passes: Mapping[GroupKind, Sequence[str]] = {}

    def prepare_for_update(self, obj: Object, old: Object) -> None:
        """Keep all but the finalizers of the spec."""
        asked = (obj.get("spec") or {}).get("finalizers")
        for key in [k for k in obj if k not in ("kind", "apiVersion", "metadata")]:
            del obj[key]
        for key in old:
            if key not in ("kind", "apiVersion", "metadata"):
                obj[key] = old[key]
        spec = dict(obj.get("spec") or {})
        if asked:
            spec["finalizers"] = asked
        else:
            spec.pop("finalizers", None)
        obj["spec"] = spec

    def _update_errors(self, obj: Object, old: Object, *, sound: bool) -> list[FieldError]:
        """What is wrong with the finalizers; of the rest nothing but metadata can have changed."""
        return self._all_metadata_errors(obj, old["metadata"], sound=sound) + validate_finalize(obj)

    def validate_sound_update(self, obj: Object, old: Object) -> list[FieldError]:
        """The same: nothing but finalizers and metadata is looked at anyway."""
        return self._update_errors(obj, old, sound=True)

    @property
    def allow_create_on_update(self) -> bool:
        """It belongs to a namespace that exists."""
        return False


class NamespaceStore(StagedStore):
    """The store of namespaces."""

    def is_held(self, obj: Object) -> bool:
        """A namespace stays as long as its spec names finalizers."""
        return bool((obj.get("spec") or {}).get("finalizers"))

    def mark_terminating(self, obj: Object, options: DeleteOptions) -> None:
        """Make a namespace one that is to go once its content is gone."""
        meta = obj["metadata"]
        meta.setdefault("deletionTimestamp", now_text())
        obj["status"] = dict(obj.get("status") or {}, phase="Terminating")
        finalizers = deletion.finalizers_for(meta.get("finalizers") or (), options, self.strategy.behavior)
        # Here, unlike elsewhere, not to orphan dependents means to delete them first.
        if options.orphan_dependents is False and deletion.FOREGROUND not in finalizers:
            finalizers.append(deletion.FOREGROUND)
        if finalizers:
            meta["finalizers"] = finalizers
        else:
            meta.pop("finalizers", None)
