"""Objects of a server that runs, as its API gives them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

from watchkeeper.client.errors import ClientError
from watchkeeper.client.rest import RestClient
from watchkeeper.meta.errors import ApiError
from watchkeeper.server.transfer.interface import Object, TransferError, Unreadable

_PAGE = 500
_WANTED_VERBS = frozenset({"list", "create"})
"""What can only be listed, such as measurements, no other server takes."""


@dataclass(frozen=True, slots=True)
class _Listed:
    """A resource that can be listed."""

    api_version: str
    kind: str
    name: str
    namespaced: bool

    def path(self, namespace: str) -> str:
        root = f"/apis/{self.api_version}" if "/" in self.api_version else f"/api/{self.api_version}"
        return f"{root}/namespaces/{namespace}/{self.name}" if namespace else f"{root}/{self.name}"


class ServerSource:
    """Asks for everything that discovery tells of, each resource at its group's preferred version."""

    def __init__(self, client: RestClient) -> None:
        self._client = client

    async def objects(self, namespace: str) -> AsyncIterator[Object | Unreadable]:
        """Resource by resource, in pages; what is refused is reported, and so is a version that does not answer."""
        try:
            own = await self._namespace(namespace)
            resources = [resource async for resource in self._resources()]
        except ApiError as error:
            raise TransferError(f"{self._client.config.url}: {error}") from error
        except ClientError as error:  # which names the server
            raise TransferError(str(error)) from error
        if own is not None:
            yield own
        for resource in resources:
            if isinstance(resource, Unreadable):
                yield resource
                continue
            if namespace and not resource.namespaced:
                continue
            try:
                async for obj in self._list(resource, namespace):
                    yield obj
            except (ApiError, ClientError) as error:
                yield Unreadable(f"{resource.name} ({resource.api_version})", _why(error))

    async def _namespace(self, name: str) -> Object | None:
        """The namespace itself, as far as it may be read.

        Raises TransferError for one that is known not to be there: its lists would just be empty.
        """
        if not name:
            return None
        try:
            found: Object = await self._client.request("GET", f"/api/v1/namespaces/{name}")
        except ApiError as error:
            if error.code == 404:
                raise TransferError(f"{self._client.config.url}: there is no namespace {name!r}") from error
            return None
        return {"apiVersion": "v1", "kind": "Namespace", **found}

    async def _resources(self) -> AsyncIterator[_Listed | Unreadable]:
        seen: set[tuple[str, str]] = set()
        versions = [str(version) for version in (await self._client.request("GET", "/api"))["versions"]]
        for group in (await self._client.request("GET", "/apis"))["groups"]:
            preferred = group["preferredVersion"]["groupVersion"]
            served = [version["groupVersion"] for version in group["versions"]]
            versions += [preferred, *(version for version in served if version != preferred)]
        for version in versions:
            root = "/apis/" if "/" in version else "/api/"
            try:
                entries = (await self._client.request("GET", root + version)).get("resources") or ()
            except ApiError as error:
                yield Unreadable(version, _why(error))
                continue
            for entry in entries:
                key = (version.rpartition("/")[0], entry["name"])
                if key in seen or "/" in entry["name"] or not set(entry["verbs"]) >= _WANTED_VERBS:
                    continue
                seen.add(key)
                yield _Listed(version, entry["kind"], entry["name"], entry["namespaced"])

    async def _list(self, resource: _Listed, namespace: str) -> AsyncIterator[Object]:
        token = ""
        while True:
            query = [("limit", str(_PAGE)), *([("continue", token)] if token else ())]
            page = await self._client.request("GET", resource.path(namespace), query=query)
            for item in page.get("items") or ():
                yield {"apiVersion": resource.api_version, "kind": resource.kind, **item}
            token = (page.get("metadata") or {}).get("continue") or ""
            if not token:
                return


def _why(error: Exception) -> str:
    details = (error.details or {}) if isinstance(error, ApiError) else {}
    keys = [cause["field"] for cause in details.get("causes") or () if cause.get("field")]
    return f"{error} ({', '.join(keys)})" if keys else str(error)
