"""Keeps what is served equal to the definitions: the table, discovery and OpenAPI."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Protocol

import orjson

from watchkeeper.apiextensions.conversion.interface import Converter
from watchkeeper.apiextensions.schema.structural import NotStructural, read_structural
from watchkeeper.apiextensions.serving.defined import Defined, VersionDefined
from watchkeeper.apiextensions.serving.hooks import Hooks
from watchkeeper.apiextensions.serving.resource import Backend, CustomResource, converter_of
from watchkeeper.apiextensions.serving.verbs import VERBS
from watchkeeper.apis.apiregistration.priorities import CUSTOM
from watchkeeper.apis.catalog import ResourceInfo
from watchkeeper.endpoints.discovery import Discovery, DiscoveryGroup, DiscoveryVersion
from watchkeeper.endpoints.openapi.custom import CustomVersion
from watchkeeper.endpoints.scope import ServedTable
from watchkeeper.meta.gvk import GroupVersion, GroupVersionKind
from watchkeeper.meta.versions import version_order

Object = dict[str, Any]


class OpenAPISink(Protocol):
    """Who describes what is served."""

    def set_custom(self, custom: CustomVersion) -> None:
        """Describe a version of a custom resource."""
        ...

    def remove_custom(self, group_version: GroupVersion, resource: str) -> None:
        """Describe it no more."""
        ...


class CustomResources:
    """All custom resources of a server. Everything is synchronous; `flush` tells discovery of what has changed."""

    def __init__(
        self,
        backend: Backend,
        served: ServedTable,
        discovery: Discovery,
        openapi: OpenAPISink,
        make_converter: Callable[[Object], Converter] = converter_of,
    ) -> None:
        self._backend = backend
        self._served = served
        self._discovery = discovery
        self._openapi = openapi
        self._make_converter = make_converter
        self._resources: dict[str, CustomResource] = {}
        self._groups: dict[str, set[str]] = {}
        """Group -> names of the definitions that are established."""
        self._builtin = frozenset(served.groups())
        self._builtin_group_versions = {GroupVersion(g, v) for g in self._builtin for v in served.versions(g)}
        self._stale: set[str] = set()
        self._declared: set[str] = set()
        """Names of what was declared in Python, which no definition replaces."""

    def __repr__(self) -> str:
        return f"<CustomResources: {len(self._resources)}>"

    def find(self, name: str) -> CustomResource | None:
        """What serves a definition."""
        return self._resources.get(name)

    def __iter__(self) -> Iterator[CustomResource]:
        return iter(self._resources.values())

    def declare(self, defined: Defined, hooks: Hooks) -> None:
        """Serve a kind that was declared in Python, as long as the server runs."""
        resource = CustomResource(defined, self._backend, self._make_converter, hooks)
        self._declared.add(defined.name)
        self._resources[defined.name] = resource
        self._serve(resource, frozenset())
        self._note(defined)

    def apply(self, defined: Defined) -> None:
        """Serve a definition as it is now."""
        if defined.name in self._declared:
            return
        old = self._resources.get(defined.name)
        if old is not None and old.defined == defined:
            return
        if not defined.served:
            self.remove(defined.name)
            return
        new = CustomResource(defined, self._backend, self._make_converter)
        kept = new.succeed(old) if old is not None else frozenset[str]()
        self._resources[defined.name] = new
        self._serve(new, kept)
        names = {v.name for v in self._served_versions(defined)}
        for version in self._served_versions(old.defined) if old is not None else ():
            if version.name not in names:
                self._end(defined, version.name)
        self._note(defined)

    def _serve(self, resource: CustomResource, kept: frozenset[str]) -> None:
        defined = resource.defined
        for version in self._served_versions(defined):
            before = self._served.find(defined.group, version.name, defined.plural)
            self._served.add(resource.served(version), custom=defined.group not in self._builtin)
            if before is not None and version.name not in kept:
                before.close()
            if defined.established:
                # What cannot be done while the definition goes away is still told of here, unlike in discovery.
                self._openapi.set_custom(
                    CustomVersion(
                        replace(resource.info(version), verbs=VERBS),
                        defined.list_kind,
                        schema_json=_published(defined, version),
                        selectable=version.selectable,
                        keep_unknown=defined.keep_unknown,
                    )
                )

    def _served_versions(self, defined: Defined) -> list[VersionDefined]:
        """Those that requests reach: where the server itself serves a group and version, it alone does."""
        builtin, group = self._builtin_group_versions, defined.group
        return [v for v in defined.served_versions if GroupVersion(group, v.name) not in builtin]

    def _end(self, defined: Defined, version: str) -> None:
        self._served.remove(defined.group, version, defined.plural)
        self._openapi.remove_custom(GroupVersion(defined.group, version), defined.plural)

    def _note(self, defined: Defined) -> None:
        names = self._groups.setdefault(defined.group, set())
        if defined.established:
            names.add(defined.name)
        else:
            names.discard(defined.name)
        self._stale.add(defined.group)

    def remove(self, name: str) -> None:
        """Serve a definition no more: its watches end, its storage is closed."""
        if name in self._declared:
            return
        resource = self._resources.pop(name, None)
        if resource is None:
            return
        defined = resource.defined
        for version in self._served_versions(defined):
            self._end(defined, version.name)
        resource.close()
        self._groups.get(defined.group, set()).discard(name)
        self._stale.add(defined.group)

    def flush(self) -> None:
        """Let discovery tell of all changes so far."""
        for group in self._stale:
            found = self._discovery_group(group)
            if found is not None:
                self._discovery.set_group(found)
            else:
                self._discovery.remove_group(group)
                self._groups.pop(group, None)
        self._stale.clear()

    def _discovery_group(self, group: str) -> DiscoveryGroup | None:
        infos: dict[str, list[ResourceInfo]] = {}
        stored: dict[str, dict[str, GroupVersionKind]] = {}
        for name in sorted(self._groups.get(group, ())):
            resource = self._resources[name]
            storage = resource.defined.storage_version
            for info in resource.infos:
                infos.setdefault(info.gvr.version, []).append(info)
                if storage is not None:
                    at = stored.setdefault(info.gvr.version, {})
                    at[info.gvr.resource] = resource.defined.gvk(storage.name)
        builtin = self._builtin_versions(group)
        if not infos and not builtin:
            return None
        versions = [
            DiscoveryVersion(version, tuple(infos[version]), stored.get(version, {}), custom=True, priorities=CUSTOM)
            for version in sorted(infos, key=version_order)
            if version not in {v.version for v in builtin}
        ]
        return DiscoveryGroup(group, (*builtin, *versions))

    def _builtin_versions(self, group: str) -> tuple[DiscoveryVersion, ...]:
        """What the server itself serves of the group: its versions are told of as they are."""
        if group not in self._builtin:
            return ()
        return tuple(version for version in self._discovery.served(group) if not version.custom)

    def close(self) -> None:
        """End everything."""
        self._declared.clear()
        for name in list(self._resources):
            self.remove(name)
        self.flush()


def _published(defined: Defined, version: VersionDefined) -> bytes | None:
    """The schema to show, None for one of old that is not structural: the rest always are."""
    if not defined.keep_unknown or version.schema_json is None:
        return version.schema_json
    from watchkeeper.apiextensions.schema.invariants import validate_structural

    try:
        root = read_structural(orjson.loads(version.schema_json))
    except NotStructural:
        return None
    return None if validate_structural(root, "") else version.schema_json
