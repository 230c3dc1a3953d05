"""The kinds of apiregistration.k8s.io/v1 as data, made here: no published description of the API has them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from watchkeeper.apis.catalog import ResourceInfo, SubresourceInfo
from watchkeeper.meta.gvk import GroupVersionKind, GroupVersionResource
from watchkeeper.runtime.schema import Field, ListType, Omit, Schema, SchemaType

GROUP, VERSION, KIND = "apiregistration.k8s.io", "v1", "APIService"
RESOURCE = "apiservices"
DEFINITIONS = "io.k8s.kube-aggregator.pkg.apis.apiregistration.v1."
_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
_LIKE = GroupVersionKind("scheduling.k8s.io", "v1", "PriorityClass")
"""A kind of a group that, too, has no kinds but its own and those that every group has."""

_TEXT = Schema(SchemaType.STRING, go_type="string")
_BYTES = Schema(SchemaType.STRING, go_type="[]uint8", format="byte")
_INT32 = Schema(SchemaType.INTEGER, go_type="int32", format="int32")
_BOOL = Schema(SchemaType.BOOLEAN, go_type="bool")

_SERVICE = {1: ("namespace", "string", ""), 2: ("name", "string", ""), 3: ("port", "int32", "")}
_SPEC = {
    1: ("service", "ServiceReference", ""),
    2: ("group", "string", ""),
    3: ("version", "string", ""),
    4: ("insecureSkipTLSVerify", "bool", ""),
    5: ("caBundle", "bytes", ""),
    7: ("groupPriorityMinimum", "int32", ""),
    8: ("versionPriority", "int32", ""),
}
_CONDITION = {
    1: ("type", "string", ""),
    2: ("status", "string", ""),
    3: ("lastTransitionTime", "k8s.io.apimachinery.pkg.apis.meta.v1.Time", ""),
    4: ("reason", "string", ""),
    5: ("message", "string", ""),
}
_OBJECT_META = "k8s.io.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_LIST_META = "k8s.io.apimachinery.pkg.apis.meta.v1.ListMeta"
_MESSAGES = {
    "ServiceReference": _SERVICE,
    "APIServiceSpec": _SPEC,
    "APIServiceCondition": _CONDITION,
    "APIServiceStatus": {1: ("conditions", "APIServiceCondition", "list")},
    "APIService": {
        1: ("metadata", _OBJECT_META, ""),
        2: ("spec", "APIServiceSpec", ""),
        3: ("status", "APIServiceStatus", ""),
    },
    "APIServiceList": {1: ("metadata", _LIST_META, ""), 2: ("items", "APIService", "list")},
}

Message = dict[int, tuple[str, str, str]]


@dataclass(frozen=True, slots=True)
class Described:
    """The group: its kinds, their structs by definition name, and what is served."""

    kinds: Mapping[GroupVersionKind, Schema]
    definitions: Mapping[str, Schema]
    resource: ResourceInfo


def describe(kinds: Mapping[GroupVersionKind, Schema], definitions: Mapping[str, Schema]) -> Described:
    """The group, given all other kinds and structs, with which it shares metadata and options."""
    like = kinds[_LIKE]
    head = [like.fields[name] for name in ("kind", "apiVersion")]
    metadata = Field("metadata", definitions[f"{_META}ObjectMeta"])
    service = _struct(
        "ServiceReference",
        Field("namespace", _TEXT),
        Field("name", _TEXT),
        Field("port", _INT32, pointer=True),
    )
    spec = _struct(
        "APIServiceSpec",
        Field("service", service, pointer=True),
        Field("group", _TEXT),
        Field("version", _TEXT),
        Field("insecureSkipTLSVerify", _BOOL),
        Field("caBundle", _BYTES),
        Field("groupPriorityMinimum", _INT32, required=True, omit=Omit.NEVER),
        Field("versionPriority", _INT32, required=True, omit=Omit.NEVER),
    )
    condition = _condition(definitions[f"{_META}Time"])
    conditions = Schema(
        SchemaType.LIST,
        go_type="[]v1.APIServiceCondition",
        element=condition,
        list_type=ListType.MAP,
        list_map_keys=("type",),
    )
    merged = Field("conditions", conditions, patch_strategy=frozenset({"merge"}), patch_merge_key="type")
    status = _struct("APIServiceStatus", merged)
    whole = _struct(KIND, *head, metadata, Field("spec", spec), Field("status", status))
    items = Schema(SchemaType.LIST, go_type=f"[]v1.{KIND}", element=whole)
    listed = _struct(
        f"{KIND}List",
        *head,
        Field("metadata", definitions[f"{_META}ListMeta"]),
        Field("items", items, required=True, omit=Omit.NEVER),
    )
    shared = {
        gvk.kind: schema
        for gvk, schema in kinds.items()
        if gvk.group_version == _LIKE.group_version and gvk.kind.endswith(("Options", "WatchEvent"))
    }
    found = {KIND: whole, f"{KIND}List": listed, **shared}
    return Described(
        {GroupVersionKind(GROUP, VERSION, kind): schema for kind, schema in found.items()},
        {schema.name: schema for schema in (service, spec, condition, status, whole, listed)},
        _resource(),
    )


def messages() -> dict[str, Message]:
    """What the group is in protobuf, by the full names of messages."""
    package = "k8s.io." + DEFINITIONS.removeprefix("io.k8s.").replace("-", "_")
    return {
        package + name: {
            number: (field, package + kind if kind in _MESSAGES else kind, often)
            for number, (field, kind, often) in fields.items()
        }
        for name, fields in _MESSAGES.items()
    }


def _condition(time: Schema) -> Schema:
    kind = Schema(SchemaType.STRING, go_type="v1.APIServiceConditionType")
    status = Schema(SchemaType.STRING, go_type="v1.ConditionStatus")
    return _struct(
        "APIServiceCondition",
        Field("type", kind, required=True, omit=Omit.NEVER),
        Field("status", status, required=True, omit=Omit.NEVER),
        Field("lastTransitionTime", time),
        Field("reason", _TEXT),
        Field("message", _TEXT),
    )


def _struct(name: str, *fields: Field) -> Schema:
    return Schema(
        SchemaType.STRUCT, name=DEFINITIONS + name, go_type=f"v1.{name}", fields={each.name: each for each in fields}
    )


def _resource() -> ResourceInfo:
    kind = GroupVersionKind(GROUP, VERSION, KIND)
    changes = ("get", "patch", "update")
    return ResourceInfo(
        gvr=GroupVersionResource(GROUP, VERSION, RESOURCE),
        kind=kind,
        singular="apiservice",
        namespaced=False,
        verbs=("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"),
        categories=("api-extensions",),
        subresources=(SubresourceInfo("status", kind, changes),),
    )
