"""One definition, served: what is told about it, and what serves it, made when a request first needs it."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import orjson

from watchkeeper.apiextensions.conversion.interface import Converter
from watchkeeper.apiextensions.conversion.none import NoneConverter
from watchkeeper.apiextensions.serving.defined import Defined, VersionDefined
from watchkeeper.apiextensions.serving.hooks import Hooks
from watchkeeper.apiextensions.serving.skeleton import skeleton
from watchkeeper.apiextensions.serving.verbs import ENDING_VERBS, SCALE, SUBRESOURCE_VERBS, VERBS
from watchkeeper.apis.catalog import ResourceInfo, SubresourceInfo
from watchkeeper.endpoints.scope import FieldManager, Scope, ServedResource, Services, end_begun
from watchkeeper.meta.gvk import GroupResource, GroupVersionKind, GroupVersionResource
from watchkeeper.meta.versions import version_order
from watchkeeper.registry.store import Store
from watchkeeper.runtime.managedfields import Foreign
from watchkeeper.runtime.scheme import Kind
from watchkeeper.storage.codec import JsonCodec
from watchkeeper.storage.interface import Interface

if TYPE_CHECKING:
    from watchkeeper.apiextensions.serving.version import CompiledVersion
    from watchkeeper.webhook import Clients

Object = dict[str, Any]

_LAST_EVENTS = 1.0
"""For so many seconds watches go on after a change of their definition."""


class Backend(Protocol):
    """What serving takes from the server."""

    services: Services

    def prefix(self, resource: GroupResource) -> str:
        """The key under which the objects of a resource are, without a final slash."""
        ...

    def open_storage(self, resource: GroupResource, codec: JsonCodec, *, cached: bool = True) -> Interface:
        """Storage for a resource; it costs nothing until it is used. One that is not `cached` needs no closing."""
        ...

    def close_storage(self, storage: Interface) -> None:
        """Close it, watches included, in the background."""
        ...

    def field_manager(
        self, kind: Kind, with_status: Collection[str], subresource: str, foreign: Foreign | None
    ) -> FieldManager | None:
        """Who keeps track of fields. `with_status`: apiVersions whose status is written through its own subresource.

        `foreign` converts objects if a webhook does it.
        """
        ...


@dataclass(frozen=True, slots=True)
class _Built:
    """What has been made for a version."""

    scope: Scope
    subresources: dict[str, Scope]


class CustomResource:
    """Everything that serves one definition, as one revision of it says."""

    def __init__(
        self,
        defined: Defined,
        backend: Backend,
        make_converter: Callable[[Object], Converter],
        hooks: Hooks = Hooks(),
    ) -> None:
        self.defined = defined
        self.hooks = hooks
        self.backend = backend
        self._make_converter = make_converter
        self._converter: Converter | None = None
        self._base: Interface | None = None
        self._successor: CustomResource | None = None
        self._replacement: CustomResource | None = None
        """What came after it without taking anything over."""
        self._ended = False
        self._compiled: dict[str, CompiledVersion] = {}
        self._built: dict[str, _Built] = {}

    def __repr__(self) -> str:
        return f"<CustomResource {self.defined.name}>"

    # -- what is told about it ------------------------------------------------------------------------------------

    @functools.cached_property
    def infos(self) -> tuple[ResourceInfo, ...]:
        """The resource at each served version, as discovery lists it."""
        return tuple(self.info(v) for v in self.defined.served_versions)

    def info(self, version: VersionDefined) -> ResourceInfo:
        """The resource at a version."""
        defined = self.defined
        gvk = defined.gvk(version.name)
        subresources = []
        if version.has_status:
            subresources.append(SubresourceInfo("status", gvk, SUBRESOURCE_VERBS))
        if version.scale is not None:
            subresources.append(SubresourceInfo("scale", SCALE, SUBRESOURCE_VERBS))
        return ResourceInfo(
            gvr=GroupVersionResource(defined.group, version.name, defined.plural),
            kind=gvk,
            singular=defined.singular,
            namespaced=defined.namespaced,
            verbs=ENDING_VERBS if defined.terminating else VERBS,
            short_names=defined.short_names,
            categories=defined.categories,
            subresources=tuple(subresources),
        )

    def served(self, version: VersionDefined) -> ServedResource:
        """The resource at a version, for the table of what is served."""
        return ServedResource(
            self.info(version),
            make=lambda: self._scopes(version),
            custom=True,
            warning=self._warning(version),
        )

    def _warning(self, version: VersionDefined) -> str:
        if not version.deprecated:
            return ""
        if version.deprecation_warning is not None:
            return version.deprecation_warning
        defined = self.defined
        text = f"{defined.group}/{version.name} {defined.kind} is deprecated"
        order = version_order(version.name)
        newer = [v for v in defined.served_versions if not v.deprecated and version_order(v.name) < order]
        return f"{text}; use {defined.group}/{newer[0].name} {defined.kind}" if newer else text

    # -- what is made when it is needed ---------------------------------------------------------------------------

    def compiled(self, name: str) -> CompiledVersion:
        """A version's schema. Raises KeyError for a version that is not defined."""
        found = self._compiled.get(name)
        if found is None:
            from watchkeeper.apiextensions.serving.build import compile_version

            version = _find(self.defined, name)
            if version is None:
                raise KeyError(name)
            found = self._compiled[name] = compile_version(self.defined, version, self.hooks)
        return found

    def gives_kind(self, name: str) -> bool:
        """Whether the scheme is to have the kind of a version as it is here.

        Who found an earlier state may still ask for its scopes, before anybody has asked for those of the state that
        came after it; then the kind has to be known as it was. Nothing that has gone leaves anything in the scheme.
        """
        newest, gvk = self, self.defined.gvk(name)
        while (later := newest._successor or newest._replacement) is not None:
            newest = later
        if newest is self:
            return not self._ended
        return not newest._ended and newest._defines(gvk) and not self.backend.services.scheme.recognizes(gvk)

    def _defines(self, gvk: GroupVersionKind) -> bool:
        return any(self.defined.gvk(version.name) == gvk for version in self.defined.versions)

    @property
    def _holder(self) -> CustomResource:
        """Who holds what has been handed on from state to state."""
        found = self
        while found._successor is not None:
            found = found._successor
        return found

    @property
    def converter(self) -> Converter:
        """Between its versions."""
        holder = self._holder
        if holder._converter is None:
            holder._converter = self._make_converter(orjson.loads(self.defined.conversion))
        return holder._converter

    @property
    def base(self) -> Interface:
        """Where all its objects are. Nobody would close what is opened once it has ended, so that is not cached."""
        holder = self._holder
        if holder._base is None:
            from watchkeeper.apiextensions.serving.build import make_codec

            codec = make_codec(holder)
            holder._base = self.backend.open_storage(self._resource, codec, cached=not holder._ended)
        return holder._base

    @property
    def prefix(self) -> str:
        """The key under which its objects are, without a final slash."""
        return self.backend.prefix(self._resource)

    @property
    def _resource(self) -> GroupResource:
        return GroupResource(self.defined.group, self.defined.plural)

    @property
    def storage_version(self) -> VersionDefined:
        """The version that objects are stored at."""
        found = self.defined.storage_version
        if found is None:
            raise ValueError(f"{self.defined.name} has no storage version")
        return found

    def storage_store(self) -> Store:
        """The store at the storage version, whether that is served or not."""
        scope, _ = self._scopes(self.storage_version)
        store: Store = scope.store
        return store

    def _scopes(self, version: VersionDefined) -> tuple[Scope, dict[str, Scope]]:
        built = self._built.get(version.name)
        if built is None:
            from watchkeeper.apiextensions.serving.build import build_scopes

            built = self._built[version.name] = _Built(*build_scopes(self, version))
        return built.scope, built.subresources

    # -- change and end -------------------------------------------------------------------------------------------

    def succeed(self, old: CustomResource) -> frozenset[str]:
        """Take over from the state before a change; returns the versions whose watches may go on for now.

        As long as stored objects read alike, their cache need not notice the change. Whoever watches it is sent away
        a second later, as by the reference, unless only the definition's status has changed.
        """
        if not reads_alike(old.defined, self.defined):
            old._replacement = self
            old._end()
            return frozenset()
        self._base, old._base = old._base, None
        self._converter, old._converter = old._converter, None
        old._successor = self
        kept = frozenset(v.name for v in self.defined.versions if _same_structure(v, _find(old.defined, v.name)))
        again = not asks_alike(old.defined, self.defined)
        for name in kept:
            if name in old._built:
                self._keep_watches(name, old._built[name], again=again)
        return kept

    def _keep_watches(self, name: str, old: _Built, *, again: bool) -> None:
        """Let the new scope of a version end what goes on in the old one. `again`: watches have to be opened again."""
        version = _find(self.defined, name)
        if version is not None and version.served:
            scope, _ = self._scopes(version)
            scope.on_close = old.scope.on_close
            if again:
                begun = list(scope.on_close)
                asyncio.get_running_loop().call_later(_LAST_EVENTS, end_begun, scope, begun)

    def close(self) -> None:
        """End its watches and give back what it holds."""
        self._end()

    def _end(self) -> None:
        """The same. Requests that are on their way look for kinds, which therefore stay if the replacement has them."""
        self._ended = True
        if self._base is not None:
            self.backend.close_storage(self._base)
            self._base = None
        if self._converter is not None:
            self._converter.close()
            self._converter = None
        for version in self.defined.versions:
            gvk = self.defined.gvk(version.name)
            if self._replacement is None or not self._replacement._defines(gvk):
                self.backend.services.scheme.unregister(gvk)


def _find(defined: Defined, name: str) -> VersionDefined | None:
    return next((v for v in defined.versions if v.name == name), None)


def _same_structure(a: VersionDefined, b: VersionDefined | None) -> bool:
    if b is None:
        return False
    return a.schema_json == b.schema_json or skeleton(a.schema_json) == skeleton(b.schema_json)


def asks_alike(old: Defined, new: Defined) -> bool:
    """Whether a definition asks for the same before and after a change, which then is one of its status."""
    return old == replace(
        new,
        stored_versions=old.stored_versions,
        terminating=old.terminating,
        served=old.served,
        established=old.established,
    )


def reads_alike(old: Defined, new: Defined) -> bool:
    """Whether stored objects read alike before and after a change of their definition."""
    if old.uid != new.uid or old.conversion != new.conversion or old.keep_unknown != new.keep_unknown:
        return False
    if (old.group, old.plural, old.kind, old.namespaced) != (new.group, new.plural, new.kind, new.namespaced):
        return False
    a, b = old.storage_version, new.storage_version
    if a is None or b is None or a.name != b.name or not _same_structure(a, b):
        return False
    if set(old.stored_versions) != set(new.stored_versions):
        return False
    if {v.name for v in old.versions} != {v.name for v in new.versions}:
        return False  # objects at a version that has gone cannot be read until it is back
    before = {path for v in old.versions for path in v.selectable}
    after = {path for v in new.versions for path in v.selectable}
    if before != after:
        return False
    names = {v.name for v in old.versions} & set(old.stored_versions)
    return all((found := _find(new, name)) is not None and _same_structure(found, _find(old, name)) for name in names)


def converter_of(conversion: Object, clients: Callable[[], Clients] | None = None) -> Converter:
    """The converter that a definition's spec.conversion asks for; `clients` gives those who call webhooks."""
    if conversion.get("strategy") != "Webhook":
        return NoneConverter()
    from watchkeeper.apiextensions.conversion.webhook import WebhookConverter

    return WebhookConverter(conversion.get("webhook") or {}, None if clients is None else clients())
