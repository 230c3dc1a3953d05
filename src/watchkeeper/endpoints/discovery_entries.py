"""The parts that discovery documents are joined from: what each resource and each group says, encoded once.

A server may have thousands of custom resources, and one of them changes: only what is said of that one is made anew.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from watchkeeper.apis.apiregistration.priorities import OTHER
from watchkeeper.apis.catalog import ResourceInfo, SubresourceInfo
from watchkeeper.meta.gvk import GroupVersion, GroupVersionKind


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
    elsewhere: bool = False
    """Whether an APIService alone tells of it: nothing of it is served here."""
    remote: bool = False
    """Whether that says where it is served."""
    entry: bytes = b""
    """What the aggregated form has of a remote one, as its server tells it, empty as long as that is not known."""
    unlisted: bool = False
    """Whether its APIService was deleted: it is served all the same, but the plain documents are silent about it."""
    priorities: tuple[int, int] = OTHER
    """That of its group, of whose versions the highest counts, and its own in that: documents are sorted by these."""


@dataclass(frozen=True, slots=True)
class DiscoveryGroup:
    """A group ("" is core) and its versions, the preferred one first."""

    name: str
    versions: tuple[DiscoveryVersion, ...]


def encode(document: Any) -> bytes:
    """A document that is not joined from parts."""
    return orjson.dumps(document) + b"\n"


_ADMISSION = "admissionregistration.k8s.io"
_HASHED_VERSIONS = {
    ("apiextensions.k8s.io", "CustomResourceDefinition"): "v1beta1",
    (_ADMISSION, "MutatingAdmissionPolicy"): "v1beta1",
    (_ADMISSION, "MutatingAdmissionPolicyBinding"): "v1beta1",
}
"""What kube-apiserver 1.36 stores these as, which clients compare; here they are stored as v1."""


def storage_version_hash(stored: GroupVersionKind) -> str:
    """A short hash that changes when objects of a resource are stored as another version."""
    version = _HASHED_VERSIONS.get((stored.group, stored.kind), stored.version)
    digest = hashlib.sha256(f"{stored.group}/{version}/{stored.kind}".encode()).digest()
    return base64.b64encode(digest[:8]).decode()


class GroupEntry:
    """What is said of a group, as long as it does not change."""

    def __init__(self, group: DiscoveryGroup, before: GroupEntry | None = None) -> None:
        """`before` is the entry that this one replaces: what it says of resources that stay as they are is kept."""
        self.group = group
        kept: dict[str, _VersionEntry] = before._versions if before is not None else {}
        self._versions: dict[str, _VersionEntry] = {
            v.version: _VersionEntry(group.name, v, kept.get(v.version)) for v in group.versions
        }
        self._shown = [version for version in group.versions if not version.unlisted]
        self._aggregated: bytes | None = None
        self._listed: bytes | None = None

    def __repr__(self) -> str:
        return f"<GroupEntry {self.group.name!r}: {', '.join(self._versions)}>"

    def plain_order(self) -> tuple[int, str]:
        """The place of the group in the plain form: that of its first APIService by priority and `VERSION.GROUP`."""
        return min((-v.priorities[0], f"{v.version}.{self.group.name}") for v in self._shown or self.group.versions)

    def aggregated_order(self) -> tuple[int, str]:
        """The place of the group in the aggregated form, which tells of no versions that nobody serves."""
        told = [v.priorities[0] for v in self.group.versions if v.remote or not v.elsewhere]
        return (-max(told, default=0), self.group.name)

    @property
    def aggregated(self) -> bytes:
        """The group's item in the aggregated form, "" when there is nothing to tell."""
        if self._aggregated is None:
            metadata = {"name": self.group.name} if self.group.name else {}
            versions = b",".join(filter(None, [version.aggregated() for version in self._versions.values()]))
            self._aggregated = (
                b'{"metadata":%b,"versions":[%b]}' % (orjson.dumps(metadata), versions) if versions else b""
            )
        return self._aggregated

    @property
    def listed(self) -> bytes:
        """The group's item in the list of groups, "" when it has no place there."""
        if self._listed is None:
            self._listed = orjson.dumps(self._names(self._shown)) if self._shown else b""
        return self._listed

    def document(self) -> bytes:
        """/apis/GROUP, which tells of unlisted versions if there are no others."""
        return encode({"kind": "APIGroup", "apiVersion": "v1", **self._names(self._shown or self.group.versions)})

    def resource_list(self, version: str) -> bytes | None:
        """/apis/GROUP/VERSION, or None for a version that the group does not have."""
        found = self._versions.get(version)
        return found.resource_list() if found is not None else None

    def _names(self, served: Sequence[DiscoveryVersion]) -> dict[str, Any]:
        name = self.group.name
        versions = [{"groupVersion": str(GroupVersion(name, v.version)), "version": v.version} for v in served]
        return {"name": name, "versions": versions, "preferredVersion": versions[0]}


class _VersionEntry:
    """What is said of a version of a group."""

    __slots__ = ("_resource_list", "_resources", "_served", "_served_at")

    def __init__(self, group: str, served: DiscoveryVersion, before: _VersionEntry | None) -> None:
        self._served = served
        self._served_at = GroupVersion(group, served.version)
        self._resource_list: bytes | None = None
        self._resources: dict[str, _ResourceEntry] = {}
        kept = before._resources if before is not None else {}
        for info in served.resources:
            name = info.gvr.resource
            stored = served.stored.get(name)
            entry = kept.get(name)
            if entry is None or not entry.says(info, stored, custom=served.custom):
                entry = _ResourceEntry(self._served_at, info, stored, custom=served.custom)
            self._resources[name] = entry

    def aggregated(self) -> bytes:
        if self._served.elsewhere:
            stale = b'{"version":%b,"freshness":"Stale"}' % orjson.dumps(self._served.version)
            return (self._served.entry or stale) if self._served.remote else b""
        resources = b",".join([entry.aggregated for entry in self._resources.values()])
        version = orjson.dumps(self._served.version)
        return b'{"version":%b,"resources":[%b],"freshness":"Current"}' % (version, resources)

    def resource_list(self) -> bytes | None:
        if self._served.elsewhere:
            return None
        if self._resource_list is None:
            head = {"kind": "APIResourceList", **({"apiVersion": "v1"} if self._served_at.group else {})}
            head["groupVersion"] = str(self._served_at)
            resources = b",".join([entry.listed for entry in self._resources.values()])
            self._resource_list = b'%b,"resources":[%b]}\n' % (orjson.dumps(head)[:-1], resources)
        return self._resource_list


class _ResourceEntry:
    """What is said of a resource at a version."""

    __slots__ = ("_aggregated", "_custom", "_info", "_listed", "_served_at", "_stored")

    def __init__(
        self, served_at: GroupVersion, info: ResourceInfo, stored: GroupVersionKind | None, *, custom: bool
    ) -> None:
        self._served_at = served_at
        self._info = info
        self._stored = stored
        self._custom = custom
        self._aggregated: bytes | None = None
        self._listed: bytes | None = None

    def says(self, info: ResourceInfo, stored: GroupVersionKind | None, *, custom: bool) -> bool:
        """Whether it is made of just that."""
        return (self._info is info or self._info == info) and self._stored == stored and self._custom == custom

    @property
    def aggregated(self) -> bytes:
        if self._aggregated is None:
            served_at = None if self._custom else self._served_at
            self._aggregated = orjson.dumps(_aggregated_resource(served_at, self._info))
        return self._aggregated

    @property
    def listed(self) -> bytes:
        """The resource and its subresources, without brackets."""
        if self._listed is None:
            entries = [
                _resource(self._served_at, self._info, self._stored),
                *(_subresource(self._served_at, self._info, sub) for sub in self._info.subresources),
            ]
            self._listed = orjson.dumps(entries)[1:-1]
        return self._listed


def _resource(served_at: GroupVersion, info: ResourceInfo, stored: GroupVersionKind | None) -> dict[str, Any]:
    entry = _entry(served_at, info.gvr.resource, info.singular, info, info.kind, info.verbs)
    if info.short_names:
        entry["shortNames"] = info.short_names
    if info.categories:
        entry["categories"] = info.categories
    if stored is not None:
        entry["storageVersionHash"] = storage_version_hash(stored)
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


def aggregated_list(items: Iterable[bytes]) -> bytes:
    """The document of the aggregated form, from the items of groups."""
    head = b'{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","metadata":{},"items":['
    return b"%b%b]}\n" % (head, b",".join(filter(None, items)))


def group_list(items: Iterable[bytes]) -> bytes:
    """The document that lists groups, from their items."""
    return b'{"kind":"APIGroupList","apiVersion":"v1","groups":[%b]}\n' % b",".join(filter(None, items))


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
