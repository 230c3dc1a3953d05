"""What other API servers have to offer, asked of them and asked again: a part of the aggregated discovery document."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from watchkeeper.aio.backoff import Backoff
from watchkeeper.aio.tasks import TaskOwner
from watchkeeper.meta.gvk import GroupVersion
from watchkeeper.request.user import User
from watchkeeper.server.aggregation.discovery_form import Object, version_of_list, versions_of
from watchkeeper.server.aggregation.fetch import AGGREGATOR, Fetched, FetchError, ask
from watchkeeper.server.aggregation.remote import Remote
from watchkeeper.webhook.client_config import ServiceReference

log = logging.getLogger(__name__)

REFRESH_SECONDS = 60.0
_SECONDS = 5.0
_FORMS = {f"application/json;g=apidiscovery.k8s.io;v={v};as=APIGroupDiscoveryList" for v in ("v2", "v2beta1")}
_ACCEPT = ",".join(sorted(_FORMS))
_NOBODY_SPECIAL = User(AGGREGATOR.name)
_UNAVAILABLE = 503
_MAX_BYTES = 16 * 1024 * 1024


class _Unknown(Exception):
    """Nobody tells what a version has; the message says why."""


@dataclass(frozen=True, slots=True)
class _Known:
    """What a server has told of all its versions."""

    versions: Mapping[GroupVersion, Object]
    etag: str
    since: float
    """Loop time before it was asked."""


@dataclass(slots=True, eq=False)
class _Asked:
    """One remote version."""

    remote: Remote
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    changed: float = 0.0
    """Loop time at which its APIService changed last."""


class RemoteDiscovery:
    """Asks for each remote version what it has: when its APIService changes, and every minute."""

    def __init__(self, tell: Callable[[str, bytes], None], tasks: TaskOwner) -> None:
        """`tell` is called with the name of an APIService and what the document has of its version."""
        self._tell = tell
        self._tasks = tasks
        self._asked: dict[str, _Asked] = {}
        self._known: dict[ServiceReference, _Known] = {}
        self._locks: dict[ServiceReference, asyncio.Lock] = {}
        """Servers are asked once for all of their versions."""

    def __repr__(self) -> str:
        return f"<RemoteDiscovery of {', '.join(self._asked) or 'nothing'}>"

    def put(self, remote: Remote) -> None:
        """Ask, or ask again."""
        asked = self._asked.get(remote.name)
        if asked is None or asked.remote is not remote:
            asked = self._asked[remote.name] = _Asked(remote)
            self._tasks.start(f"discovery of {remote.name}", self._run(asked))
        asked.changed = asyncio.get_running_loop().time()
        asked.wake.set()

    def remove(self, name: str) -> None:
        """Ask no more; unknown ones are ignored."""
        asked = self._asked.pop(name, None)
        if asked is not None:
            asked.wake.set()
        used = {each.remote.service for each in self._asked.values()}
        for unused in [service for service in self._known if service not in used]:
            del self._known[unused]
            self._locks.pop(unused, None)

    async def _run(self, asked: _Asked) -> None:
        backoff = Backoff(initial=0.5, limit=REFRESH_SECONDS)
        remote = asked.remote
        while self._asked.get(remote.name) is asked:
            asked.wake.clear()
            version: Object | None = {}
            told = b""
            try:
                version = await self._version(asked)
                told = _told(remote, version)
            except (_Unknown, ValueError) as problem:
                version = {}
                log.warning("cannot find out what %s has: %s", remote.name, problem)
            if self._asked.get(remote.name) is not asked:
                return
            self._tell(remote.name, told or _told(remote, {}))
            if version != {}:
                backoff.reset()
            try:
                async with asyncio.timeout(REFRESH_SECONDS if version != {} else backoff.next()):
                    await asked.wake.wait()
            except TimeoutError:
                asked.changed = asyncio.get_running_loop().time()

    async def _version(self, asked: _Asked) -> Object | None:
        """What a version has, None for one that its server does not tell of. Raises _Unknown, ValueError."""
        remote = asked.remote
        at = GroupVersion(remote.group, remote.version)
        async with self._locks.setdefault(remote.service, asyncio.Lock()):
            known = self._known.get(remote.service)
            if known is not None and known.since > asked.changed:
                return known.versions.get(at)
            since = asyncio.get_running_loop().time()
            etag = known.etag if known is not None else ""
            answer = await _ask(remote, "/apis", AGGREGATOR, _ACCEPT, etag)
            if answer.head.status == 304 and known is not None:
                known = replace(known, since=since)
            elif answer.head.status == _UNAVAILABLE:
                raise _Unknown(f"{remote.service.host} answered {answer.head.status}")
            elif answer.head.status == 200 and _is_aggregated(answer):
                known = _Known(versions_of(orjson.loads(answer.body)), answer.header(b"etag"), since)
            else:
                return await _plain(remote, at)
            self._known[remote.service] = known
            return known.versions.get(at)


def _told(remote: Remote, version: Object | None) -> bytes:
    """What the document has of a version. Raises ValueError for what JSON cannot have."""
    freshness = "Current" if version != {} else "Stale"
    try:
        return orjson.dumps({"version": remote.version, **(version or {}), "freshness": freshness})
    except TypeError as problem:
        raise ValueError(str(problem)) from problem


async def _plain(remote: Remote, at: GroupVersion) -> Object:
    """What a version has in the plain form, for servers that do not know the other."""
    answer = await _ask(remote, remote.path, _NOBODY_SPECIAL, "application/json", "")
    if answer.head.status != 200:
        raise _Unknown(f"{remote.path} is answered {answer.head.status}")
    document: Any = orjson.loads(answer.body)
    return version_of_list(document, at.version)


async def _ask(remote: Remote, path: str, user: User, accept: str, etag: str) -> Fetched:
    try:
        return await ask(remote, path, user=user, accept=accept, etag=etag, seconds=_SECONDS, max_bytes=_MAX_BYTES)
    except FetchError as problem:
        raise _Unknown(str(problem)) from problem
    except TimeoutError:
        raise _Unknown("request timed out") from None


def _is_aggregated(answer: Fetched) -> bool:
    media_type, *params = (part.strip() for part in answer.header(b"content-type").split(";"))
    given = dict(param.partition("=")[::2] for param in params)
    return (
        media_type == "application/json"
        and given.get("g") == "apidiscovery.k8s.io"
        and given.get("v") in ("v2", "v2beta1")
        and given.get("as") == "APIGroupDiscoveryList"
    )
