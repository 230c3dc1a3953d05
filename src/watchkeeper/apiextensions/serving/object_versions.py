"""Custom resources at other versions, as admission asks for them."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any

import orjson

from watchkeeper.admission.versions import SchemeVersions
from watchkeeper.meta.gvk import GroupVersionKind
from watchkeeper.runtime.scheme import gvk_of

if TYPE_CHECKING:
    from watchkeeper.apiextensions.serving.resource import CustomResource

Object = dict[str, Any]


class CustomVersions(SchemeVersions):
    """Converts objects of one definition as it says, and all else (a Scale) by the scheme."""

    def __init__(self, resource: CustomResource) -> None:
        super().__init__(resource.backend.services.scheme)
        self._resource = resource

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
        (converted,) = converter.convert_nowait([copied], to.group_version)
        return converted

    def restore(self, obj: Object, to: GroupVersionKind) -> Object | Awaitable[Object]:
        """The same, and without what only the other version knows."""
        same = gvk_of(obj) == to
        restored = super().restore(obj, to)
        if same:
            return restored
        if isinstance(restored, Awaitable):
            return self._pruned(restored, to)
        return self.scheme.kind(to).decode(restored, None)

    async def _pruned(self, restored: Awaitable[Object], to: GroupVersionKind) -> Object:
        return self.scheme.kind(to).decode(await restored, None)

    async def ask(self, obj: Object, to: GroupVersionKind) -> Object:
        """An object converted by the webhook. Raises ApiError."""
        (converted,) = await self._resource.converter.convert([obj], to.group_version)
        return converted
