"""Discovery: which groups, versions and resources there are, in the plain and in the aggregated form.

Built-in and custom resources feed one `Discovery`; every document is encoded once, until a group changes.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from watchkeeper.apis.catalog import ResourceInfo, SubresourceInfo
from watchkeeper.meta.gvk import GroupVersion, GroupVersionKind

AGGREGATED_MEDIA_TYPE: Final = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


@dataclass(frozen=True, slots=True)
class DiscoveryVersion:
    """A version of a group and what it serves."""

    version: str
    resources: tuple[ResourceInfo, ...]
    """In the order in which they are listed: by name."""
    stored: Mapping[str, GroupVersionKind] = field(default_factory=dict)
    """Resource -> the kind and version that it is stored as; none for what is not stored."""
    custom: bool = False
    """Whether its resources are custom, which name their kinds in full in the aggregated form."""


@dataclass(frozen=True, slots=True)
class DiscoveryGroup:
    """A group ("" is core) and its versions, the preferred one first."""

    name: str
    versions: tuple[DiscoveryVersion, ...]


@dataclass(frozen=True, slots=True)
class Aggregated:
    """A document of the aggregated form, with the ETag (in quotes) that names its content."""

    body: bytes
    etag: str


def groups_of(
    resources: Iterable[ResourceInfo], stored_as: Callable[[GroupVersionKind], GroupVersionKind]
) -> list[DiscoveryGroup]:
    """Sort resources into groups and versions, both in the order in which they first occur.

    `stored_as` says which kind and version an object of a kind is stored as.
    """
    groups: dict[str, dict[str, list[ResourceInfo]]] = {}
    for info in resources:
        groups.setdefault(info.gvr.group, {}).setdefault(info.gvr.version, []).append(info)
    return [
        DiscoveryGroup(
            group,
            tuple(
                DiscoveryVersion(
                    version,
                    tuple(infos),
                    {i.gvr.resource: stored_as(i.kind) for i in infos if "list" in i.verbs and "create" in i.verbs},
                )
                for version, infos in versions.items()
            ),
        )
        for group, versions in groups.items()
    ]


def storage_version_hash(stored: GroupVersionKind) -> str:
    """A short hash that changes when objects of a resource are stored as another version."""
    digest = hashlib.sha256(f"{stored.group}/{stored.version}/{stored.kind}".encode()).digest()
    return base64.b64encode(digest[:8]).decode()


class Discovery:
    """All discovery documents of a server."""

    def __init__(self, groups: Iterable[DiscoveryGroup] = ()) -> None:
        self._groups = {group.name: group for group in groups}
        self._cache: dict[tuple[str, ...], Any] = {}

    def set_group(self, group: DiscoveryGroup) -> None:
        """Add a group, or replace it where it stands. New groups come last."""
        self._groups[group.name] = group
        self._cache.clear()

    def remove_group(self, name: str) -> None:
        """Forget a group; unknown ones are ignored."""
        if self._groups.pop(name, None) is not None:
            self._cache.clear()

    def group(self, name: str) -> DiscoveryGroup | None:
        """A group as it stands."""
        return self._groups.get(name)

    def core_versions(self, server_address: str) -> bytes:
        """/api: the versions of the core group; `server_address` (host:port) is where clients shall go."""
        core = self._groups.get("")
        return _dumps(
            {
                "kind": "APIVersions",
                "versions": [version.version for version in core.versions] if core else [],
                "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": server_address}],
            }
        )

    def group_list(self) -> bytes:
        """/apis: all named groups."""
        return self._cached(
            ("groups",),
            lambda: {
                "kind": "APIGroupList",
                "apiVersion": "v1",
                "groups": [_group(group) for group in self._groups.values() if group.name],
            },
        )

    def group_document(self, name: str) -> bytes | None:
        """/apis/GROUP, or None."""
        group = self._groups.get(name) if name else None
        if group is None:
            return None
        return self._cached(("group", name), lambda: {"kind": "APIGroup", "apiVersion": "v1", **_group(group)})

    def resource_list(self, group: str, version: str) -> bytes | None:
        """/api/VERSION or /apis/GROUP/VERSION, or None."""
        found = self._groups.get(group)
        served = next((v for v in found.versions if v.version == version), None) if found else None
        if served is None:
            return None
        return self._cached(("resources", group, version), lambda: _resource_list(GroupVersion(group, version), served))

    def aggregated_core(self) -> Aggregated:
        """/api in the aggregated form."""
        return self._aggregated("core", [g for g in self._groups.values() if not g.name])

    def aggregated_groups(self) -> Aggregated:
        """/apis in the aggregated form."""
        return self._aggregated("named", [g for g in self._groups.values() if g.name])

    def _aggregated(self, which: str, groups: list[DiscoveryGroup]) -> Aggregated:
        key = ("aggregated", which)
        found: Aggregated | None = self._cache.get(key)
        if found is None:
            body = _dumps(_aggregated_list(groups))
            etag = hashlib.sha512(body).hexdigest().upper()
            found = self._cache[key] = Aggregated(body, f'"{etag}"')
        return found

    def _cached(self, key: tuple[str, ...], document: Callable[[], Any]) -> bytes:
        found: bytes | None = self._cache.get(key)
        if found is None:
            found = self._cache[key] = _dumps(document())
        return found


def _dumps(document: Any) -> bytes:
    return orjson.dumps(document) + b"\n"


def _group(group: DiscoveryGroup) -> dict[str, Any]:
    versions = [
        {"groupVersion": str(GroupVersion(group.name, served.version)), "version": served.version}
        for served in group.versions
    ]
    return {"name": group.name, "versions": versions, "preferredVersion": versions[0]}


def _resource_list(served_at: GroupVersion, served: DiscoveryVersion) -> dict[str, Any]:
    document: dict[str, Any] = {"kind": "APIResourceList"}
    if served_at.group:
        document["apiVersion"] = "v1"
    document["groupVersion"] = str(served_at)
    document["resources"] = entries = []
    for info in served.resources:
        entries.append(_resource(served_at, served, info))
        entries += (_subresource(served_at, info, sub) for sub in info.subresources)
    return document


def _resource(served_at: GroupVersion, served: DiscoveryVersion, info: ResourceInfo) -> dict[str, Any]:
    entry = _entry(served_at, info.gvr.resource, info.singular, info, info.kind, info.verbs)
    if info.short_names:
        entry["shortNames"] = info.short_names
    if info.categories:
        entry["categories"] = info.categories
    if info.gvr.resource in served.stored:
        entry["storageVersionHash"] = storage_version_hash(served.stored[info.gvr.resource])
    return entry


def _subresource(served_at: GroupVersion, info: ResourceInfo, sub: SubresourceInfo) -> dict[str, Any]:
    return _entry(served_at, f"{info.gvr.resource}/{sub.name}", "", info, sub.kind, sub.verbs)


def _entry(
    served_at: GroupVersion,
    name: str,
    singular: str,
    info: ResourceInfo,
    kind: GroupVersionKind,
    verbs: tuple[str, ...],
) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": name, "singularName": singular, "namespaced": info.namespaced}
    if kind.group_version != served_at:
        entry["group"], entry["version"] = kind.group, kind.version
    entry["kind"], entry["verbs"] = kind.kind, verbs
    return entry


def _aggregated_list(groups: Iterable[DiscoveryGroup]) -> dict[str, Any]:
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": [
            {
                "metadata": {"name": group.name} if group.name else {},
                "versions": [_aggregated_version(group.name, served) for served in group.versions],
            }
            for group in groups
        ],
    }


def _aggregated_version(group: str, served: DiscoveryVersion) -> dict[str, Any]:
    served_at = None if served.custom else GroupVersion(group, served.version)
    return {
        "version": served.version,
        "resources": [_aggregated_resource(served_at, info) for info in served.resources],
        "freshness": "Current",
    }


def _aggregated_resource(served_at: GroupVersion | None, info: ResourceInfo) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "resource": info.gvr.resource,
        "responseKind": _response_kind(served_at, info.kind),
        "scope": "Namespaced" if info.namespaced else "Cluster",
        "singularResource": info.singular,
        "verbs": info.verbs,
    }
    if info.short_names:
        entry["shortNames"] = info.short_names
    if info.categories:
        entry["categories"] = info.categories
    if info.subresources:
        entry["subresources"] = [
            {
                "subresource": sub.name,
                "responseKind": _response_kind(served_at, sub.kind),
                "verbs": sub.verbs,
            }
            for sub in info.subresources
        ]
    return entry


def _response_kind(served_at: GroupVersion | None, kind: GroupVersionKind) -> dict[str, str]:
    """A kind, without group and version where those go without saying."""
    if kind.group_version == served_at:
        return {"group": "", "version": "", "kind": kind.kind}
    return {"group": kind.group, "version": kind.version, "kind": kind.kind}
