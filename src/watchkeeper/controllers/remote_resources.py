"""What other API servers serve, as discovery tells a controller: resources, and of which versions nothing is known.

A version whose server cannot be asked is *not discovered*. That is not absence: its objects are still there, nobody can
tell which. Only a version without an APIService is served no longer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import orjson

from watchkeeper.apis.catalog import ResourceInfo
from watchkeeper.endpoints.discovery import Discovery
from watchkeeper.endpoints.scope import ServedTable
from watchkeeper.meta.gvk import GroupVersion, GroupVersionKind, GroupVersionResource

Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class RemoteResource:
    """A resource of another server. Two are equal when discovery tells the same of them."""

    info: ResourceInfo

    def has(self, *verbs: str) -> bool:
        """Whether its server lets it be used so."""
        return all(verb in self.info.verbs for verb in verbs)


@dataclass(frozen=True, slots=True)
class RemoteVersion:
    """A version of a group that another server serves."""

    at: GroupVersion
    discovered: bool
    """Whether its server could be asked what it has, when discovery did that last: within a minute."""
    resources: tuple[RemoteResource, ...]
    """What it has; of one that is not discovered, what it had when it was, nothing if that never was."""


class RemoteResources:
    """Reads what discovery has of versions that are passed on. It is parsed when it has changed and somebody asks.

    All answers are as new as the discovery document of this server is. Nothing is asked of other servers here.
    """

    def __init__(self, served: ServedTable, discovery: Discovery) -> None:
        self._served = served
        self._discovery = discovery
        self._read: dict[GroupVersion, tuple[bytes, RemoteVersion]] = {}

    def __repr__(self) -> str:
        return f"<RemoteResources of {', '.join(map(str, self._served.remote)) or 'nobody'}>"

    @property
    def on_change(self) -> list[Callable[[str], None]]:
        """Who is called with the name of a group when what discovery has of it changes, also of what is served here.

        A version that comes or goes may not be passed on yet, or still be, at that moment; look a little later.
        """
        return self._discovery.on_change

    def versions(self, group: str | None = None) -> list[RemoteVersion]:
        """All versions, or those of one group, the preferred ones of each first."""
        remote = self._served.remote
        for gone in self._read.keys() - remote.keys():
            del self._read[gone]
        groups = dict.fromkeys(at.group for at in remote if group in (None, at.group))
        return [self._version(at, entry) for name in groups for at, entry in self._told(name)]

    def version(self, at: GroupVersion) -> RemoteVersion | None:
        """One of them, None for what is served here or nowhere."""
        if at not in self._served.remote:
            return None
        return next(each for each in self.versions(at.group) if each.at == at)

    def undiscovered(self) -> list[GroupVersion]:
        """The versions of which nobody can tell now what they have."""
        return [each.at for each in self.versions() if not each.discovered]

    def preferred(self, *verbs: str, group: str | None = None) -> Iterator[RemoteResource]:
        """Each resource of each group once, at the preferred version of those that are discovered and have it; of
        these, what has all the verbs there. What is served here too, at another version, is left out.
        """
        seen: set[tuple[str, str]] = set()
        for version in self.versions(group):
            if not version.discovered:
                continue
            for each in version.resources:
                key = (version.at.group, each.info.gvr.resource)
                if key not in seen and not self._is_here(*key) and each.has(*verbs):
                    yield each
                seen.add(key)

    def _is_here(self, group: str, resource: str) -> bool:
        return any(
            self._served.find(group, version, resource) is not None
            for version in self._served.versions(group)
            if GroupVersion(group, version) not in self._served.remote
        )

    def _told(self, group: str) -> Iterator[tuple[GroupVersion, bytes]]:
        """The versions of a group that are passed on, and what discovery has of them, b"" for nothing yet."""
        found = self._discovery.group(group)
        told = {v.version: v.entry for v in (found.versions if found is not None else ()) if v.remote}
        for version, entry in told.items():
            if GroupVersion(group, version) in self._served.remote:
                yield GroupVersion(group, version), entry
        for at in self._served.remote:
            if at.group == group and at.version not in told:
                yield at, b""

    def _version(self, at: GroupVersion, entry: bytes) -> RemoteVersion:
        before = self._read.get(at)
        if before is not None and before[0] == entry:
            return before[1]
        document: Object = orjson.loads(entry) if entry else {}
        if document.get("freshness") == "Current":
            found = RemoteVersion(at, True, tuple(_resources(at, document)))
        else:
            found = RemoteVersion(at, False, before[1].resources if before is not None else ())
        self._read[at] = entry, found
        return found


def _resources(at: GroupVersion, document: Object) -> Iterator[RemoteResource]:
    for each in document.get("resources") or ():
        kind = (each.get("responseKind") or {}).get("kind") or ""
        yield RemoteResource(
            ResourceInfo(
                GroupVersionResource(at.group, at.version, each["resource"]),
                GroupVersionKind(at.group, at.version, kind),
                each.get("singularResource") or "",
                each.get("scope") == "Namespaced",
                tuple(each.get("verbs") or ()),
            )
        )
