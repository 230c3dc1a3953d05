"""Custom resources in OpenAPI: the schema of a CustomResourceDefinition as definitions of its kind and its list."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import orjson

from watchkeeper.apis.catalog import ResourceInfo
from watchkeeper.endpoints.openapi.definitions import builtin_name, gvk_entry
from watchkeeper.endpoints.openapi.dialect import Dialect
from watchkeeper.endpoints.openapi.parts import Part
from watchkeeper.endpoints.openapi.paths import ResourcePaths
from watchkeeper.meta.gvk import GroupVersionKind

OBJECT_META_NAME = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
LIST_META_NAME = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta"

LARGE_SCHEMA = 50_000
"""Bytes of an encoded schema that take long to write."""
_ONLY_V3 = frozenset({"nullable", "oneOf", "anyOf", "allOf", "not", "default", "example", "externalDocs"})
"""What the v2 document leaves out: it does not have it, or its readers stumble over it."""


@dataclass(frozen=True, slots=True)
class CustomVersion:
    """One served version of a custom resource."""

    info: ResourceInfo
    list_kind: str
    schema_json: bytes | None
    """The `openAPIV3Schema`, encoded, as thousands of them are kept; None where anything goes."""

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


def custom_part(custom: CustomVersion) -> Part:
    """What a version of a custom resource adds to documents."""

    def make(dialect: Dialect) -> tuple[dict[str, Any], dict[str, Any]]:
        paths = ResourcePaths(dialect, _namer(custom), custom=True).of(custom.info)
        return dict(sorted(paths.items())), dict(sorted(custom_definitions(custom, dialect).items()))

    schema = custom.schema_json or b""
    facts = orjson.dumps((repr(custom.info), custom.list_kind, custom.schema_json is None))
    return Part(hashlib.sha256(facts + schema).hexdigest(), make, is_large=len(schema) > LARGE_SCHEMA)


def _namer(custom: CustomVersion) -> Callable[[GroupVersionKind], str]:
    own = {
        custom.info.kind: definition_name(custom.info.kind),
        custom.info.kind._replace(kind=f"{custom.info.kind.kind}List"): definition_name(list_gvk(custom)),
    }
    return lambda gvk: own.get(gvk) or builtin_name(gvk)


def custom_definitions(custom: CustomVersion, dialect: Dialect) -> dict[str, Any]:
    """The definitions of a custom kind and of its list, by name."""
    kind, lists = custom.info.kind, list_gvk(custom)
    name = definition_name(kind)
    texts = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}}
    items = {"type": "array", "items": dialect.ref(name)}
    return {
        name: _kind(custom, dialect),
        definition_name(lists): {
            "type": "object",
            "required": ["items"],
            "properties": {**texts, "metadata": dialect.field_ref(LIST_META_NAME), "items": items},
            "x-kubernetes-group-version-kind": [gvk_entry(lists)],
        },
    }


def _kind(custom: CustomVersion, dialect: Dialect) -> dict[str, Any]:
    gvk = [gvk_entry(custom.info.kind)]
    schema = custom.schema
    if schema is None:
        return {"type": "object", "x-kubernetes-group-version-kind": gvk}
    found: dict[str, Any] = _in_v2(schema) if dialect is Dialect.V2 else schema
    if dialect is Dialect.V2 and found.get("x-kubernetes-preserve-unknown-fields"):
        return {"type": "object", "x-kubernetes-group-version-kind": gvk}
    properties = {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": dialect.field_ref(OBJECT_META_NAME),
    }
    found["properties"] = {**found.get("properties", {}), **properties}
    found["x-kubernetes-group-version-kind"] = gvk
    return found


def _in_v2(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema without what v2 does not know. Where anything may be, so it says."""
    if schema.get("x-kubernetes-int-or-string"):
        kept = {k: v for k, v in schema.items() if k in ("description", "title")}
        return {**kept, "x-kubernetes-int-or-string": True}
    found = {key: value for key, value in schema.items() if key not in _ONLY_V3}
    if schema.get("nullable"):
        found.pop("type", None)
        found.pop("items", None)
        found.pop("properties", None)
        return found
    if "properties" in found:
        found["properties"] = {name: _in_v2(each) for name, each in found["properties"].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(found.get(key), dict):
            found[key] = _in_v2(found[key])
    return found
