"""An object at several versions: converted when first asked for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import orjson

from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.field import go_quote
from watchkeeper.meta.gvk import GroupVersion, GroupVersionKind
from watchkeeper.runtime.managedfields.foreign import Foreign
from watchkeeper.runtime.managedfields.nodes import MapNode, Mismatch, NodeTable
from watchkeeper.runtime.managedfields.validate import check
from watchkeeper.runtime.patch.unstructured import mismatch, restored
from watchkeeper.runtime.scheme import DecodeError, Kind, NotRegistered, Scheme
from watchkeeper.runtime.timestamps import TimeError, canonical_time

Object = dict[str, Any]

_TIMES = ("creationTimestamp", "deletionTimestamp")


class Versions:
    """The versions of one kind: their schemas as nodes, and conversion between them.

    Those of other groups do not count, though a kind may be served in several, as Events are: kube-apiserver finds no
    way from one group's version to another's, and lets go of what was recorded there.
    """

    def __init__(self, scheme: Scheme, kind: Kind, table: NodeTable, foreign: Foreign | None = None) -> None:
        """`foreign` converts instead of the scheme."""
        self._scheme = scheme
        self._foreign = foreign
        self._kind = kind.gvk.group_kind
        self._named = kind.gvk
        self.builtin = kind.builtin
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
        """Whether objects can be converted to a version; of custom resources it is an error if they cannot.

        Raises a 500 for that, and for what is no version at all.
        """
        try:
            self.kind(api_version)
        except NotRegistered:
            if self.builtin:
                return False
            raise ApiError(500, "", self._no_way_to(api_version)) from None
        except ValueError as error:
            raise ApiError(500, "", str(error)) from None
        return True

    def _no_way_to(self, api_version: str) -> str:
        if GroupVersion.parse(api_version).group == self._kind.group:
            return f"request to convert CR to an invalid group/version: {api_version}"
        return f"{self._named} is unstructured and is not suitable for converting to {go_quote(api_version)}"

    def convert(self, obj: Object, api_version: str) -> Object:
        """An object at another version, sharing nothing with the original.

        Raises NotRegistered; Mismatch for values that do not fit, be it at the other version, or whose items cannot be
        told apart there: only as it was sent may an object have items that occur twice.
        """
        target = self.kind(api_version)
        copied = decode_merged(self._scheme.kind(_gvk(obj)), obj)
        copied["kind"], copied["apiVersion"] = obj["kind"], obj["apiVersion"]
        foreign = self._foreign
        converted = (
            foreign.convert(copied, target.gvk) if foreign is not None else self._scheme.convert(copied, target.gvk)
        )
        check(self.node(api_version), converted, allow_repeated=False)
        return converted if foreign is None else target.decode(converted, None)


def decode_merged(kind: Kind, obj: Object, unknown: list[str] | None = None) -> Object:
    """A copy of a merged object, decoded, once its values are converted if it needs that. Raises Mismatch.

    What the kind does not know is added to `unknown`, as in decoding.
    """
    text = orjson.dumps(obj)
    try:
        return kind.decode(orjson.loads(text), unknown)
    except DecodeError as error:
        wrong = str(error)
    copied = orjson.loads(text)
    if kind.builtin:
        wrong = mismatch(kind.schema, copied) or ""
        if not wrong:
            return kind.decode(restored(kind.schema, copied), None)
    else:
        try:
            return kind.decode(_without_unreadable_times(_without_nulls(copied)), None)
        except DecodeError as error:
            wrong = str(error)
    raise Mismatch(f"unable to convert unstructured object to {kind.gvk}: {wrong}")


def _without_nulls(value: Any) -> Any:
    """A value without members that are null, which decoding of a custom kind may refuse."""
    if isinstance(value, dict):
        return {name: _without_nulls(item) for name, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value


def _without_unreadable_times(obj: Object) -> Object:
    """A custom object without times in its metadata that are none: nobody reads them in the reference."""
    metadata = obj.get("metadata")
    if isinstance(metadata, dict):
        for name in _TIMES:
            value = metadata.get(name)
            if isinstance(value, str):
                try:
                    canonical_time(value)
                except TimeError:
                    del metadata[name]
    return obj


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
        """The object at a version. Raises NotRegistered, Mismatch."""
        if api_version == self.original["apiVersion"]:
            return self.original
        found = self._converted.get(api_version)
        if found is None:
            found = self._converted[api_version] = self.versions.convert(self.original, api_version)
        return found
