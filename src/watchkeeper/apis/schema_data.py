"""The built-in kinds as data: loads the file that `tools/reduce_schema.py` writes into schema nodes and a catalog.

The file is read once per process, at its first use, in some ten milliseconds; its servers share the nodes.
"""

from __future__ import annotations

import functools
import gzip
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from watchkeeper.apis.apiregistration import schemas as apiregistration
from watchkeeper.apis.apps.beta_schemas import beta_kinds, beta_resources, definitions_of
from watchkeeper.apis.catalog import ResourceInfo, SubresourceInfo
from watchkeeper.apis.embedded import tell_embedded
from watchkeeper.meta.gvk import GroupVersionKind, GroupVersionResource
from watchkeeper.runtime.schema import Field, ListType, Omit, Schema, SchemaType
from watchkeeper.runtime.zero import shows_when_unset, zero_field

_FILE = Path(__file__).parent / "data" / "schemas.json.gz"

_POINTER, _REQUIRED, _OMIT_ZERO, _OMIT_NEVER = 1, 2, 4, 8
"""The bits of a field's flags, as the reducer writes them."""


@dataclass(frozen=True, slots=True)
class SchemaData:
    """Everything the data file says."""

    kinds: Mapping[GroupVersionKind, Schema]
    """Every kind at every served version, lists and options included."""
    definitions: Mapping[str, Schema]
    """Every struct and every type that encodes itself, by definition name, such as `io.k8s.api.core.v1.Pod`."""
    resources: tuple[ResourceInfo, ...]
    """What is served, in the order of the reference's discovery."""
    optional: tuple[ResourceInfo, ...] = ()
    """What is served if an operator turns it on."""


@functools.cache
def schema_data() -> SchemaData:
    """The built-in kinds."""
    raw = orjson.loads(gzip.decompress(_FILE.read_bytes()))
    nodes = _nodes(raw["types"])
    kinds = {GroupVersionKind(group, version, kind): nodes[index] for group, version, kind, index in raw["kinds"]}
    named = ((node, entry) for node, entry in zip(nodes, raw["types"], strict=True) if node.name)
    definitions = {node.name: node for node, entry in named if "variant" not in entry}
    served = tuple(_resource(entry) for entry in raw["resources"])
    older = beta_kinds(kinds)
    registration = apiregistration.describe(kinds, definitions)
    return SchemaData(
        {**kinds, **older, **registration.kinds},
        {**definitions, **definitions_of(older), **registration.definitions},
        _ahead(served, registration.resource),
        tuple(beta_resources(served)),
    )


def kind_schema(gvk: GroupVersionKind) -> Schema:
    """The schema of a built-in kind. Raises KeyError."""
    return schema_data().kinds[gvk]


def object_meta_schema() -> Schema:
    """The schema of the metadata of every kind."""
    return schema_data().definitions["io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"]


def resources() -> list[ResourceInfo]:
    """All built-in resources at all versions that are served unless turned off, in the order of discovery."""
    return list(schema_data().resources)


def all_resources() -> list[ResourceInfo]:
    """The same with those that are served only if turned on, behind the others of their group."""
    data = schema_data()
    found = list(data.resources)
    for info in data.optional:
        last = max(i for i, other in enumerate(found) if other.gvr.group == info.gvr.group)
        found.insert(last + 1, info)
    return found


def reset_status(obj: dict[str, Any], gvk: GroupVersionKind) -> None:
    """Put the status of an object back to that of a new one: what shows although nobody has set it, or nothing."""
    schema = schema_data().kinds.get(gvk)
    field = schema.fields.get("status") if schema is not None else None
    if field is not None and shows_when_unset(field):
        obj["status"] = zero_field(field)
    else:
        obj.pop("status", None)


def _ahead(served: Sequence[ResourceInfo], first: ResourceInfo) -> tuple[ResourceInfo, ...]:
    """What is served with one resource ahead of those of all named groups."""
    at = next(i for i, info in enumerate(served) if info.gvr.group)
    return (*served[:at], first, *served[at:])


def _nodes(entries: list[dict[str, Any]]) -> list[Schema]:
    types = {t.value: t for t in SchemaType}
    nodes = [
        Schema(
            type=types[entry["type"]],
            name=entry.get("name", ""),
            go_type=entry["go"],
            format=entry.get("format", ""),
            enum=tuple(entry.get("enum", ())),
            atomic=entry.get("atomic", False),
        )
        for entry in entries
    ]
    for node, entry in zip(nodes, entries, strict=True):
        if "fields" in entry:
            node.fields = {each[0]: _field(nodes, each) for each in entry["fields"]}
            tell_embedded(node)
        elif "of" in entry:
            node.element = nodes[entry["of"]]
    for node, entry in zip(nodes, entries, strict=True):
        if "list" in entry:
            _make_list(node, entry)
    return nodes


def _make_list(node: Schema, entry: dict[str, Any]) -> None:
    node.list_type = ListType(entry["list"])
    node.list_map_keys = tuple(entry.get("keys", ()))
    if node.list_map_keys and node.element is not None:
        fields = node.element.fields
        node.keyed_defaults = {k: fields[k].default for k in node.list_map_keys if fields[k].default is not ...}


def _field(nodes: list[Schema], entry: list[Any]) -> Field:
    name, index, flags = entry[:3]
    omit = Omit.NEVER if flags & _OMIT_NEVER else Omit.ZERO if flags & _OMIT_ZERO else Omit.EMPTY
    found = Field(name, nodes[index], bool(flags & _REQUIRED), bool(flags & _POINTER), omit)
    if len(entry) > 3:
        more = entry[3]
        found.default = more.get("default", ...)
        found.patch_merge_key = more.get("mergeKey", "")
        found.patch_strategy = frozenset(more.get("strategy", "").split(",")) - {""}
    return found


def _resource(entry: dict[str, Any]) -> ResourceInfo:
    group, version = entry["group"], entry["version"]
    return ResourceInfo(
        gvr=GroupVersionResource(group, version, entry["resource"]),
        kind=GroupVersionKind(group, version, entry["kind"]),
        singular=entry["singular"],
        namespaced=entry["namespaced"],
        verbs=tuple(entry["verbs"]),
        short_names=tuple(entry.get("shortNames", ())),
        categories=tuple(entry.get("categories", ())),
        subresources=tuple(
            SubresourceInfo(name, GroupVersionKind(sub_group, sub_version, kind), tuple(verbs))
            for name, sub_group, sub_version, kind, verbs in entry.get("subresources", ())
        ),
    )
