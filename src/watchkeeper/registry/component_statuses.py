"""ComponentStatuses: the deprecated view of what a control plane is made of. Here it is the storage alone."""

from __future__ import annotations

from watchkeeper.meta import errors
from watchkeeper.meta.gvk import GroupResource
from watchkeeper.registry.rest import Context, Object
from watchkeeper.storage.interface import ListOptions, ListResult, StoredObject

_RESOURCE = GroupResource("", "componentstatuses")


class ComponentStatuses:
    """Lists no components: watchkeeper runs none that could be asked for their health."""

    def get_nowait(self, ctx: Context, name: str, resource_version: str) -> StoredObject | None:
        """Never at once."""
        return None

    async def get(self, ctx: Context, name: str, resource_version: str) -> Object:
        """There is no such component. Raises NotFound."""
        raise errors.not_found(_RESOURCE, name)

    async def list(self, ctx: Context, options: ListOptions) -> ListResult:
        """No components."""
        return ListResult([], 0)
