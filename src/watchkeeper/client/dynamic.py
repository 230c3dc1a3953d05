"""Objects of any kind, as dicts: what a RestClient is asked, resource by resource."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from watchkeeper.apis.validation.names import is_path_segment_name
from watchkeeper.client.errors import ClientError, error_of
from watchkeeper.client.interface import Object
from watchkeeper.client.rest import Lines, Query, Requests, RestClient
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.gvk import GroupVersion, GroupVersionResource

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"

Event = tuple[str, Object]
"""Of a watch: ADDED, MODIFIED, DELETED or BOOKMARK, and the object."""


class DynamicClient:
    """All resources of a server."""

    def __init__(self, rest: RestClient) -> None:
        self.rest = rest
        self._kinds: dict[tuple[str, str], tuple[str, bool]] = {}

    def __repr__(self) -> str:
        return f"<DynamicClient of {self.rest.config.url}>"

    def resource(self, gvr: GroupVersionResource, *, namespace: str = "") -> ResourceClient:
        """A resource in a namespace; without one, in all namespaces, or a resource of the cluster."""
        return ResourceClient(self.rest, gvr, namespace)

    async def of_kind(self, api_version: str, kind: str, *, namespace: str = "") -> ResourceClient:
        """The resource of a kind, as discovery tells. Raises ApiError: 404 when there is none, ClientError.

        Resources of the cluster are given without the namespace.
        """
        found = self._kinds.get((api_version, kind))
        if found is None:
            found = self._kinds[api_version, kind] = await self._discover(api_version, kind)
        plural, namespaced = found
        gv = GroupVersion.parse(api_version)
        return self.resource(GroupVersionResource(gv.group, gv.version, plural), namespace=namespace * namespaced)

    async def _discover(self, api_version: str, kind: str) -> tuple[str, bool]:
        prefix = "/apis/" if "/" in api_version else "/api/"
        none = ApiError(404, "NotFound", f'no matches for kind "{kind}" in version "{api_version}"')
        try:
            listed = await self.rest.request("GET", prefix + api_version)
        except ApiError as error:
            raise (none if error.code == 404 else error) from None
        for entry in listed.get("resources") or ():
            if entry.get("kind") == kind and "/" not in entry.get("name", ""):
                return entry["name"], bool(entry.get("namespaced"))
        raise none


class ResourceClient:
    """One resource, in one namespace or everywhere. All methods raise ApiError and ClientError.

    A name that is empty, or that would lead elsewhere in a path, is a ClientError, and nothing is sent: a deletion of
    the object "" would be one of all objects.
    """

    def __init__(self, rest: Requests, gvr: GroupVersionResource, namespace: str = "") -> None:
        """Raises ClientError for what cannot be a namespace."""
        if namespace:
            _check_segment("namespace", namespace)
        self.rest = rest
        self.gvr = gvr
        self.namespace = namespace
        root = f"/apis/{gvr.group}/{gvr.version}" if gvr.group else f"/api/{gvr.version}"
        self.path = f"{root}/namespaces/{namespace}/{gvr.resource}" if namespace else f"{root}/{gvr.resource}"

    def __repr__(self) -> str:
        return f"<ResourceClient {self.path}>"

    def within(self, namespace: str) -> ResourceClient:
        """The same resource in a namespace."""
        return ResourceClient(self.rest, self.gvr, namespace)

    async def get(self, name: str, *, subresource: str = "", **query: str) -> Object:
        """One object, or a subresource of it. `query`: further parameters, such as resourceVersion."""
        return await self._send("GET", self._path(name, subresource), query)

    async def list(self, **query: str) -> Object:
        """A list, as the server gives it: `items`, and in its metadata what goes on from here."""
        return await self._send("GET", self.path, query)

    async def create(self, obj: Object, *, subresource: str = "", **query: str) -> Object:
        """Store a new object; with a subresource, post to that of the object of this name."""
        path = self._path(obj["metadata"]["name"], subresource) if subresource else self.path
        return await self._send("POST", path, query, obj)

    async def update(self, obj: Object, *, subresource: str = "", **query: str) -> Object:
        """Replace an object, or with `subresource="status"` its status."""
        return await self._send("PUT", self._path(obj["metadata"]["name"], subresource), query, obj)

    async def patch(
        self, name: str, patch: Any, *, content_type: str = MERGE_PATCH, subresource: str = "", **query: str
    ) -> Object:
        """Change an object by a patch of a type."""
        body = patch if isinstance(patch, bytes) else orjson.dumps(patch)
        path = self._path(name, subresource)
        result: Object = await self.rest.request(
            "PATCH", path, query=query.items(), body=body, content_type=content_type
        )
        return result

    async def apply(self, obj: Object, *, manager: str, force: bool = False, subresource: str = "") -> Object:
        """Apply an object on the server's side, as the manager of its fields. Conflicts are 409 without `force`."""
        return await self.patch(
            obj["metadata"]["name"],
            obj,
            content_type=APPLY_PATCH,
            subresource=subresource,
            fieldManager=manager,
            force=str(force).lower(),
        )

    async def delete(self, name: str, options: Object | None = None, **query: str) -> Object:
        """Delete an object; returns it as it is being deleted, or a Status. `options`: a DeleteOptions."""
        return await self._send("DELETE", self._path(name), query, options)

    async def delete_collection(self, options: Object | None = None, **query: str) -> Object:
        """Delete all objects that the query selects."""
        return await self._send("DELETE", self.path, query, options)

    async def watch(self, **query: str) -> Watch:
        """The events from a version on, until the server ends the watch. Close it."""
        parameters = {**query, "watch": "true"}
        return Watch(await self.rest.lines(self.path, query=parameters.items()))

    async def _send(self, method: str, path: str, query: Mapping[str, str], body: Any = None) -> Object:
        parameters: Query = query.items()
        found: Object = await self.rest.request(method, path, query=parameters, body=body)
        return found

    def _path(self, name: str, subresource: str = "") -> str:
        """The path of one object. Raises ClientError for what cannot be its name."""
        _check_segment("name", name)
        return f"{self.path}/{name}/{subresource}" if subresource else f"{self.path}/{name}"


def _check_segment(what: str, text: str) -> None:
    if not text:
        raise ClientError(f"the {what} of an object may not be empty")
    if wrong := is_path_segment_name(text):
        raise ClientError(f"invalid {what} {text!r}: {'; '.join(wrong)}")


class Watch:
    """An open watch: `async for kind, obj in watch`. An ERROR event raises ApiError; ClientError when it breaks."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines

    def __aiter__(self) -> Watch:
        return self

    async def __anext__(self) -> Event:
        event = orjson.loads(await anext(self._lines))
        obj: Object = event["object"]
        if event["type"] == "ERROR":
            raise error_of(int(obj.get("code") or 500), obj, str(obj.get("message") or "the watch failed"))
        return event["type"], obj

    def close(self) -> None:
        """Stop. Synchronous and idempotent."""
        self._lines.close()
