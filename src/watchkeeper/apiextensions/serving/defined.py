"""A definition as serving sees it: names, versions and paths, with schemas as encoded JSON.

Thousands of definitions are kept so; their schemas are parsed when somebody first uses a resource.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson

from watchkeeper.apiextensions.definition.conditions import ESTABLISHED, NAMES_ACCEPTED, TERMINATING, is_true
from watchkeeper.meta.gvk import GroupResource, GroupVersionKind
from watchkeeper.meta.versions import version_order

Object = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionDefined:
    """One version."""

    name: str
    served: bool
    storage: bool
    deprecated: bool
    deprecation_warning: str | None
    schema_json: bytes | None
    has_status: bool
    scale: tuple[tuple[str, str], ...] | None
    columns: bytes
    """The printer columns, as encoded JSON."""
    selectable: tuple[str, ...]
    """JSON paths of the selectable fields."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Defined:
    """One definition, as one revision left it."""

    name: str
    uid: str
    group: str
    plural: str
    singular: str
    kind: str
    list_kind: str
    short_names: tuple[str, ...]
    categories: tuple[str, ...]
    namespaced: bool
    versions: tuple[VersionDefined, ...]
    stored_versions: tuple[str, ...]
    conversion: bytes
    """spec.conversion, as encoded JSON."""
    keep_unknown: bool
    terminating: bool
    served: bool
    """Whether its names are accepted or have been, so that requests are answered."""
    established: bool

    @property
    def group_resource(self) -> GroupResource:
        """What it defines."""
        return GroupResource(self.group, self.plural)

    @property
    def storage_version(self) -> VersionDefined | None:
        """The version that objects are stored at."""
        return next((v for v in self.versions if v.storage), None)

    def gvk(self, version: str) -> GroupVersionKind:
        """The kind at a version."""
        return GroupVersionKind(self.group, version, self.kind)

    @property
    def served_versions(self) -> list[VersionDefined]:
        """Those that are served, in the order in which discovery lists them."""
        return sorted((v for v in self.versions if v.served), key=lambda v: version_order(v.name))


def read_defined(definition: Object) -> Defined:
    """What is served for a definition, as it is stored. The names are the accepted ones where there are any."""
    spec: Object = definition.get("spec") or {}
    status: Object = definition.get("status") or {}
    accepted: Object = status.get("acceptedNames") or {}
    asked: Object = spec.get("names") or {}
    names = accepted if accepted.get("plural") else asked
    return Defined(
        name=definition["metadata"].get("name") or "",
        uid=definition["metadata"].get("uid") or "",
        group=spec.get("group") or "",
        plural=asked.get("plural") or "",
        singular=names.get("singular") or "",
        kind=names.get("kind") or "",
        list_kind=names.get("listKind") or "",
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        namespaced=spec.get("scope") == "Namespaced",
        versions=tuple(_version(v) for v in spec.get("versions") or ()),
        stored_versions=tuple(status.get("storedVersions") or ()),
        conversion=orjson.dumps(spec.get("conversion") or {}, option=orjson.OPT_SORT_KEYS),
        keep_unknown=bool(spec.get("preserveUnknownFields")),
        terminating=is_true(definition, TERMINATING),
        served=is_true(definition, NAMES_ACCEPTED) or is_true(definition, ESTABLISHED),
        established=is_true(definition, ESTABLISHED),
    )


def _version(entry: Object) -> VersionDefined:
    schema = (entry.get("schema") or {}).get("openAPIV3Schema")
    subresources: Object = entry.get("subresources") or {}
    scale = subresources.get("scale")
    return VersionDefined(
        name=entry.get("name") or "",
        served=bool(entry.get("served")),
        storage=bool(entry.get("storage")),
        deprecated=bool(entry.get("deprecated")),
        deprecation_warning=entry.get("deprecationWarning"),
        schema_json=None if schema is None else orjson.dumps(schema),
        has_status=subresources.get("status") is not None,
        scale=None if scale is None else tuple(sorted((k, v) for k, v in scale.items() if isinstance(v, str))),
        columns=orjson.dumps(entry.get("additionalPrinterColumns") or []),
        selectable=tuple(f.get("jsonPath") or "" for f in entry.get("selectableFields") or ()),
    )
