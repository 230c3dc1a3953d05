"""Definitions: built-in types as OpenAPI schemas, with the extensions that clients merge and validate by."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from typing import Any

from watchkeeper.apis.schema_data import schema_data
from watchkeeper.endpoints.openapi.descriptions import FIELDS
from watchkeeper.endpoints.openapi.dialect import Dialect
from watchkeeper.meta.gvk import GroupVersion, GroupVersionKind
from watchkeeper.runtime.schema import Field, ListType, Omit, Schema, SchemaType

PATCH_NAME = "io.k8s.apimachinery.pkg.apis.meta.v1.Patch"
"""What the body of a PATCH is called. It has no fields of its own."""

VERSION_NAME = "io.k8s.apimachinery.pkg.version.Info"
"""What /version answers with; it is no kind."""
_VERSION_REQUIRED = (
    "major",
    "minor",
    "gitVersion",
    "gitCommit",
    "gitTreeState",
    "buildDate",
    "goVersion",
    "compiler",
    "platform",
)
_VERSION_OPTIONAL = ("emulationMajor", "emulationMinor", "minCompatibilityMajor", "minCompatibilityMinor")
_UNNAMED = frozenset({PATCH_NAME, VERSION_NAME})
"""Definitions without a Go type of their own in the data."""
_OBJECT = {"type": "object"}
_TIME = {"type": "string", "format": "date-time"}
_PLAIN: Mapping[str, dict[str, Any]] = {
    "date-time": _TIME,
    "micro-time": _TIME,
    "object": _OBJECT,
    "fields": _OBJECT,
    "quantity": {"type": "string"},
}
_INT_OR_STRING_V2 = {"type": "string", "format": "int-or-string"}
_INT_OR_STRING_V3 = {"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]}
_QUANTITY_V3 = {"oneOf": [{"type": "string"}, {"type": "number"}]}


_GVK = "x-kubernetes-group-version-kind"
_CORE = "io.k8s.api.core.v1."
_FLOW = "io.k8s.api.flowcontrol.v1."
_REGISTRATION = "io.k8s.kube-aggregator.pkg.apis.apiregistration.v1."
_LOCALHOST = {"discriminator": "type", "fields-to-discriminateBy": {"localhostProfile": "LocalhostProfile"}}
_UNIONS: Mapping[str, dict[str, Any]] = {
    f"{_CORE}AppArmorProfile": _LOCALHOST,
    f"{_CORE}SeccompProfile": _LOCALHOST,
    f"{_CORE}PodSchedulingGroup": {"fields-to-discriminateBy": {"podGroupName": "PodGroupName"}},
    f"{_FLOW}LimitResponse": {"discriminator": "type", "fields-to-discriminateBy": {"queuing": "Queuing"}},
    f"{_FLOW}PriorityLevelConfigurationSpec": {
        "discriminator": "type",
        "fields-to-discriminateBy": {"exempt": "Exempt", "limited": "Limited"},
    },
    f"{_FLOW}Subject": {
        "discriminator": "kind",
        "fields-to-discriminateBy": {"group": "Group", "serviceAccount": "ServiceAccount", "user": "User"},
    },
}
"""Structs of which one field is set, and which of their fields says which."""
_ALLOCATION = {"allocationMode": {"enum": ["All", "ExactCount"]}}
_MORE: Mapping[str, Mapping[str, dict[str, Any]]] = {
    "io.k8s.api.discovery.v1.EndpointSlice": {"addressType": {"enum": ["FQDN", "IPv4", "IPv6"]}},
    "io.k8s.api.networking.v1.HTTPIngressPath": {"pathType": {"enum": ["Exact", "ImplementationSpecific", "Prefix"]}},
    "io.k8s.api.resource.v1.DeviceSubRequest": _ALLOCATION,
    "io.k8s.api.resource.v1.ExactDeviceRequest": _ALLOCATION,
    f"{_CORE}PersistentVolumeClaimStatus": {"allocatedResourceStatuses": {"x-kubernetes-map-type": "granular"}},
    f"{_CORE}PersistentVolumeSpec": {"claimRef": {"x-kubernetes-map-type": "granular"}},
    f"{_REGISTRATION}APIServiceSpec": {"caBundle": {"x-kubernetes-list-type": "atomic"}},
}
"""What markers say of fields besides what their types do."""
_BARE = {
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps": (
        "additionalItems",
        "additionalProperties",
        "example",
        "externalDocs",
        "items",
        "not",
    ),
    "io.k8s.api.networking.v1.IngressRule": ("http",),
}
"""Fields of which the reference has nothing to say but their types."""
_UNMERGED = {"io.k8s.apimachinery.pkg.apis.meta.v1.APIResource": ("verbs",)}
"""Lists of which nothing says how they merge."""


def gvk_entry(gvk: GroupVersionKind) -> dict[str, str]:
    """A kind in `x-kubernetes-group-version-kind`."""
    return {"group": gvk.group, "kind": gvk.kind, "version": gvk.version}


@functools.cache
def _kinds_by_definition() -> dict[str, list[dict[str, str]]]:
    found: dict[str, list[dict[str, str]]] = {}
    for gvk, schema in schema_data().kinds.items():
        found.setdefault(schema.name, []).append(gvk_entry(gvk))
    for kinds in found.values():
        kinds.sort(key=lambda kind: (kind["group"], kind["version"], kind["kind"]))
    return found


def builtin_name(gvk: GroupVersionKind) -> str:
    """The name of a built-in kind's definition, "" for other kinds."""
    schema = schema_data().kinds.get(gvk)
    return schema.name if schema is not None else ""


def closure(names: Iterable[str]) -> list[str]:
    """The names of the definitions named and of all that they refer to, sorted; unknown ones are left out."""
    known = schema_data().definitions
    found: set[str] = set()
    left = list(names)
    while left:
        name = left.pop()
        if name in found or (name not in known and name not in _UNNAMED):
            continue
        found.add(name)
        if name in known:
            left += _referred(known[name])
    return sorted(found)


def definition(name: str, dialect: Dialect, of: GroupVersion | None = None) -> dict[str, Any]:
    """A definition by its name. Raises KeyError for unknown ones.

    `of`: of the kinds that the definition stands for, name those of the core group and of this version only.
    """
    if name == PATCH_NAME:
        return _OBJECT
    if name == VERSION_NAME:
        return _version(dialect)
    found = _definition(schema_data().definitions[name], dialect)
    if of is not None and _GVK in found:
        own = {("", "v1"), (of.group, of.version)}
        found[_GVK] = [kind for kind in found[_GVK] if (kind["group"], kind["version"]) in own]
    return found


def _version(dialect: Dialect) -> dict[str, Any]:
    default = {"default": ""} if dialect is Dialect.V3 else {}
    required = {name: {"type": "string", **default} for name in _VERSION_REQUIRED}
    optional: dict[str, Any] = {name: {"type": "string"} for name in _VERSION_OPTIONAL}
    properties = dict(sorted({**required, **optional}.items()))
    return {"type": "object", "required": list(_VERSION_REQUIRED), "properties": properties}


def _referred(schema: Schema) -> list[str]:
    if schema.type is not SchemaType.STRUCT:
        return []
    found = []
    for field in schema.fields.values():
        inner = field.schema
        while inner.element is not None and not inner.name:
            inner = inner.element
        if inner.name:
            found.append(inner.name)
    return found


def _definition(schema: Schema, dialect: Dialect) -> dict[str, Any]:
    if schema.type is not SchemaType.STRUCT:
        return _self_encoding(schema, dialect)
    found: dict[str, Any] = {"type": "object"}
    if schema.fields:
        found["properties"] = {name: _property(field, dialect) for name, field in schema.fields.items()}
        if _is_collection(schema):
            # Nobody merges collections: their Go types say nothing of how.
            del found["properties"]["items"]["x-kubernetes-list-type"]
        for name, more in _MORE.get(schema.name, {}).items():
            found["properties"][name].update(more)
        if dialect is Dialect.V3:
            for name in _BARE.get(schema.name, ()):
                found["properties"][name] = found["properties"][name]["allOf"][0]
        for name, description in FIELDS.get(schema.name, {}).items():
            found["properties"][name]["description"] = description
        for name in _UNMERGED.get(schema.name, ()):
            del found["properties"][name]["x-kubernetes-list-type"]
    if unions := _UNIONS.get(schema.name):
        found["x-kubernetes-unions"] = [unions]
    if required := [name for name, field in schema.fields.items() if field.required]:
        found["required"] = required
    if kinds := _kinds_by_definition().get(schema.name):
        found[_GVK] = kinds
    if schema.atomic:
        found["x-kubernetes-map-type"] = "atomic"
    return found


def _is_collection(schema: Schema) -> bool:
    meta, items = schema.fields.get("metadata"), schema.fields.get("items")
    return meta is not None and items is not None and meta.schema.name.endswith(".ListMeta")


def _self_encoding(schema: Schema, dialect: Dialect) -> dict[str, Any]:
    if schema.type is SchemaType.INT_OR_STRING:
        return _INT_OR_STRING_V2 if dialect is Dialect.V2 else _INT_OR_STRING_V3
    if schema.format == "quantity" and dialect is Dialect.V3:
        return _QUANTITY_V3
    return _PLAIN.get(schema.format, {})


def _property(field: Field, dialect: Dialect) -> dict[str, Any]:
    schema = field.schema
    default = field.default
    if default is ... and not field.pointer:
        default = _implied_default(schema, field.omit)
    found = _use(schema, dialect, default)
    if field.patch_strategy:
        found["x-kubernetes-patch-strategy"] = ",".join(
            each for each in ("merge", "replace", "retainKeys") if each in field.patch_strategy
        )
    if field.patch_merge_key:
        found["x-kubernetes-patch-merge-key"] = field.patch_merge_key
    return found


def _implied_default(schema: Schema, omit: Omit) -> Any:
    """What an unset field that always shows holds."""
    if schema.type is SchemaType.STRUCT:
        return {}
    if omit is not Omit.NEVER or schema.name or schema.format == "byte":
        return ...
    zeros: dict[SchemaType, Any] = {
        SchemaType.STRING: "",
        SchemaType.INTEGER: 0,
        SchemaType.NUMBER: 0,
        SchemaType.BOOLEAN: False,
    }
    return zeros.get(schema.type, ...)


def _use(schema: Schema, dialect: Dialect, default: Any) -> dict[str, Any]:
    """The type of a field: a reference for a named one, and spelled out otherwise."""
    more = {"default": default} if dialect is Dialect.V3 and default is not ... else {}
    if schema.name:
        if schema.atomic and not schema_data().definitions[schema.name].atomic:
            more["x-kubernetes-map-type"] = "atomic"
        return dialect.field_ref(schema.name, **more)
    return {**_spelled_out(schema, dialect), **more}


def _element(schema: Schema, dialect: Dialect) -> dict[str, Any]:
    """The type of what is in a list or a map."""
    if schema.name:
        return dialect.ref(schema.name)
    found = _spelled_out(schema, dialect)
    found.pop("x-kubernetes-list-type", None)  # lists in maps are wholes, but nothing says so
    return found


def _spelled_out(schema: Schema, dialect: Dialect) -> dict[str, Any]:
    kind = schema.type
    if kind is SchemaType.LIST:
        return _list(schema, dialect)
    if kind is SchemaType.MAP:
        assert schema.element is not None
        found: dict[str, Any] = {
            "type": "object",
            "additionalProperties": _element(schema.element, dialect),
        }
        if schema.atomic:
            found["x-kubernetes-map-type"] = "atomic"
        return found
    if kind is SchemaType.ANY:
        return {"type": "object"}
    found = {"type": kind.value}
    if schema.format:
        found["format"] = schema.format
    if schema.enum:
        found["enum"] = list(schema.enum)
    return found


def _list(schema: Schema, dialect: Dialect) -> dict[str, Any]:
    assert schema.element is not None
    found: dict[str, Any] = {
        "type": "array",
        "items": _element(schema.element, dialect),
    }
    found["x-kubernetes-list-type"] = schema.list_type.value
    if schema.list_type is ListType.MAP:
        found["x-kubernetes-list-map-keys"] = list(schema.list_map_keys)
    return found
