"""The OpenAPI documents of other API servers: fetched every minute, and told of with those of this server."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import orjson

from watchkeeper.aio.backoff import Backoff
from watchkeeper.aio.tasks import TaskOwner
from watchkeeper.endpoints.openapi.remote_v2 import version_spec
from watchkeeper.endpoints.response import PathHandler
from watchkeeper.meta.gvk import GroupVersion
from watchkeeper.request.user import User
from watchkeeper.server.aggregation.fetch import Fetched, FetchError, ask
from watchkeeper.server.aggregation.remote import Remote

log = logging.getLogger(__name__)

REFRESH_SECONDS = 60.0
FIRST_SECONDS = 1.0
"""After how long a new server is asked unless it turns out to be available before."""
_MAX_FAILED_SECONDS = 3600.0
_SECONDS = 60.0
_MAX_BYTES = 32 * 1024 * 1024
_AGGREGATOR = User("system:aggregator")


class Documents(Protocol):
    """Who tells of them (`endpoints.openapi.documents.OpenAPI`)."""

    def set_remote(self, at: GroupVersion, paths: Mapping[str, str], handler: PathHandler) -> None:
        """Take in where a server has its documents of v3, and who passes requests for these on."""
        ...

    def set_remote_v2(self, at: GroupVersion, spec: bytes | None) -> None:
        """Take in what a server's document of v2 has of a version (`version_spec`), None for nothing."""
        ...

    def remove_remote(self, at: GroupVersion) -> None:
        """Forget them."""
        ...


class _Failed(Exception):
    """A document cannot be had; the message says why."""


@dataclass(slots=True, eq=False)
class _Followed:
    remote: Remote
    handler: PathHandler
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    failing: bool = True
    etag: str = ""
    """Of the document of v2."""

    @property
    def at(self) -> GroupVersion:
        return GroupVersion(self.remote.group, self.remote.version)


class RemoteOpenAPI:
    """Fetches the documents behind each remote APIService."""

    def __init__(self, documents: Documents, tasks: TaskOwner) -> None:
        self._documents = documents
        self._tasks = tasks
        self._followed: dict[str, _Followed] = {}

    def __repr__(self) -> str:
        return f"<RemoteOpenAPI of {', '.join(self._followed) or 'nothing'}>"

    def put(self, remote: Remote, handler: PathHandler) -> None:
        """Fetch; at once when one is available whose documents could not be had so far."""
        known = self._followed.get(remote.name)
        if known is None:
            made = self._followed[remote.name] = _Followed(remote, handler)
            self._tasks.start(f"openapi of {remote.name}", self._run(made))
        elif known.failing and remote.available:
            known.wake.set()

    def remove(self, name: str) -> None:
        """Fetch no more; unknown ones are ignored."""
        known = self._followed.pop(name, None)
        if known is not None:
            known.wake.set()
            self._documents.remove_remote(known.at)

    async def _run(self, followed: _Followed) -> None:
        backoff = Backoff(initial=REFRESH_SECONDS, limit=_MAX_FAILED_SECONDS, jitter=0)
        name = followed.remote.name
        seconds = FIRST_SECONDS
        while True:
            try:
                async with asyncio.timeout(seconds):
                    await followed.wake.wait()
            except TimeoutError:
                pass
            followed.wake.clear()
            if self._followed.get(name) is not followed:
                return
            followed.failing = not await self._fetch(followed)
            if followed.failing:
                seconds = backoff.next()
            else:
                backoff.reset()
                seconds = REFRESH_SECONDS

    async def _fetch(self, followed: _Followed) -> bool:
        """Fetch the documents; whether both are there that the server has."""
        well = True
        for fetching in (self._fetch_v3, self._fetch_v2):
            try:
                await fetching(followed)
            except (_Failed, ValueError) as problem:
                well = False
                log.warning("loading OpenAPI spec for %s failed with: %s", followed.remote.name, problem)
        return well

    def _is_followed(self, followed: _Followed) -> bool:
        return self._followed.get(followed.remote.name) is followed

    async def _fetch_v3(self, followed: _Followed) -> None:
        answer = await _ask(followed.remote, "/openapi/v3")
        if answer.head.status not in (200, 404):
            raise _Failed("Error, could not get list of group versions for APIService")
        paths = _paths(orjson.loads(answer.body)) if answer.head.status == 200 else {}
        if self._is_followed(followed):
            self._documents.set_remote(followed.at, paths, followed.handler)

    async def _fetch_v2(self, followed: _Followed) -> None:
        answer = await _ask(followed.remote, "/openapi/v2", followed.etag)
        if answer.head.status == 304 and followed.etag:
            return
        spec: bytes | None = None
        if answer.head.status == 200:
            spec = await asyncio.to_thread(version_spec, answer.body, followed.at)
        elif answer.head.status != 404:
            raise _Failed(f"invalid status code: {answer.head.status}")
        if self._is_followed(followed):
            self._documents.set_remote_v2(followed.at, spec)
            followed.etag = answer.header(b"etag")


def _paths(index: Any) -> dict[str, str]:
    """Where the documents are, by what they are about. Raises ValueError for what is no index."""
    try:
        return {str(path): str(entry["serverRelativeURL"]) for path, entry in (index.get("paths") or {}).items()}
    except (AttributeError, KeyError, TypeError):
        raise ValueError("it is no index of OpenAPI documents") from None


async def _ask(remote: Remote, path: str, etag: str = "") -> Fetched:
    if not remote.available:
        raise _Failed("service unavailable")
    try:
        return await ask(
            remote,
            path,
            user=_AGGREGATOR,
            accept="application/json",
            etag=etag,
            seconds=_SECONDS,
            max_bytes=_MAX_BYTES,
        )
    except FetchError as problem:
        raise _Failed(f"error trying to reach service: {problem}") from problem
    except TimeoutError:
        raise _Failed("request timed out") from None
