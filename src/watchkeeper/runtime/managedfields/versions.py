"""An object at several versions: converted when first asked for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import orjson

from watchkeeper.meta.gvk import GroupKind, GroupVersion, GroupVersionKind
from watchkeeper.runtime.managedfields.foreign import Foreign
from watchkeeper.runtime.managedfields.nodes import MapNode, NodeTable
from watchkeeper.runtime.scheme import Kind, NotRegistered, Scheme

Object = dict[str, Any]


class Versions:
    """The versions of one kind: their schemas as nodes, and conversion between them.

    Those of other groups do not count, though a kind may be served in several, as Events are: kube-apiserver finds no
    way from one group's version to another's, and lets go of what was recorded there.
    """

    def __init__(self, scheme: Scheme, kind: GroupKind, table: NodeTable, foreign: Foreign | None = None) -> None:
        """`foreign` converts instead of the scheme."""
        self._scheme = scheme
        self._foreign = foreign
        self._kind = kind
        self._table = table
        self._nodes: dict[str, MapNode] = {}

    def kind(self, api_version: str) -> Kind:
        """The kind at a version. Raises NotRegistered."""
        version = GroupVersion.parse(api_version)
        gvk = GroupVersionKind(version.group, version.version, self._kind.kind)
        if version.group != self._kind.group:
            raise NotRegistered(gvk)
        return self._scheme.kind(gvk)

    def node(self, api_version: str) -> MapNode:
        """The schema at a version. Raises NotRegistered."""
        found = self._nodes.get(api_version)
        if found is None:
            found = self._nodes[api_version] = self._table.root(self.kind(api_version).schema)
        return found

    def knows(self, api_version: str) -> bool:
        """Whether objects can be converted to a version."""
        try:
            self.kind(api_version)
        except (NotRegistered, ValueError):
            return False
        return True

    def convert(self, obj: Object, api_version: str) -> Object:
        """An object at another version, sharing nothing with the original. Raises NotRegistered, DecodeError."""
        target = self.kind(api_version)
        copied = self._scheme.kind(_gvk(obj)).decode(orjson.loads(orjson.dumps(obj)), None)
        copied["kind"], copied["apiVersion"] = obj["kind"], obj["apiVersion"]
        if self._foreign is not None:
            return target.decode(self._foreign.convert(copied, target.gvk), None)
        return self._scheme.convert(copied, target.gvk)


def _gvk(obj: Object) -> GroupVersionKind:
    version = GroupVersion.parse(obj["apiVersion"])
    return GroupVersionKind(version.group, version.version, obj["kind"])


@dataclass(slots=True)
class Versioned:
    """One state of an object at all versions that somebody asked for."""

    versions: Versions
    original: Object
    _converted: dict[str, Object] = field(default_factory=dict)

    def at(self, api_version: str) -> Object:
        """The object at a version. Raises NotRegistered, DecodeError."""
        if api_version == self.original["apiVersion"]:
            return self.original
        found = self._converted.get(api_version)
        if found is None:
            found = self._converted[api_version] = self.versions.convert(self.original, api_version)
        return found
