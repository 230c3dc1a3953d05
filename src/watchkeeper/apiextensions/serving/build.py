"""Makes what serves one version of a custom resource: compiled schema, storage, stores and scopes.

Imported when the first request for a custom resource comes, because it brings in all that schemas may need.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import orjson

from watchkeeper.apiextensions.serving.codec import CustomCodec
from watchkeeper.apiextensions.serving.columns import SCALE_COLUMNS, table_of
from watchkeeper.apiextensions.serving.defined import Defined, VersionDefined
from watchkeeper.apiextensions.serving.hooks import Hooks
from watchkeeper.apiextensions.serving.kind import CustomKind
from watchkeeper.apiextensions.serving.object_versions import CustomVersions
from watchkeeper.apiextensions.serving.scale import CustomScaleStore, ScalePaths
from watchkeeper.apiextensions.serving.selectable import field_labels, label_converter, selectable_fields
from watchkeeper.apiextensions.serving.store import CustomStatusStore, CustomStore
from watchkeeper.apiextensions.serving.strategy import CustomStatusStrategy, CustomStrategy
from watchkeeper.apiextensions.serving.verbs import SCALE, SUBRESOURCE_VERBS, VERBS
from watchkeeper.apiextensions.serving.version import CompiledVersion
from watchkeeper.apiextensions.serving.versioned import VersionedStorage
from watchkeeper.apis.behavior import KindBehavior
from watchkeeper.endpoints.installer import patch_types
from watchkeeper.endpoints.scope import APPLY_PATCH, JSON_PATCH, MERGE_PATCH, Scope
from watchkeeper.registry.store import StoreConfig
from watchkeeper.runtime.managedfields import Foreign, Path
from watchkeeper.runtime.scheme import Kind
from watchkeeper.storage.interface import Interface

if TYPE_CHECKING:
    from watchkeeper.apiextensions.serving.resource import CustomResource

Object = dict[str, Any]


def compile_version(defined: Defined, version: VersionDefined, hooks: Hooks) -> CompiledVersion:
    """A version's schema, to be compiled as it is needed."""
    return CompiledVersion(
        defined.gvk(version.name),
        version.schema_json,
        has_status=version.has_status,
        scale=ScalePaths.of(dict(version.scale)) if version.scale is not None else None,
        keep_unknown=defined.keep_unknown,
        hooks=hooks,
    )


def make_codec(resource: CustomResource) -> CustomCodec:
    """The codec of all that is stored."""
    defined, storage = resource.defined, resource.storage_version
    versions = {v.name: resource.compiled(v.name) for v in defined.versions}
    # What is selected by is read off stored objects: fields of all versions, unless only a webhook could tell them.
    paths = storage.selectable
    if resource.converter.is_local:
        paths = tuple(dict.fromkeys(path for v in defined.versions for path in v.selectable))
    return CustomCodec(defined.gvk(storage.name), versions, selectable_fields(_entries(paths)))


def _storage_of(resource: CustomResource, version: VersionDefined) -> Interface:
    defined, storage = resource.defined, resource.storage_version
    stored_elsewhere = any(name != storage.name for name in defined.stored_versions)
    if version.name == storage.name and not stored_elsewhere:
        return resource.base
    return VersionedStorage(
        resource.base,
        stored=resource.compiled(storage.name),
        shown=resource.compiled(version.name),
        converter=resource.converter,
        selectable_fields=selectable_fields(_entries(version.selectable)),
        same_fields=resource.converter.is_local,
    )


def build_scopes(resource: CustomResource, version: VersionDefined) -> tuple[Scope, dict[str, Scope]]:
    """The scope of a version and those of its subresources."""
    compiled = resource.compiled(version.name)
    defined, gvk = resource.defined, compiled.gvk
    # Hooks in Python may do anything to an object; what schemas do leaves alone what is as it should be. With several
    # versions that is not so: an object of another one has fields that go once it is written at this one.
    shares_parts = compiled.hooks == Hooks() and len(defined.versions) == 1
    behavior = _behavior(defined, version, shares_parts=shares_parts)
    config = StoreConfig(
        resource=defined.group_resource,
        storage=_storage_of(resource, version),
        strategy=CustomStrategy(compiled, behavior, namespaced=defined.namespaced),
        prefix=resource.prefix,
    )
    store = CustomStore(config, is_ending=lambda: defined.terminating)
    scheme = resource.backend.services.scheme
    kinds = {each.name: CustomKind(resource.compiled(each.name)) for each in defined.versions}
    for name, each in kinds.items():
        # Owners may have recorded fields at any version, whichever are asked for.
        if resource.gives_kind(name):
            scheme.register(each)
    kind = kinds[version.name]
    maker = _ScopeMaker(resource, version, behavior, compiled)
    subresources: dict[str, Scope] = {}
    if version.has_status:
        status = CustomStatusStore(store, CustomStatusStrategy(compiled, behavior, namespaced=defined.namespaced))
        subresources["status"] = maker.make(kind, status, "status")
    if compiled.scale is not None:
        scale_kind = scheme.kind(SCALE)
        replicas = _replicas(defined)
        scale = CustomScaleStore(store, compiled.scale, scale_kind.decode, gvk.api_version, replicas, compiled.prune)
        subresources["scale"] = maker.make(scale_kind, scale, "scale")
    return maker.make(kind, store, ""), subresources


def _replicas(defined: Defined) -> dict[str, Path | None]:
    """Where the replicas asked for are at each version, None at those without a scale."""
    scales = {v.name: ScalePaths.of(dict(v.scale)) if v.scale is not None else None for v in defined.versions}
    return {
        defined.gvk(name).api_version: None if scale is None else scale.replicas_path()
        for name, scale in scales.items()
    }


class _ScopeMaker:
    def __init__(
        self, resource: CustomResource, version: VersionDefined, behavior: KindBehavior, compiled: CompiledVersion
    ) -> None:
        self.backend = resource.backend
        self.info = resource.info(version)
        self.behavior = behavior
        self.compiled = compiled
        defined = resource.defined
        self.with_status = frozenset(defined.gvk(v.name).api_version for v in defined.versions if v.has_status)
        self.versions = CustomVersions(resource)
        self.foreign = None if resource.converter.is_local else Foreign(self.versions.ask)

    def make(self, kind: Kind, store: Any, subresource: str) -> Scope:
        return Scope(
            services=self.backend.services,
            info=self.info,
            kind=kind,
            hub=kind.gvk,
            behavior=replace(self.behavior, table=table_of(SCALE_COLUMNS)) if kind.builtin else self.behavior,
            store=store,
            subresource=subresource,
            verbs=frozenset(SUBRESOURCE_VERBS if subresource else VERBS),
            patch_types=(JSON_PATCH, MERGE_PATCH, APPLY_PATCH) if kind.builtin else patch_types(kind),
            field_manager=self.backend.field_manager(kind, self.with_status, subresource, self.foreign),
            parent_kind=self.compiled.gvk if subresource else None,
            own_versions=self.versions,
        )


def _behavior(defined: Defined, version: VersionDefined, *, shares_parts: bool) -> KindBehavior:
    fields = _entries(version.selectable)
    labels = field_labels(fields)
    return KindBehavior(
        kind=defined.gvk(version.name).group_kind,
        selectable_fields=selectable_fields(fields),
        selectable_labels=labels,
        allow_unconditional_update=False,
        shares_parts=shares_parts,
        table=table_of(orjson.loads(version.columns)),
        extra={
            "list_kind": defined.list_kind,
            "convert_field_label": label_converter(labels, namespaced=defined.namespaced),
        },
    )


def _entries(paths: tuple[str, ...]) -> list[Object]:
    return [{"jsonPath": path} for path in paths]
