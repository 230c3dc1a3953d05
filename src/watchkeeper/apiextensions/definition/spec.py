"""A definition's spec as its validation sees it: what all versions have in common stands above the versions.

The reference validates an internal form. Where every version has the same schema (or subresources, columns, selectable
fields), also when there is only one version, the form has it once, and errors name that place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from watchkeeper.apiextensions.definition.walk import walk
from watchkeeper.apiextensions.schema.correlation import same

Json = Any
Object = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class DefinedVersion:
    """An entry of spec.versions, without what all versions share."""

    name: str
    served: bool
    storage: bool
    deprecated: bool
    deprecation_warning: str | None
    validation: Object | None
    subresources: Object | None
    columns: list[Object]
    selectable_fields: list[Object]

    @property
    def schema(self) -> Json:
        """The schema, None when there is none."""
        return None if self.validation is None else self.validation.get("openAPIV3Schema")


@dataclass(frozen=True, slots=True, kw_only=True)
class DefinedSpec:
    """A definition's spec. What is None or empty above the versions is theirs to say."""

    group: str
    names: Object
    scope: str
    version: str
    versions: tuple[DefinedVersion, ...]
    lists_versions: bool
    """Whether there is a list of versions, if only an empty one."""
    validation: Object | None
    subresources: Object | None
    columns: list[Object]
    selectable_fields: list[Object]
    conversion: Object | None
    preserve_unknown_fields: bool

    @property
    def schema(self) -> Json:
        """The schema that all versions share, None when they share none."""
        return None if self.validation is None else self.validation.get("openAPIV3Schema")

    def schemas(self) -> list[Json]:
        """All schemas, the shared one once."""
        found = [self.schema, *(v.schema for v in self.versions)]
        return [schema for schema in found if schema is not None]

    def has_defaults(self) -> bool:
        """Whether any schema has a default."""
        return any(node.get("default") is not None for schema in self.schemas() for node in walk(schema))

    def has_extensions(self) -> bool:
        """Whether any schema says what only structural schemas can say."""
        return any(
            node.get("default") is not None or any(node.get(f"x-kubernetes-{word}") for word in _EXTENSIONS)
            for schema in self.schemas()
            for node in walk(schema)
        )

    def schema_of(self, name: str) -> Json:
        """The schema of a version, None when there is no such version or it has none."""
        if self.schema is not None:
            return self.schema
        return next((v.schema for v in self.versions if v.name == name), None)


_EXTENSIONS = (
    "embedded-resource", "preserve-unknown-fields", "int-or-string", "list-map-keys", "list-type", "validations",
)  # fmt: skip


def read_spec(definition: Object) -> DefinedSpec:
    """The spec of a decoded definition."""
    spec: Object = definition.get("spec") or {}
    entries: list[Object] = spec.get("versions") or []
    shared = {key: _shared(entries, key) for key in _SHARABLE}
    versions = tuple(_version(entry, shared) for entry in entries)
    first = entries[0] if entries else {}

    def value(key: str) -> Any:
        return first.get(key) if shared[key] else None

    return DefinedSpec(
        group=spec.get("group") or "",
        names=spec.get("names") or {},
        scope=spec.get("scope") or "",
        version=first.get("name") or "",
        versions=versions,
        lists_versions=isinstance(spec.get("versions"), list),
        validation=value("schema"),
        subresources=value("subresources"),
        columns=value("additionalPrinterColumns") or [],
        selectable_fields=value("selectableFields") or [],
        conversion=spec.get("conversion"),
        preserve_unknown_fields=bool(spec.get("preserveUnknownFields")),
    )


_SHARABLE = ("schema", "subresources", "additionalPrinterColumns", "selectableFields")


def _shared(entries: list[Object], key: str) -> bool:
    if not entries:
        return False

    def value(entry: Object) -> Any:
        found = entry.get(key)
        return found or None if isinstance(found, list) else found

    return all(same(value(entry), value(entries[0])) for entry in entries[1:])


def _version(entry: Object, shared: dict[str, bool]) -> DefinedVersion:
    def own(key: str) -> Any:
        return None if shared[key] else entry.get(key)

    return DefinedVersion(
        name=entry.get("name") or "",
        served=bool(entry.get("served")),
        storage=bool(entry.get("storage")),
        deprecated=bool(entry.get("deprecated")),
        deprecation_warning=entry.get("deprecationWarning"),
        validation=own("schema"),
        subresources=own("subresources"),
        columns=own("additionalPrinterColumns") or [],
        selectable_fields=own("selectableFields") or [],
    )
