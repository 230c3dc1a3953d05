"""Custom resources in OpenAPI: the schema of a CustomResourceDefinition as definitions of its kind and its list."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any

import orjson

from watchkeeper.apis.catalog import ResourceInfo
from watchkeeper.endpoints.openapi.definitions import builtin_name, gvk_entry
from watchkeeper.endpoints.openapi.descriptions import (
    API_VERSION,
    KIND,
    LIST_META_NAME,
    LIST_METADATA,
    METADATA,
    OBJECT_META_NAME,
)
from watchkeeper.endpoints.openapi.dialect import Dialect
from watchkeeper.endpoints.openapi.parts import Part
from watchkeeper.endpoints.openapi.paths import ResourcePaths
from watchkeeper.meta.gvk import GroupVersionKind

LARGE_SCHEMA = 50_000
"""Bytes of an encoded schema that take long to write."""
_ONLY_V3 = frozenset({"nullable", "oneOf", "anyOf", "allOf", "not", "default"})
"""What the v2 document leaves out: it does not have it, or its readers stumble over it."""
_EMBEDDED, _PRESERVE = "x-kubernetes-embedded-resource", "x-kubernetes-preserve-unknown-fields"
_INT_OR_STRING = "x-kubernetes-int-or-string"
_INTEGER_OR_TEXT = [{"type": "integer"}, {"type": "string"}]


@dataclass(frozen=True, slots=True)
class CustomVersion:
    """One served version of a custom resource."""

    info: ResourceInfo
    list_kind: str
    schema_json: bytes | None
    """The `openAPIV3Schema`, encoded, as thousands of them are kept; None where anything goes."""
    selectable: tuple[str, ...] = ()
    """The paths of the fields that field selectors know."""
    keep_unknown: bool = False
    """Whether the definition is one of old that preserves unknown fields everywhere."""

    @property
    def schema(self) -> dict[str, Any] | None:
        """The schema, parsed anew each time."""
        return None if self.schema_json is None else orjson.loads(self.schema_json)


def definition_name(gvk: GroupVersionKind) -> str:
    """The name of a custom kind's definition: the group reversed, the version, the kind."""
    return ".".join([*reversed(gvk.group.split(".")), gvk.version, gvk.kind])


def list_gvk(custom: CustomVersion) -> GroupVersionKind:
    """The kind of the resource's lists."""
    return GroupVersionKind(custom.info.kind.group, custom.info.kind.version, custom.list_kind)


def custom_part(custom: CustomVersion, taken: Callable[[], Collection[str]]) -> Part:
    """What a version of a custom resource adds to documents; `taken`: the names of v2's other definitions."""

    def make(dialect: Dialect) -> tuple[dict[str, Any], dict[str, Any]]:
        kind, lists = _free_names(custom, taken() if dialect is Dialect.V2 else ())
        paths = ResourcePaths(dialect, _namer(custom, kind, lists), custom=True).of(custom.info)
        return dict(sorted(paths.items())), dict(sorted(custom_definitions(custom, dialect, kind, lists).items()))

    schema = custom.schema_json or b""
    facts = orjson.dumps(
        (repr(custom.info), custom.list_kind, custom.schema_json is None, custom.selectable, custom.keep_unknown)
    )
    return Part(hashlib.sha256(facts + schema).hexdigest(), make, is_large=len(schema) > LARGE_SCHEMA)


def _free_names(custom: CustomVersion, taken: Collection[str]) -> tuple[str, str]:
    """What the definitions of the kind and of its list are called where some names are taken."""

    def free(name: str) -> str:
        if name not in taken:
            return name
        return next(found for i in itertools.count(2) if (found := f"{name}_v{i}") not in taken)

    return free(definition_name(custom.info.kind)), free(definition_name(list_gvk(custom)))


def _namer(custom: CustomVersion, kind: str, lists: str) -> Callable[[GroupVersionKind], str]:
    own = {custom.info.kind: kind, custom.info.kind._replace(kind=f"{custom.info.kind.kind}List"): lists}
    return lambda gvk: own.get(gvk) or builtin_name(gvk)


def custom_definitions(custom: CustomVersion, dialect: Dialect, name: str, list_name: str) -> dict[str, Any]:
    """The definitions of a custom kind and of its list, under these names."""
    kind, lists = custom.info.kind, list_gvk(custom)
    metadata = dialect.field_ref(LIST_META_NAME, description=LIST_METADATA)
    items = {"type": "array", "items": dialect.ref(name), "description": f"List of {custom.info.gvr.resource}."}
    return {
        name: _kind(custom, dialect),
        list_name: {
            "type": "object",
            "description": f"{lists.kind} is a list of {kind.kind}",
            "required": ["items"],
            "properties": {**_type_fields(), "metadata": metadata, "items": items},
            **_extensions(custom, lists),
        },
    }


def _extensions(custom: CustomVersion, gvk: GroupVersionKind) -> dict[str, Any]:
    found: dict[str, Any] = {"x-kubernetes-group-version-kind": [gvk_entry(gvk)]}
    if custom.selectable:
        found["x-kubernetes-selectable-fields"] = [{"fieldPath": path.removeprefix(".")} for path in custom.selectable]
    return found


def _kind(custom: CustomVersion, dialect: Dialect) -> dict[str, Any]:
    extensions = _extensions(custom, custom.info.kind)
    schema = custom.schema
    if schema is None or (dialect is Dialect.V2 and (custom.keep_unknown or schema.get(_PRESERVE))):
        return {"type": "object", **extensions}
    found = _in_v2(schema) if dialect is Dialect.V2 else _unfolded(schema)
    found["properties"] = {**found.get("properties", {}), **_object_fields(dialect)}
    _describe_embedded(found, dialect)
    return {**found, **extensions}


def _type_fields() -> dict[str, Any]:
    return {
        "apiVersion": {"type": "string", "description": API_VERSION},
        "kind": {"type": "string", "description": KIND},
    }


def _object_fields(dialect: Dialect) -> dict[str, Any]:
    metadata = dialect.field_ref(OBJECT_META_NAME, description=METADATA)
    return {**_type_fields(), "metadata": metadata}


def _parts(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The schemas of what a value holds."""
    yield from schema.get("properties", {}).values()
    yield from (part for key in ("items", "additionalProperties") if isinstance(part := schema.get(key), dict))


def _unfolded(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema, changed in place to say in plain OpenAPI as well what an integer or text is."""
    for part in _parts(schema):
        _unfolded(part)
    if schema.get(_INT_OR_STRING):
        any_of, all_of = schema.get("anyOf"), schema.get("allOf") or []
        if any_of != _INTEGER_OR_TEXT and not (all_of and all_of[0].get("anyOf") == _INTEGER_OR_TEXT):
            if any_of:
                schema["allOf"] = [{"anyOf": _INTEGER_OR_TEXT}, *all_of]
            else:
                schema["anyOf"] = _INTEGER_OR_TEXT
    return schema


def _describe_embedded(schema: dict[str, Any], dialect: Dialect) -> None:
    """Give embedded resources, in place, the fields that all objects have."""
    for part in _parts(schema):
        _describe_embedded(part, dialect)
    if not schema.get(_EMBEDDED) or (dialect is Dialect.V2 and schema.get(_PRESERVE)):
        return
    schema["properties"] = {**schema.get("properties", {}), **_object_fields(dialect)}
    required = schema.get("required", [])
    schema["required"] = [*required, *(name for name in ("kind", "apiVersion") if name not in required)]


def _in_v2(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema without what v2 does not know, and without types where its readers refuse what is unknown or null."""
    found = {key: value for key, value in schema.items() if key not in _ONLY_V3}
    nullable, open_ended = schema.get("nullable"), schema.get(_PRESERVE)
    if nullable or open_ended:
        found.pop("items", None)
        found.pop("properties", None)
    kind = found.get("type")
    if nullable or (kind == "array" and "items" not in found) or (kind == "object" and open_ended):
        found.pop("type", None)
    properties, others = found.get("properties", {}), found.get("additionalProperties")
    if "required" in found:
        open_map = isinstance(others, dict) and others.get("nullable")
        required = [r for r in found.pop("required") if not (open_map or properties.get(r, {}).get("nullable"))]
        if required:
            found["required"] = required
    if properties:
        found["properties"] = {name: _in_v2(each) for name, each in properties.items()}
    for key in ("items", "additionalProperties"):
        if isinstance(found.get(key), dict):
            found[key] = _in_v2(found[key])
    return found
