"""What other servers have in a namespace that is to go."""

from __future__ import annotations

from typing import Any

from watchkeeper.controllers.remote_api import RemoteApi
from watchkeeper.controllers.remote_resources import RemoteResource
from watchkeeper.meta.errors import ApiError
from watchkeeper.registry.rest import DeleteOptions

Object = dict[str, Any]
_NOT_LET = (404, 405)


async def delete_all(api: RemoteApi, resource: RemoteResource, namespace: str) -> list[Object]:
    """Delete the objects of a resource in a namespace, all at once or else one by one; returns what is left of them.

    What its server does not let be listed counts as nothing. Raises ApiError for what fails: a server that tells of a
    resource in discovery and does not find it is no exception, as it may only just have started.
    """
    if resource.has("list") and not await _listed(api, resource, namespace):
        return []
    if not await _deleted_at_once(api, resource, namespace):
        for item in await _listed(api, resource, namespace):
            await _delete(api, resource, namespace, item["metadata"]["name"])
    return await _listed(api, resource, namespace)


async def _listed(api: RemoteApi, resource: RemoteResource, namespace: str) -> list[Object]:
    return await api.list(resource, namespace) if resource.has("list") else []


async def _deleted_at_once(api: RemoteApi, resource: RemoteResource, namespace: str) -> bool:
    """Whether the server lets that be done, whatever it has told of it."""
    if not resource.has("deletecollection"):
        return False
    try:
        await api.delete_collection(resource, namespace)
    except ApiError as error:
        if error.code in _NOT_LET:
            return False
        raise
    return True


async def _delete(api: RemoteApi, resource: RemoteResource, namespace: str, name: str) -> None:
    try:
        await api.delete(resource, namespace, name, DeleteOptions(propagation_policy="Background"))
    except ApiError as error:
        if error.code not in _NOT_LET:
            raise
