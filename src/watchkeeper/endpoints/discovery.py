"""Discovery: which groups, versions and resources there are, in the plain and in the aggregated form.

Built-in and custom resources feed one `Discovery`. Documents are joined from parts (`discovery_entries`) when somebody
asks after a change, and kept until the next one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

import orjson

from watchkeeper.apis.apiregistration.priorities import priorities_of
from watchkeeper.apis.catalog import ResourceInfo
from watchkeeper.apis.protobuf import protobuf_of
from watchkeeper.endpoints.discovery_entries import (
    DiscoveryGroup,
    DiscoveryVersion,
    GroupEntry,
    aggregated_list,
    encode,
    group_list,
    storage_version_hash,
)
from watchkeeper.meta.gvk import GroupVersion, GroupVersionKind
from watchkeeper.meta.versions import version_order
from watchkeeper.runtime.yaml import dump_yaml


@dataclass(slots=True)
class Aggregated:
    """A document of the aggregated form, with the ETag (in quotes) that names its content."""

    body: bytes
    etag: str
    _yaml: bytes | None = field(default=None, compare=False, repr=False)
    _protobuf: bytes | None = field(default=None, compare=False, repr=False)

    def yaml(self) -> bytes:
        """The same in YAML, which takes long to write: so it is kept."""
        if self._yaml is None:
            self._yaml = dump_yaml(orjson.loads(self.body))
        return self._yaml

    def protobuf(self) -> bytes:
        """The same in protobuf; kept, too."""
        if self._protobuf is None:
            self._protobuf = protobuf_of(orjson.loads(self.body))
        return self._protobuf


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
                    priorities=priorities_of(GroupVersion(group, version)),
                )
                for version, infos in versions.items()
            ),
        )
        for group, versions in groups.items()
    ]


class Discovery:
    """All discovery documents of a server. Groups and versions are sorted by their priorities.

    Of equal ones, versions are sorted by name, stable ones first, and groups by name in the aggregated form and by
    their least `VERSION.GROUP` in the plain one, as in kube-apiserver.
    """

    def __init__(self, groups: Iterable[DiscoveryGroup] = ()) -> None:
        self._groups = {group.name: GroupEntry(group) for group in groups}
        self._served = {group.name: group.versions for group in self.groups()}
        """By group: the versions that are served here, also those that an APIService tells of as served elsewhere."""
        self._elsewhere: dict[str, tuple[DiscoveryVersion, ...]] = {}
        """By group: the versions of which only APIServices tell."""
        self._unlisted: dict[str, frozenset[str]] = {}
        """By group: the versions whose APIServices are gone."""
        self.on_change: list[Callable[[str], None]] = []
        """Called with the name of a group that has changed."""
        self._aggregated_core: Aggregated | None = None
        self._aggregated_groups: Aggregated | None = None
        self._group_list: bytes | None = None

    def __repr__(self) -> str:
        return f"<Discovery: {len(self._groups)} groups>"

    def set_group(self, group: DiscoveryGroup) -> None:
        """Add a group, or replace what is served here of it."""
        self._set(group.name, group.versions)

    def remove_group(self, name: str) -> None:
        """Forget what is served here of a group; unknown ones are ignored."""
        self._set(name, ())

    def set_elsewhere(
        self, name: str, versions: tuple[DiscoveryVersion, ...], unlisted: frozenset[str] = frozenset()
    ) -> None:
        """Tell of versions of a group that are not served here. A remote one takes the place of one that is.

        The plain documents do not tell of `unlisted` ones.
        """
        if unlisted:
            self._unlisted[name] = unlisted
        else:
            self._unlisted.pop(name, None)
        if versions:
            self._elsewhere[name] = versions
        else:
            self._elsewhere.pop(name, None)
        self._set(name, self._served.get(name, ()))

    def _set(self, name: str, served: tuple[DiscoveryVersion, ...]) -> None:
        """Tell of a group. What it says is encoded at once, so that whoever asks first need not wait."""
        unlisted = self._unlisted.get(name, frozenset())
        served = tuple(
            v if v.unlisted == (v.version in unlisted) else replace(v, unlisted=not v.unlisted) for v in served
        )
        if served:
            self._served[name] = served
        else:
            self._served.pop(name, None)
        versions = _joined(served, self._elsewhere.get(name, ()))
        before = self._groups.get(name)
        if versions == (before.group.versions if before is not None else ()):
            return
        if versions:
            entry = self._groups[name] = GroupEntry(DiscoveryGroup(name, versions), before)
            _ = entry.aggregated, entry.listed
        else:
            del self._groups[name]
        self._forget()
        for callback in self.on_change:
            callback(name)

    def _forget(self) -> None:
        self._aggregated_core = self._aggregated_groups = self._group_list = None

    def group(self, name: str) -> DiscoveryGroup | None:
        """A group as it stands."""
        found = self._groups.get(name)
        return found.group if found is not None else None

    def groups(self) -> list[DiscoveryGroup]:
        """All groups as they stand."""
        return [entry.group for entry in self._groups.values()]

    def served(self, name: str) -> tuple[DiscoveryVersion, ...]:
        """The versions of a group that are served here, whatever APIServices tell."""
        return self._served.get(name, ())

    def core_versions(self, server_address: str) -> bytes:
        """/api: the versions of the core group; `server_address` (host:port) is where clients shall go."""
        core = self.group("")
        return encode(
            {
                "kind": "APIVersions",
                "versions": [version.version for version in core.versions] if core else [],
                "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": server_address}],
            }
        )

    def group_list(self) -> bytes:
        """/apis: all named groups."""
        if self._group_list is None:
            self._group_list = group_list([entry.listed for entry in self._named(GroupEntry.plain_order)])
        return self._group_list

    def group_document(self, name: str) -> bytes | None:
        """/apis/GROUP, or None."""
        entry = self._groups.get(name) if name else None
        return entry.document() if entry is not None else None

    def resource_list(self, group: str, version: str) -> bytes | None:
        """/api/VERSION or /apis/GROUP/VERSION, or None."""
        entry = self._groups.get(group)
        return entry.resource_list(version) if entry is not None else None

    def aggregated_core(self) -> Aggregated:
        """/api in the aggregated form."""
        if self._aggregated_core is None:
            core = self._groups.get("")
            self._aggregated_core = _aggregated([core] if core is not None else [])
        return self._aggregated_core

    def aggregated_groups(self) -> Aggregated:
        """/apis in the aggregated form."""
        if self._aggregated_groups is None:
            self._aggregated_groups = _aggregated(self._named(GroupEntry.aggregated_order))
        return self._aggregated_groups

    def _named(self, order: Callable[[GroupEntry], tuple[int, str]]) -> list[GroupEntry]:
        """All groups but core, in an order."""
        return sorted((entry for name, entry in self._groups.items() if name), key=order)


def _joined(served: Iterable[DiscoveryVersion], told: Iterable[DiscoveryVersion]) -> tuple[DiscoveryVersion, ...]:
    """The versions that are served here and those that APIServices tell of, the preferred one first."""
    versions = {v.version: v for v in told}
    versions.update({v.version: v for v in served if v.version not in versions or not versions[v.version].remote})
    return tuple(sorted(versions.values(), key=lambda v: (-v.priorities[1], version_order(v.version))))


def _aggregated(entries: list[GroupEntry]) -> Aggregated:
    body = aggregated_list([entry.aggregated for entry in entries])
    return Aggregated(body, f'"{hashlib.sha512(body).hexdigest().upper()}"')


__all__ = [
    "Aggregated",
    "Discovery",
    "DiscoveryGroup",
    "DiscoveryVersion",
    "groups_of",
    "storage_version_hash",
]
