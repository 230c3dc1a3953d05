"""A resource as a Reflector lists and watches it."""

from __future__ import annotations

import random

from watchkeeper.client.dynamic import Event, ResourceClient, Watch
from watchkeeper.client.interface import Object
from watchkeeper.meta.errors import ApiError
from watchkeeper.reflector.interface import Batch, Expired, Page, VersionTooLarge

_WATCH_SECONDS = (300, 600)
"""How long the server is asked to keep a watch open; chance keeps many clients from coming back at once."""


class ResourceSource:
    """Implements `reflector.ListerWatcher` for objects as dicts; changes are events of a watch."""

    def __init__(self, client: ResourceClient, *, label_selector: str = "", field_selector: str = "") -> None:
        """With selectors: only objects that they select."""
        self._client = client
        self._selectors = {
            key: value for key, value in (("labelSelector", label_selector), ("fieldSelector", field_selector)) if value
        }

    def __repr__(self) -> str:
        return f"<ResourceSource {self._client.path}>"

    async def list(self, *, resource_version: str, limit: int, continue_token: str) -> Page[Object]:
        """One page. Raises Expired, VersionTooLarge, ApiError, ClientError."""
        query = dict(self._selectors)
        # A server that answers from its cache would ignore a limit; one big page spares it the work of paging.
        if limit and resource_version != "0":
            query["limit"] = str(limit)
        if continue_token:
            query["continue"] = continue_token
        elif resource_version:
            query["resourceVersion"] = resource_version
        try:
            found = await self._client.list(**query)
        except ApiError as error:
            raise translated(error) from error
        meta = found.get("metadata") or {}
        items = _with_type(found)
        return Page(items, str(meta.get("resourceVersion") or ""), str(meta.get("continue") or ""))

    async def watch(self, *, resource_version: str) -> ResourceStream:
        """Follow the collection. Raises Expired, ApiError, ClientError."""
        query = {
            **self._selectors,
            "resourceVersion": resource_version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(random.randint(*_WATCH_SECONDS)),
        }
        try:
            return ResourceStream(await self._client.watch(**query))
        except ApiError as error:
            raise translated(error) from error


def _with_type(found: Object) -> list[Object]:
    """Items as they would come alone: lists leave out of them what kind they are."""
    kind = str(found.get("kind") or "").removesuffix("List")
    api_version = found.get("apiVersion")
    items: list[Object] = found.get("items") or []
    for item in items:
        item.setdefault("kind", kind)
        item.setdefault("apiVersion", api_version)
    return items


class ResourceStream:
    """An open watch."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    async def next_batch(self) -> Batch[Event] | None:
        """The next change; None at the end. Raises Expired, ApiError, ClientError."""
        try:
            event = await anext(self._watch)
        except StopAsyncIteration:
            return None
        except ApiError as error:
            raise translated(error) from error
        kind, obj = event
        version = str((obj.get("metadata") or {}).get("resourceVersion") or "")
        return Batch([] if kind == "BOOKMARK" else [event], version)

    def close(self) -> None:
        """Stop."""
        self._watch.close()


def translated(error: ApiError) -> Exception:
    """What an answer means to a Reflector."""
    if error.code == 410 or error.reason in ("Expired", "Gone"):
        return Expired(error.message)
    too_large = any(
        cause.get("reason") == "ResourceVersionTooLarge" for cause in (error.details or {}).get("causes") or ()
    )
    return VersionTooLarge(error.message) if too_large else error
