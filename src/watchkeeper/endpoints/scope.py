"""What is served, and all that a handler needs to know of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, Protocol

from watchkeeper.admission.interface import Chain, ObjectVersions
from watchkeeper.admission.versions import SchemeVersions
from watchkeeper.apis.behavior import KindBehavior
from watchkeeper.apis.catalog import ResourceInfo
from watchkeeper.authz.interface import Authorizer
from watchkeeper.endpoints.encodings import Encodings
from watchkeeper.endpoints.response import PathHandler, Response
from watchkeeper.meta.gvk import GroupVersion, GroupVersionKind
from watchkeeper.registry.backends import Backend
from watchkeeper.request.request import Request
from watchkeeper.runtime.raw_json import Path, raw_paths
from watchkeeper.runtime.scheme import Kind, Scheme
from watchkeeper.storage.interface import Watcher

Object = dict[str, Any]
PassOn = Callable[[Request, Backend], Awaitable[Response]]

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"


class FieldManager(Protocol):
    """Who owns which field (`runtime.managedfields`), for one kind at one version and subresource."""

    def update(self, live: Object | None, new: Object, manager: str) -> Object:
        """Note what `manager` changed between `live` and `new`; returns `new` with its managedFields."""
        ...

    def apply(
        self,
        live: Object | None,
        applied: Object,
        manager: str,
        *,
        force: bool,
        unknown: list[str] | None = None,
    ) -> Object:
        """Merge what `manager` applies into `live`. Raises a 409 with one cause per conflicting field.

        What the kind does not keep of it is added to `unknown`.
        """
        ...

    def apply_part(self, live: Object, part: Object, manager: str) -> Object:
        """Apply a part of an object, without its head, whoever owns what it names."""
        ...


@dataclass(eq=False, slots=True)
class Services:
    """What all handlers of a server share."""

    scheme: Scheme
    admission: Chain
    authorizer: Authorizer
    pass_on: PassOn
    """Has somebody else answer a request. Raises ApiError, ClientGone."""
    max_body_bytes: int = 3 * 1024 * 1024
    min_request_timeout: float = 1800.0
    """Seconds; a watch that names no timeout ends after this to twice this."""
    watchers: set[Watcher] = field(default_factory=set)
    """All open watches, to be ended on shutdown."""
    stopping: bool = False
    encodings: Encodings = field(default_factory=Encodings)
    """Objects at other versions and in other forms than they are stored in."""
    versions: ObjectVersions = field(init=False)
    """What admission converts objects by, where a scope has nothing of its own."""

    def __post_init__(self) -> None:
        self.versions = SchemeVersions(self.scheme)


@dataclass(eq=False, slots=True, kw_only=True)
class Scope:
    """One resource at one version, or one subresource of it. `store` is asked for what it can do, by role."""

    services: Services
    info: ResourceInfo
    kind: Kind
    """What bodies are at this version; for a subresource with bodies of its own, that kind."""
    hub: GroupVersionKind
    behavior: KindBehavior
    store: Any
    subresource: str = ""
    verbs: frozenset[str] = frozenset()
    patch_types: tuple[str, ...] = (JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, APPLY_PATCH)
    field_manager: FieldManager | None = None
    parent_kind: GroupVersionKind | None = None
    """For a subresource: the kind of the object it belongs to."""
    own_versions: ObjectVersions | None = None
    """What admission converts objects by, if not the scheme."""
    renderers: dict[Hashable, Any] = field(default_factory=dict)
    closed: bool = False
    """Set when the resource is served no longer (its definition was deleted or replaced)."""
    on_close: dict[Callable[[], None], None] = field(default_factory=dict)
    """What is called then."""
    namespaced: bool = field(init=False)
    """Whether objects live in namespaces."""
    versions: ObjectVersions = field(init=False)
    """What admission converts objects by."""
    is_hub: bool = field(init=False)
    """Whether bodies are stored as they are at this version."""
    of_custom: bool = field(init=False)
    """Whether it belongs to a custom resource, though bodies (of the scale) may be of a built-in kind."""
    in_protobuf: bool = field(init=False)
    """Whether answers can be in protobuf: those of paths of custom resources cannot, not even of their scale."""
    tables: bool = field(init=False)
    """Whether there are Tables of it: of what can be listed, its status and its scale."""
    shares_parts: bool = field(init=False)
    """Whether a patched object may share parts with the object before (`KindBehavior.shares_parts`)."""
    raw_paths: tuple[Path, ...] = field(init=False)
    """Where bodies have raw objects, whose texts count."""

    def __post_init__(self) -> None:
        self.namespaced = self.info.namespaced
        self.versions = self.own_versions or self.services.versions
        self.is_hub = self.kind.gvk == self.hub
        self.of_custom = self.own_versions is not None
        self.in_protobuf = self.kind.builtin and not self.of_custom
        if self.subresource == "status":
            self.tables = self.behavior.status_has_table
        else:
            self.tables = self.subresource == "scale" if self.subresource else "list" in self.verbs
        self.raw_paths = raw_paths(self.kind.schema) if self.kind.builtin else ()
        self.shares_parts = self.behavior.shares_parts and not self.subresource and self.is_hub and not self.raw_paths

    def __repr__(self) -> str:
        path = f"{self.info.gvr.resource}/{self.subresource}" if self.subresource else self.info.gvr.resource
        return f"<Scope {self.info.gvr.group_version} {path}>"


class ServedResource:
    """A resource at a version with its subresources. Custom resources make their scopes when they are first asked for.

    `custom`: paths that lead nowhere are answered as for custom resources. `warning` goes with every response.
    """

    __slots__ = ("_made", "_make", "custom", "info", "warning")

    def __init__(
        self,
        info: ResourceInfo,
        scope: Scope | None = None,
        subresources: dict[str, Scope] | None = None,
        *,
        make: Callable[[], tuple[Scope, dict[str, Scope]]] | None = None,
        custom: bool = False,
        warning: str = "",
    ) -> None:
        """With either a scope or a function that makes scopes."""
        self.info = info
        self.custom = custom
        self.warning = warning
        self._make = make
        self._made = (scope, subresources or {}) if scope is not None else None

    def __repr__(self) -> str:
        return f"<ServedResource {self.info.gvr.group_version} {self.info.gvr.resource}>"

    @property
    def is_made(self) -> bool:
        """Whether anybody has asked for its scopes yet."""
        return self._made is not None

    @property
    def scope(self) -> Scope:
        """The resource itself."""
        return (self._made or self._make_scopes())[0]

    @property
    def subresources(self) -> dict[str, Scope]:
        """Its subresources, by name."""
        return (self._made or self._make_scopes())[1]

    def _make_scopes(self) -> tuple[Scope, dict[str, Scope]]:
        assert self._make is not None
        self._made = self._make()
        return self._made

    def close(self) -> None:
        """End all that goes on in it."""
        if self._made is not None:
            for scope in (self._made[0], *self._made[1].values()):
                close_scope(scope)


_CORE = GroupVersion("", "v1")


class ServedTable:
    """Everything served, by group, version and resource. Changes while the server runs, with custom resources."""

    def __init__(self) -> None:
        self._groups: dict[str, dict[str, dict[str, ServedResource]]] = {}
        self._custom: set[str] = set()
        self.remote: dict[GroupVersion, PathHandler] = {}
        """What is served elsewhere, whatever is served here, and who passes requests on to there."""
        self.generation = 0
        """Counts changes; whoever caches something made of the table compares it."""
        self.on_change: list[Callable[[ServedResource], None]] = []
        """Called with what is served now, or no longer, before the watches of the latter end."""

    def add(self, resource: ServedResource, *, custom: bool = False) -> None:
        """Serve a resource at a version, in place of what was served so before."""
        gvr = resource.info.gvr
        versions = self._groups.setdefault(gvr.group, {})
        versions.setdefault(gvr.version, {})[gvr.resource] = resource
        if custom:
            self._custom.add(gvr.group)
        self._changed(resource)

    def remove(self, group: str, version: str, resource: str) -> None:
        """Serve it no longer; ends its watches."""
        versions = self._groups.get(group, {})
        resources = versions.get(version, {})
        found = resources.pop(resource, None)
        if found is None:
            return
        if not resources:
            del versions[version]
        if not versions:
            del self._groups[group]
            self._custom.discard(group)
        self._changed(found)
        found.close()

    def _changed(self, resource: ServedResource) -> None:
        self.generation += 1
        for callback in self.on_change:
            callback(resource)

    def elsewhere(self, path: str) -> PathHandler | None:
        """Who passes requests for a path on; None for a path that is answered here."""
        if not self.remote:
            return None
        parts = path.split("/", 4)
        if len(parts) > 3 and parts[1] == "apis" and parts[2]:
            return self.remote.get(GroupVersion(parts[2], parts[3]))
        return self.remote.get(_CORE) if parts[1] == "api" else None

    def find(self, group: str, version: str, resource: str) -> ServedResource | None:
        """The resource, if it is served."""
        versions = self._groups.get(group)
        if versions is None:
            return None
        resources = versions.get(version)
        return None if resources is None else resources.get(resource)

    def has_group(self, group: str) -> bool:
        """Whether anything of the group is served."""
        return group in self._groups

    def is_custom_group(self, group: str) -> bool:
        """Whether the group exists for custom resources only."""
        return group in self._custom

    def groups(self) -> list[str]:
        """The groups, in the order in which they were added."""
        return list(self._groups)

    def versions(self, group: str) -> list[str]:
        """A group's versions, in the order in which they were added."""
        return list(self._groups.get(group, ()))

    def resources(self, group: str, version: str) -> list[ServedResource]:
        """What is served at a version of a group."""
        return list(self._groups.get(group, {}).get(version, {}).values())


def close_scope(scope: Scope) -> None:
    """Mark a scope as served no longer and end what goes on in it."""
    scope.closed = True
    for callback in list(scope.on_close):
        callback()
    scope.on_close.clear()


def end_begun(scope: Scope, begun: list[Callable[[], None]]) -> None:
    """End what was begun in a scope and goes on still; what was begun since goes on."""
    for callback in begun:
        if callback in scope.on_close:
            callback()
