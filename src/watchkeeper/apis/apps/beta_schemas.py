"""The kinds of apps/v1beta1 and apps/v1beta2, made from those of apps/v1: they differ in a handful of fields."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from watchkeeper.apis.catalog import ResourceInfo, SubresourceInfo
from watchkeeper.meta.gvk import GroupVersionKind
from watchkeeper.runtime.schema import Field, Omit, Schema, SchemaType

V1BETA1, V1BETA2 = "v1beta1", "v1beta2"
"""Off unless an operator turns them on; listed behind v1, the newer one first."""

KINDS: Mapping[str, tuple[str, ...]] = {
    V1BETA2: ("ControllerRevision", "DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"),
    V1BETA1: ("ControllerRevision", "Deployment", "StatefulSet"),
}
"""What each version has of the kinds of v1."""

SCALE, ROLLBACK = "Scale", "DeploymentRollback"

_DEFINITIONS = "io.k8s.api.apps."
_TEXT = Schema(SchemaType.STRING, go_type="string")
_INT32 = Schema(SchemaType.INTEGER, go_type="int32", format="int32")
_INT64 = Schema(SchemaType.INTEGER, go_type="int64", format="int64")
_TEXTS = Schema(SchemaType.MAP, go_type="map[string]string", element=_TEXT)


def beta(version: str, kind: str) -> GroupVersionKind:
    """A kind of the group at one of the versions."""
    return GroupVersionKind("apps", version, kind)


def beta_kinds(kinds: Mapping[GroupVersionKind, Schema]) -> dict[GroupVersionKind, Schema]:
    """Every kind of both versions, given those of v1."""
    found: dict[GroupVersionKind, Schema] = {}
    for version, names in KINDS.items():
        copy = _Copy(version)
        for name in names:
            for kind in (name, f"{name}List"):
                found[beta(version, kind)] = copy.of(kinds[beta("v1", kind)])
        deployment = found[beta(version, "Deployment")]
        metadata = deployment.fields["metadata"]
        found[beta(version, SCALE)] = _scale(version, metadata)
        if version == V1BETA1:
            found[beta(version, ROLLBACK)] = _loosen(found, deployment.fields["spec"].schema)
    return found


def definitions_of(kinds: Mapping[GroupVersionKind, Schema]) -> dict[str, Schema]:
    """The structs of both versions by name."""
    found: dict[str, Schema] = {}
    left = list(kinds.values())
    while left:
        schema = left.pop()
        if schema.name.startswith((f"{_DEFINITIONS}{V1BETA1}.", f"{_DEFINITIONS}{V1BETA2}.")):
            if schema.name in found:
                continue
            found[schema.name] = schema
        elif schema.name:
            continue
        left += [field.schema for field in schema.fields.values()]
        left += [schema.element] if schema.element is not None else []
    return found


def beta_resources(resources: Iterable[ResourceInfo]) -> list[ResourceInfo]:
    """What both versions serve, given what all others do."""
    stable = [info for info in resources if info.gvr.group_version == ("apps", "v1")]
    return [_resource(version, info) for version, names in KINDS.items() for info in stable if info.kind.kind in names]


def _resource(version: str, info: ResourceInfo) -> ResourceInfo:
    subresources = [
        replace(sub, kind=beta(version, SCALE if sub.name == "scale" else sub.kind.kind)) for sub in info.subresources
    ]
    if (version, info.kind.kind) == (V1BETA1, "Deployment"):
        subresources.insert(0, SubresourceInfo("rollback", beta(version, ROLLBACK), ("create",)))
    return replace(
        info,
        gvr=info.gvr._replace(version=version),
        kind=info.kind._replace(version=version),
        subresources=tuple(subresources),
    )


class _Copy:
    """Copies schemas as far down as they belong to the group; what lies below is shared."""

    def __init__(self, version: str) -> None:
        self._version = version
        self._made: dict[int, Schema] = {}

    def of(self, schema: Schema) -> Schema:
        if id(schema) in self._made:
            return self._made[id(schema)]
        element = self.of(schema.element) if schema.element is not None and not schema.name else schema.element
        if not schema.name.startswith(f"{_DEFINITIONS}v1."):
            return schema if element is schema.element else self._list(schema, element)
        name = schema.name.replace(f"{_DEFINITIONS}v1.", f"{_DEFINITIONS}{self._version}.")
        made = self._made[id(schema)] = replace(schema, name=name, go_type=self._go_type(schema), fields={})
        made.fields = {field.name: replace(field, schema=self.of(field.schema)) for field in schema.fields.values()}
        return made

    def _list(self, schema: Schema, element: Schema | None) -> Schema:
        return replace(schema, element=element, go_type=self._go_type(schema))

    def _go_type(self, schema: Schema) -> str:
        return schema.go_type.replace("v1.", f"{self._version}.")


def _loosen(found: Mapping[GroupVersionKind, Schema], deployment_spec: Schema) -> Schema:
    """Make of v1beta2 what v1beta1 is: selectors may be missing, and a Deployment can be asked to go back.

    Returns the kind that asks for it.
    """
    stateful_set = found[beta(V1BETA1, "StatefulSet")]
    for spec in (deployment_spec, stateful_set.fields["spec"].schema):
        spec.fields["selector"] = replace(spec.fields["selector"], required=False, omit=Omit.EMPTY)
    status = stateful_set.fields["status"].schema
    status.fields["observedGeneration"] = replace(status.fields["observedGeneration"], pointer=True)
    target = _struct(V1BETA1, "RollbackConfig", Field("revision", _INT64))
    fields = dict(deployment_spec.fields)
    deadline = fields.pop("progressDeadlineSeconds")
    fields["rollbackTo"] = Field("rollbackTo", target, pointer=True)
    deployment_spec.fields = {**fields, "progressDeadlineSeconds": deadline}
    return _struct(
        V1BETA1,
        ROLLBACK,
        Field("kind", _TEXT),
        Field("apiVersion", _TEXT),
        Field("name", _TEXT, required=True, omit=Omit.NEVER),
        Field("updatedAnnotations", _TEXTS),
        Field("rollbackTo", target, required=True, omit=Omit.NEVER),
    )


def _scale(version: str, metadata: Field) -> Schema:
    spec = _struct(version, "ScaleSpec", Field("replicas", _INT32, default=0))
    status = _struct(
        version,
        "ScaleStatus",
        Field("replicas", _INT32, required=True, omit=Omit.NEVER),
        Field("selector", _TEXTS),
        Field("targetSelector", _TEXT),
    )
    return _struct(
        version,
        SCALE,
        Field("kind", _TEXT),
        Field("apiVersion", _TEXT),
        metadata,
        Field("spec", spec),
        Field("status", status),
    )


def _struct(version: str, name: str, *fields: Field) -> Schema:
    return Schema(
        SchemaType.STRUCT,
        name=f"{_DEFINITIONS}{version}.{name}",
        go_type=f"{version}.{name}",
        fields={field.name: field for field in fields},
    )
