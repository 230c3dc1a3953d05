"""The parts of what is built in: the paths of each group and version, and a part for each definition."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from watchkeeper.apis.catalog import ResourceInfo
from watchkeeper.apis.schema_data import schema_data
from watchkeeper.endpoints.openapi.custom import LIST_META_NAME, OBJECT_META_NAME
from watchkeeper.endpoints.openapi.definitions import PATCH_NAME, builtin_name, closure, definition
from watchkeeper.endpoints.openapi.dialect import PATCH, Dialect
from watchkeeper.endpoints.openapi.operations import DELETE_OPTIONS_NAME, STATUS_NAME
from watchkeeper.endpoints.openapi.parts import Part
from watchkeeper.endpoints.openapi.paths import CONNECTS, ResourcePaths
from watchkeeper.meta.gvk import GroupVersion

_OF_CUSTOM = frozenset((LIST_META_NAME, OBJECT_META_NAME))
"""What the definitions of custom kinds refer to."""


class BuiltinParts:
    """Made at first need, and for good."""

    def __init__(self, resources: Iterable[ResourceInfo]) -> None:
        self.resources: dict[GroupVersion, list[ResourceInfo]] = {}
        for info in resources:
            self.resources.setdefault(info.gvr.group_version, []).append(info)
        self._paths: dict[GroupVersion, Part] = {}
        self._definitions: dict[str, Part] = {}

    def v2(self, without: Collection[str]) -> list[Part]:
        """All that is built in, less the definitions that custom kinds replace."""
        left_out = {info.gvr.group_version for info in schema_data().optional} - self.resources.keys()
        kinds = (gvk for gvk in schema_data().kinds if gvk.group_version not in left_out)
        infos = [info for served in self.resources.values() for info in served]
        paths = [self._paths_of(group_version) for group_version in sorted(self.resources)]
        return [*paths, *self._definitions_of({*map(builtin_name, kinds), *_referred(infos), *_OF_CUSTOM}, without)]

    def v3(self, group_version: GroupVersion, custom: Sequence[ResourceInfo], without: Collection[str]) -> list[Part]:
        """What is built in of a document about a group and version that has these custom resources as well."""
        infos = self.resources.get(group_version, [])
        paths = [self._paths_of(group_version)] if infos else []
        names = _referred((*infos, *custom)) | (_OF_CUSTOM if custom else frozenset())
        return [*paths, *self._definitions_of(names, without)]

    def _definitions_of(self, names: Iterable[str], without: Collection[str]) -> list[Part]:
        return [self._definition(name) for name in closure(names) if name not in without]

    def _paths_of(self, group_version: GroupVersion) -> Part:
        found = self._paths.get(group_version)
        if found is None:
            infos = self.resources[group_version]
            found = self._paths[group_version] = Part(_digest("paths", repr(infos)), _paths_maker(infos))
        return found

    def _definition(self, name: str) -> Part:
        found = self._definitions.get(name)
        if found is None:
            digest = _digest("definition", name)
            found = self._definitions[name] = Part(digest, lambda dialect: ({}, {name: definition(name, dialect)}))
        return found


def _paths_maker(infos: list[ResourceInfo]) -> Callable[[Dialect], tuple[Mapping[str, Any], Mapping[str, Any]]]:
    def make(dialect: Dialect) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        paths: dict[str, Any] = {}
        maker = ResourcePaths(dialect, builtin_name, PATCH)
        for info in infos:
            paths.update(maker.of(info))
        return dict(sorted(paths.items())), {}

    return make


def _referred(infos: Iterable[ResourceInfo]) -> set[str]:
    """The built-in definitions that operations on resources and their subresources refer to."""
    found: set[str] = set()
    for info in infos:
        found.add(builtin_name(info.kind))
        if "list" in info.verbs:
            found.add(builtin_name(info.kind._replace(kind=f"{info.kind.kind}List")))
        subresources = [sub for sub in info.subresources if sub.name not in CONNECTS]
        found.update(builtin_name(sub.kind) for sub in subresources)
        verbs = {*info.verbs, *(verb for sub in subresources for verb in sub.verbs)}
        if verbs & {"delete", "deletecollection"}:
            found |= {DELETE_OPTIONS_NAME, STATUS_NAME}
        if "patch" in verbs:
            found.add(PATCH_NAME)
    return found


def _digest(*of: str) -> str:
    return hashlib.sha256("\n".join(of).encode()).hexdigest()
