"""ResourceQuotas as admission reads and writes them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from watchkeeper.endpoints.scope import Scope, ServedTable
from watchkeeper.meta import errors
from watchkeeper.meta.gvk import GroupResource
from watchkeeper.registry.rest import Context, UpdateOptions
from watchkeeper.request.user import LOOPBACK
from watchkeeper.storage.interface import StoredObject

Object = dict[str, Any]

QUOTAS = GroupResource("", "resourcequotas")
MANAGER = "kube-apiserver"
"""Who owns what is in use, as far as admission has written it."""


class ServedQuotas:
    """Implements `QuotaStore` by what is served."""

    def __init__(
        self,
        served: ServedTable,
        read: Callable[[GroupResource, str], Sequence[Object] | Awaitable[Sequence[Object]]],
    ) -> None:
        """`read` gives the objects of a resource in a namespace."""
        self._served = served
        self._read = read

    def read(self, namespace: str) -> Sequence[Object] | Awaitable[Sequence[Object]]:
        """The quotas of a namespace; an awaitable when memory cannot tell."""
        return self._read(QUOTAS, namespace)

    async def update_status(self, quota: Object) -> None:
        """Write the status of a quota. Raises a 409 when it has changed since it was read."""
        found = self._served.find("", "v1", QUOTAS.resource)
        assert found is not None
        scope = found.subresources["status"]
        metadata = quota["metadata"]
        ctx = Context(user=LOOPBACK, namespace=metadata["namespace"], kind=scope.kind.gvk)
        await scope.store.update(ctx, metadata["name"], _Status(scope, quota), UpdateOptions())


class _Status:
    """A quota whose status is to be stored, as an `UpdatedObject`."""

    def __init__(self, scope: Scope, quota: Object) -> None:
        self._scope = scope
        self._quota = quota
        self.uid: str | None = quota["metadata"].get("uid")

    async def __call__(self, current: StoredObject | None) -> Object:
        """The quota, with who owns its status; what has changed since it was read is found by its version."""
        if current is None:
            raise errors.not_found(QUOTAS, self._quota["metadata"]["name"])
        obj = {**self._quota, "metadata": dict(self._quota["metadata"])}
        if self._scope.field_manager is not None:
            obj = self._scope.field_manager.update(current.data(), obj, MANAGER)
        return obj
