"""Custom resources at other versions, as admission asks for them."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any

import orjson

from watchkeeper.admission.versions import SchemeVersions
from watchkeeper.apiextensions.schema.embedded import well_formed_metadata
from watchkeeper.apiextensions.serving.kind import CustomKind
from watchkeeper.meta.errors import ApiError, internal_error
from watchkeeper.meta.field import go_quote
from watchkeeper.meta.gvk import GroupVersionKind
from watchkeeper.runtime.codec import said_kind
from watchkeeper.runtime.scheme import DecodeError, Kind, gvk_of

if TYPE_CHECKING:
    from watchkeeper.apiextensions.serving.resource import CustomResource

Object = dict[str, Any]


class CustomVersions(SchemeVersions):
    """Converts objects of one definition as it says, and all else (a Scale) by the scheme."""

    def __init__(self, resource: CustomResource) -> None:
        super().__init__(resource.backend.services.scheme)
        self._resource = resource

    def kind(self, gvk: GroupVersionKind) -> Kind:
        """The definition's own kind even if that has changed or gone since the request began."""
        return CustomKind(self._resource.compiled(gvk.version)) if self._is_own(gvk) else super().kind(gvk)

    def convert(self, obj: Object, to: GroupVersionKind) -> Object | Awaitable[Object]:
        """By the definition's converter; an awaitable when that is a webhook."""
        found = gvk_of(obj)
        if found == to:
            return obj
        defined, converter = self._resource.defined, self._resource.converter
        if (found.group, found.kind) != (defined.group, defined.kind):
            return super().convert(obj, to)
        copied: Object = orjson.loads(orjson.dumps(obj))
        if not converter.is_local:
            return self.ask(copied, to)
        return converter.convert_nowait(copied, to.group_version)

    def decode(self, obj: Any, kind: GroupVersionKind) -> Object:
        """By the schema, without malformed metadata. What has another kind or version is kept, to be refused later."""
        if not self._is_own(kind):
            return super().decode(obj, kind)
        try:
            found = said_kind(obj)
        except ValueError as problem:
            raise DecodeError(str(problem)) from problem
        if not self._converts(found.group, found.version):
            kept: Object = obj
            return kept
        metadata = obj.get("metadata", {})
        if metadata.__class__ is not dict:
            raise internal_error("system metadata was not initialized")
        obj["metadata"] = well_formed_metadata(metadata)
        return self._decoded(obj, kind)

    def restore(self, obj: Object, to: GroupVersionKind) -> Object | Awaitable[Object]:
        """The same, and without what only the other version knows. Raises a 500 for what cannot be converted."""
        found = gvk_of(obj)
        if to.group == self._resource.defined.group:
            self._require_convertible(found, to)
        same = found == to
        if found.group == to.group and found.kind != to.kind and not self.scheme.recognizes(found):
            return {**obj, "apiVersion": to.api_version}
        restored = super().restore(obj, to)
        if same:
            return restored
        if isinstance(restored, Awaitable):
            return self._pruned(restored, to)
        return self._decoded(restored, to)

    def _decoded(self, obj: Object, kind: GroupVersionKind) -> Object:
        if self._is_own(kind):
            return self._resource.compiled(kind.version).decode_changed(obj)
        return self.kind(kind).decode(obj, None)

    def _is_own(self, gvk: GroupVersionKind) -> bool:
        return gvk.kind == self._resource.defined.kind and self._converts(gvk.group, gvk.version)

    def _converts(self, group: str, version: str) -> bool:
        defined = self._resource.defined
        return group == defined.group and any(version == each.name for each in defined.versions)

    def _require_convertible(self, found: GroupVersionKind, to: GroupVersionKind) -> None:
        if found.group != to.group:
            target = go_quote(str(to.group_version))
            raise ApiError(500, "", f"{found} is unstructured and is not suitable for converting to {target}")
        if not self._converts(found.group, found.version):
            raise ApiError(500, "", f"request to convert CR from an invalid group/version: {found.api_version}")

    async def _pruned(self, restored: Awaitable[Object], to: GroupVersionKind) -> Object:
        return self._decoded(await restored, to)

    async def ask(self, obj: Object, to: GroupVersionKind) -> Object:
        """An object converted by the webhook. Raises ApiError."""
        return await self._resource.converter.convert(obj, to.group_version)
