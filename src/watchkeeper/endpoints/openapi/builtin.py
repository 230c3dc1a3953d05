"""The parts of what is built in: the paths of each group and version, and a part for each definition."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from watchkeeper.apis.catalog import ResourceInfo
from watchkeeper.endpoints.openapi.definitions import PATCH_NAME, builtin_name, closure, definition
from watchkeeper.endpoints.openapi.descriptions import LIST_META_NAME, OBJECT_META_NAME
from watchkeeper.endpoints.openapi.dialect import BUILTIN, Dialect
from watchkeeper.endpoints.openapi.operations import (
    DELETE_OPTIONS_NAME,
    RESOURCE_LIST_NAME,
    STATUS_NAME,
    WATCH_EVENT_NAME,
    Operations,
)
from watchkeeper.endpoints.openapi.parts import Part
from watchkeeper.endpoints.openapi.paths import CONNECTS, ResourcePaths, group_tag, title
from watchkeeper.endpoints.openapi.plain import DEFINITIONS as PLAIN_DEFINITIONS
from watchkeeper.endpoints.openapi.plain import plain_facts, plain_part
from watchkeeper.meta.gvk import GroupVersion

_OF_CUSTOM = frozenset((LIST_META_NAME, OBJECT_META_NAME))
"""What the definitions of custom kinds refer to."""
_OF_EVERY_GROUP = frozenset((DELETE_OPTIONS_NAME, WATCH_EVENT_NAME))
"""Kinds that are the same in every group; a document about a version names them as its own."""


class BuiltinParts:
    """Made at first need, and for good."""

    def __init__(self, resources: Iterable[ResourceInfo]) -> None:
        self.resources: dict[GroupVersion, list[ResourceInfo]] = {}
        for info in resources:
            self.resources.setdefault(info.gvr.group_version, []).append(info)
        self.plain = plain_facts(sorted({at.group for at in self.resources if at.group}))
        """The paths that are no resources, and what there is to say of them."""
        self._paths: dict[GroupVersion, Part] = {}
        self._definitions: dict[tuple[str, GroupVersion | None], Part] = {}

    @functools.cached_property
    def v2_names(self) -> frozenset[str]:
        """The definitions of what is built in."""
        infos = [info for served in self.resources.values() for info in served]
        return frozenset(closure({*_referred(infos), *_OF_CUSTOM, *PLAIN_DEFINITIONS}))

    def v2(self) -> list[Part]:
        """All that is built in."""
        plain = [plain_part(path, facts) for path, facts in sorted(self.plain.items())]
        paths = [*plain, *(self._paths_of(group_version) for group_version in sorted(self.resources))]
        return [*paths, *(self._definition(name, None) for name in sorted(self.v2_names))]

    def v2_definition(self, name: str) -> dict[str, Any] | None:
        """A definition of what is built in, None when there is none of that name."""
        return definition(name, Dialect.V2) if name in self.v2_names else None

    def v3(self, group_version: GroupVersion, custom: Sequence[ResourceInfo], without: Collection[str]) -> list[Part]:
        """What is built in of a document about a group and version that has these custom resources as well.

        `without`: the definitions that custom kinds replace.
        """
        infos = self.resources.get(group_version, [])
        paths = [self._paths_of(group_version)] if infos else []
        names = _referred(infos) | _referred(custom, custom=True) | (_OF_CUSTOM if custom else frozenset())
        return [*paths, *self._definitions_of(names, without, group_version if infos else None)]

    def v3_plain(self, path: str) -> list[Part]:
        """What is said of a path that is no resource."""
        facts = self.plain[path]
        return [plain_part(path, facts), *self._definitions_of([facts[2]], ())]

    def _definitions_of(
        self, names: Iterable[str], without: Collection[str], of: GroupVersion | None = None
    ) -> list[Part]:
        return [
            self._definition(name, of if name in _OF_EVERY_GROUP else None)
            for name in closure(names)
            if name not in without
        ]

    def _paths_of(self, group_version: GroupVersion) -> Part:
        found = self._paths.get(group_version)
        if found is None:
            infos = self.resources[group_version]
            digest = _digest("paths", repr(infos))
            found = self._paths[group_version] = Part(digest, _paths_maker(group_version, infos))
        return found

    def _definition(self, name: str, of: GroupVersion | None) -> Part:
        found = self._definitions.get((name, of))
        if found is None:
            found = self._definitions[name, of] = Part(
                _digest("definition", name, str(of)), lambda dialect: ({}, {name: definition(name, dialect, of)})
            )
        return found


def _paths_maker(
    at: GroupVersion, infos: list[ResourceInfo]
) -> Callable[[Dialect], tuple[Mapping[str, Any], Mapping[str, Any]]]:
    def make(dialect: Dialect) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        paths: dict[str, Any] = {}
        tag = group_tag(at.group)
        list_id = f"get{title(tag)}{title(at.version)}APIResources"
        listing = Operations(dialect).plain(f"{tag}_{at.version}", list_id, RESOURCE_LIST_NAME, BUILTIN.answers)
        paths[f"/apis/{at}/" if at.group else f"/api/{at.version}/"] = {"get": listing}
        maker = ResourcePaths(dialect, builtin_name, custom=False)
        for info in infos:
            paths.update(maker.of(info))
        return dict(sorted(paths.items())), {}

    return make


def _referred(infos: Sequence[ResourceInfo], *, custom: bool = False) -> set[str]:
    """The built-in definitions that operations on resources and their subresources refer to."""
    found = set() if custom or not infos else {RESOURCE_LIST_NAME}
    for info in infos:
        found.add(builtin_name(info.kind))
        if "list" in info.verbs:
            found.add(builtin_name(info.kind._replace(kind=f"{info.kind.kind}List")))
        subresources = [sub for sub in info.subresources if sub.name not in CONNECTS]
        found.update(builtin_name(sub.kind) for sub in subresources)
        if "watch" in info.verbs and not custom:
            found.add(WATCH_EVENT_NAME)
        verbs = {*info.verbs, *(verb for sub in subresources for verb in sub.verbs)}
        if verbs & {"delete", "deletecollection"}:
            found |= {DELETE_OPTIONS_NAME, STATUS_NAME}
        if "patch" in verbs:
            found.add(PATCH_NAME)
    return found


def _digest(*of: str) -> str:
    return hashlib.sha256("\n".join(of).encode()).hexdigest()
