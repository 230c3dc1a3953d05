"""Namespaces end in steps: a DELETE marks them, their content goes, and with the last of `spec.finalizers` they go."""

from __future__ import annotations

from typing import Any

from watchkeeper.meta import errors
from watchkeeper.registry import deletion
from watchkeeper.registry.errors import to_api_error
from watchkeeper.registry.metadata import now_text
from watchkeeper.registry.rest import Context, DeleteOptions, Result
from watchkeeper.registry.store import Store
from watchkeeper.registry.strategy import StatusStrategy, Strategy
from watchkeeper.storage import errors as storage_errors
from watchkeeper.storage import interface as storage
from watchkeeper.storage.interface import StoredObject

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


class NamespaceStatusStrategy(_HeldBySpec, StatusStrategy):
    """How their status is written."""


class FinalizeStrategy(NamespaceStrategy):
    """The finalize subresource: it changes `spec.finalizers` and nothing else."""

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

    @property
    def allow_create_on_update(self) -> bool:
        """It belongs to a namespace that exists."""
        return False


class NamespaceStore(Store):
    """The store of namespaces."""

    async def delete(self, ctx: Context, name: str, options: DeleteOptions) -> tuple[Result, bool]:
        """Begin to end a namespace; end it once nothing is left to finalize."""
        current = await self.get(ctx, name, "")
        obj = current.data()
        self._check(obj, name, options)
        if obj["metadata"].get("deletionTimestamp") is None:
            return await self._terminate(name, options), False
        if (obj.get("spec") or {}).get("finalizers"):
            return current, False
        return await super().delete(ctx, name, options)

    def _check(self, obj: Object, name: str, options: DeleteOptions) -> None:
        meta = obj["metadata"]
        if options.uid is None:
            options.uid = meta["uid"]
        elif options.uid != meta["uid"]:
            why = f"Precondition failed: UID in precondition: {options.uid}, UID in object meta: {meta['uid']}"
            raise errors.conflict(self.resource, name, why)
        version = options.resource_version
        if version is not None and version != meta["resourceVersion"]:
            why = (
                f"Precondition failed: ResourceVersion in precondition: {version},"
                f" ResourceVersion in object meta: {meta['resourceVersion']}"
            )
            raise errors.conflict(self.resource, name, why)

    async def _terminate(self, name: str, options: DeleteOptions) -> Result:
        async def attempt(current: StoredObject | None) -> Object:
            assert current is not None
            obj = current.data()
            if options.validate is not None:
                await options.validate(obj)
            meta = obj["metadata"]
            meta.setdefault("deletionTimestamp", now_text())
            obj["status"] = dict(obj.get("status") or {}, phase="Terminating")
            finalizers = deletion.finalizers_for(meta.get("finalizers") or (), options, self.strategy.behavior)
            if finalizers:
                meta["finalizers"] = finalizers
            else:
                meta.pop("finalizers", None)
            return obj

        key = self.key("", name)
        preconditions = storage.Preconditions(uid=options.uid, resource_version=options.resource_version)
        try:
            if options.dry_run:
                return await attempt(await self.storage.get(key))
            return await self.storage.guaranteed_update(
                key, attempt, storage.UpdateOptions(preconditions=preconditions)
            )
        except storage_errors.StorageError as error:
            raise to_api_error(error, self.resource, name, "delete") from error
