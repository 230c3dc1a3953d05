"""The scale subresource: autoscaling/v1 Scale as a view of what can be scaled."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from watchkeeper.apis import scale as builtin
from watchkeeper.meta import errors
from watchkeeper.meta.field import FieldError
from watchkeeper.meta.gvk import GroupResource, GroupVersionKind
from watchkeeper.registry.derived import DerivedObject
from watchkeeper.registry.rest import Context, UpdatedObject, UpdateOptions
from watchkeeper.registry.store import Store
from watchkeeper.runtime.managedfields import REPLICAS_PATH, Path, ScaleRecord
from watchkeeper.storage.interface import StoredObject

Object = dict[str, Any]

_OLD_APPS_VERSIONS = ("v1beta1", "v1beta2")
"""No longer served, but owners may have recorded fields at them."""


@dataclass(frozen=True, slots=True)
class ScaleMapping:
    """Between an object and its Scale."""

    scale_of: Callable[[Mapping[str, Any]], Object]
    """The Scale of an object. Raises ApiError when it has none."""
    set_scale: Callable[[Object, Mapping[str, Any]], None]
    """Make an object, in place, what a valid Scale asks for."""
    version: str
    """The apiVersion of the object, under which changes of its replicas are recorded."""
    replicas: Mapping[str, Path | None]
    """Where the replicas are, for each version that an owner may have recorded."""
    validate: Callable[[Mapping[str, Any]], list[FieldError]] = builtin.validate_scale


def builtin_mapping(gvk: GroupVersionKind) -> ScaleMapping:
    """The mapping of a built-in kind at a served version."""
    kind, version = gvk.group_kind, gvk.api_version
    replicas = {version: REPLICAS_PATH, **{f"apps/{old}": REPLICAS_PATH for old in _OLD_APPS_VERSIONS}}

    def scale_of(obj: Mapping[str, Any]) -> Object:
        try:
            return builtin.scale_of(kind, obj)
        except ValueError as error:
            raise errors.bad_request(str(error)) from error

    return ScaleMapping(scale_of, builtin.set_scale, version, replicas)


class ScaleStore:
    """Reads and writes Scales of one resource."""

    def __init__(self, store: Store, mapping: ScaleMapping) -> None:
        self._store = store
        self._mapping = mapping

    def get_nowait(self, ctx: Context, name: str, resource_version: str) -> StoredObject | None:
        """Never at once: the Scale has to be made."""
        return None

    async def get(self, ctx: Context, name: str, resource_version: str) -> Object:
        """The Scale."""
        found = await self._store.get(ctx, name, resource_version)
        return self._mapping.scale_of(found.data())

    async def update(
        self, ctx: Context, name: str, updated: UpdatedObject, options: UpdateOptions
    ) -> tuple[Object, bool]:
        """Change the number of replicas. Raises what is wrong with the Scale."""
        resource = GroupResource(self._store.resource.group, f"{self._store.resource.resource}/scale")
        change = _ScaleChange(self._mapping, updated, resource, name)
        validate = options.validate_update

        async def validate_scales(obj: Object, old: Object) -> None:
            # What the object has become is judged, not what was sent: that may say nothing but a number.
            assert validate is not None
            await validate(self._mapping.scale_of(obj), self._mapping.scale_of(old))

        judged = UpdateOptions(dry_run=options.dry_run, validate_update=validate_scales if validate else None)
        result, _ = await self._store.update(ctx, name, change, judged)
        obj = result.data() if isinstance(result, StoredObject) else result
        return self._mapping.scale_of(obj), False


class _ScaleChange:
    def __init__(self, mapping: ScaleMapping, updated: UpdatedObject, resource: GroupResource, name: str) -> None:
        self._mapping = mapping
        self._updated = updated
        self._resource = resource
        self._name = name
        self.uid: str | None = updated.uid

    async def __call__(self, current: StoredObject | None) -> Object:
        assert current is not None
        obj = current.data()
        record = ScaleRecord(obj["metadata"].get("managedFields"), self._mapping.version, self._mapping.replicas)
        old = self._old_scale(obj)
        if entries := record.to_scale():
            old["metadata"]["managedFields"] = entries
        new = await self._updated(DerivedObject(current, old))
        wrong = self._mapping.validate(new)
        if wrong:
            raise errors.invalid(builtin.SCALE, self._name, wrong)
        self._check_uid(new, old)
        self._mapping.set_scale(obj, new)
        if entries := record.to_object(new["metadata"].get("managedFields")):
            obj["metadata"]["managedFields"] = entries
        else:
            obj["metadata"].pop("managedFields", None)
        return obj

    def _old_scale(self, obj: Object) -> Object:
        """What is to be changed. That it cannot be told is no fault of the request here, unlike where it is read."""
        try:
            return self._mapping.scale_of(obj)
        except errors.ApiError as error:
            raise (errors.ApiError(500, "", error.message) if error.code == 400 else error) from None

    def _check_uid(self, new: Object, old: Object) -> None:
        """A Scale with a uid is about that object only, also where a patch made it so. Raises a 409."""
        wanted, found = new["metadata"].get("uid"), old["metadata"].get("uid")
        if wanted and wanted != found:
            why = f"Precondition failed: UID in precondition: {wanted}, UID in object meta: {found}"
            raise errors.conflict(self._resource, self._name, why)
