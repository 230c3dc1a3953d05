"""Paths: where a resource and its subresources are, and what can be done there."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from watchkeeper.apis.catalog import ResourceInfo, SubresourceInfo
from watchkeeper.apis.schema_data import schema_data
from watchkeeper.endpoints.openapi.dialect import BUILTIN, CUSTOM, Dialect
from watchkeeper.endpoints.openapi.operations import STATUS_NAME, Operations, Subject
from watchkeeper.meta.gvk import GroupKind, GroupVersionKind
from watchkeeper.runtime.schema import SchemaType

CONNECTS = frozenset({"attach", "exec", "portforward", "proxy"})
"""Subresources that pass a connection on."""
_METHODS = {"get": "get", "create": "post", "update": "put", "patch": "patch", "delete": "delete"}
_PROXIED = ("get", "put", "post", "delete", "options", "head", "patch")
"""The methods that are passed on to where a proxy leads."""
_LOG_OPTIONS = GroupVersionKind("", "v1", "PodLogOptions")
_SIMPLE = frozenset({SchemaType.STRING, SchemaType.INTEGER, SchemaType.BOOLEAN})
_RETURNED = frozenset(
    {
        *(
            GroupKind("", kind)
            for kind in (
                "PersistentVolume",
                "PersistentVolumeClaim",
                "Pod",
                "PodTemplate",
                "ResourceQuota",
                "Service",
                "ServiceAccount",
            )
        ),
        *(
            GroupKind("resource.k8s.io", kind)
            for kind in ("DeviceClass", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice")
        ),
        *(
            GroupKind("storage.k8s.io", kind)
            for kind in ("CSIDriver", "CSINode", "StorageClass", "VolumeAttachment", "VolumeAttributesClass")
        ),
    }
)
"""Kinds whose objects are said to be the answer to their deletion."""

NameDefinition = Callable[[GroupVersionKind], str]
"""The name of a kind's definition; "" when it has none."""


class ResourcePaths:
    """Makes the paths of resources in one dialect, built-in ones or custom ones."""

    def __init__(self, dialect: Dialect, name_of: NameDefinition, *, custom: bool) -> None:
        self._operations = Operations(dialect)
        self._name_of = name_of
        self._custom = custom

    def of(self, info: ResourceInfo) -> dict[str, Any]:
        """All paths of a resource."""
        group, version, resource = info.gvr
        root = f"/apis/{group}/{version}" if group else f"/api/{version}"
        subject = self._subject(info, info.kind, info.kind.kind)
        scope = "Namespaced" if info.namespaced else ""
        below = f"/namespaces/{{namespace}}/{resource}" if info.namespaced else f"/{resource}"
        where = root + below
        found: dict[str, Any] = {}
        if collection := self._collection(info, subject, scope):
            found[where] = collection
        if info.namespaced and "list" in info.verbs:
            listing = {"get": self._operations.listing(subject, "ForAllNamespaces")}
            found[f"{root}/{resource}"] = self._path(listing, named=False, namespaced=False)
        if item := self._item(info, subject, scope):
            found[f"{where}/{{name}}"] = item
        if "watch" in info.verbs and not self._custom:
            found.update(self._watches(info, subject, scope, f"{root}/watch", below))
        for sub in info.subresources:
            base = f"{where}/{{name}}/{sub.name}"
            found[base] = self._subresource(info, sub, scope)
            if sub.name == "proxy":
                found[f"{base}/{{path}}"] = self._subresource(info, sub, scope, suffix="WithPath")
        return found

    def _subject(self, info: ResourceInfo, kind: GroupVersionKind, id_kind: str) -> Subject:
        group, version = info.gvr.group, info.gvr.version
        lists = GroupVersionKind(info.kind.group, info.kind.version, f"{info.kind.kind}List")
        return Subject(
            gvk=info.kind if self._custom else kind,
            definition=self._name_of(kind),
            list_definition=self._name_of(lists),
            tag=f"{group_tag(group)}_{version}",
            id_group=f"{title(group_tag(group))}{title(version)}",
            id_kind=id_kind,
            media=CUSTOM if self._custom else BUILTIN,
            deleted=self._name_of(kind) if kind.group_kind in _RETURNED else STATUS_NAME,
            custom=self._custom,
        )

    def _path(
        self,
        operations: dict[str, dict[str, Any]],
        *,
        named: bool,
        namespaced: bool,
        pretty: bool = True,
        rest: bool = False,
    ) -> dict[str, Any]:
        shared = self._operations.path_parameters(namespaced=namespaced, named=named, pretty=pretty)
        if rest:
            shared.append(self._operations.path_parameter("path"))
        return self._operations.item(operations, shared)

    def _watches(self, info: ResourceInfo, subject: Subject, scope: str, root: str, below: str) -> dict[str, Any]:
        """The old paths of watches."""
        watching = self._operations.watching
        whole = {"get": watching(subject, scope)}
        one = {"get": watching(subject, scope, named=True)}
        found = {root + below: self._path(whole, named=False, namespaced=info.namespaced)}
        if "get" in info.verbs:
            found[f"{root}{below}/{{name}}"] = self._path(one, named=True, namespaced=info.namespaced)
        if info.namespaced:
            everywhere = {"get": watching(subject, "ForAllNamespaces")}
            found[f"{root}/{info.gvr.resource}"] = self._path(everywhere, named=False, namespaced=False)
        return found

    def _collection(self, info: ResourceInfo, subject: Subject, scope: str) -> dict[str, Any]:
        operations = self._operations
        found: dict[str, Any] = {}
        if "list" in info.verbs:
            found["get"] = operations.listing(subject, scope)
        if "create" in info.verbs:
            found["post"] = operations.create(subject, scope)
        if "deletecollection" in info.verbs:
            found["delete"] = operations.delete_collection(subject, scope)
        return self._path(found, named=False, namespaced=info.namespaced) if found else {}

    def _item(self, info: ResourceInfo, subject: Subject, scope: str) -> dict[str, Any]:
        operations = self._operations
        makers = {
            "get": operations.read,
            "update": operations.replace,
            "patch": operations.patch,
            "delete": operations.delete,
        }
        found: dict[str, Any] = {
            _METHODS[verb]: make(subject, scope) for verb, make in makers.items() if verb in info.verbs
        }
        return self._path(found, named=True, namespaced=info.namespaced) if found else {}

    def _subresource(self, info: ResourceInfo, sub: SubresourceInfo, scope: str, suffix: str = "") -> dict[str, Any]:
        operations = self._operations
        subject = self._subject(info, sub.kind, title(info.kind.kind) + title(sub.name) + suffix)
        if sub.name == "log":
            subject = replace(subject, definition="", connect_options=_query_of(_LOG_OPTIONS))
        makers = {
            "get": operations.read,
            "create": operations.create,
            "update": operations.replace,
            "patch": operations.patch,
            "delete": operations.delete,
        }
        connects = sub.name in CONNECTS
        if not connects:
            found = {_METHODS[verb]: makers[verb](subject, scope) for verb in sub.verbs}
        else:
            subject = replace(subject, connect_options=_query_of(sub.kind))
            methods = _PROXIED if sub.name == "proxy" else [_METHODS[verb] for verb in sub.verbs]
            found = {method: operations.connect(subject, scope, method) for method in methods}
        return self._path(found, named=True, namespaced=info.namespaced, pretty=not connects, rest=bool(suffix))


def group_tag(group: str) -> str:
    """A group as tags and ids of operations have it, such as rbacAuthorization; "core" for the core group."""
    short = group.removesuffix(".k8s.io") or "core"
    first, *rest = (part for part in re.split("[^0-9A-Za-z]+", short) if part)
    if first[0].isdigit():
        first = title(first.lstrip("0123456789"))
    return first + "".join(map(title, rest))


def title(text: str) -> str:
    """The text with its first letter in upper case."""
    return text[:1].upper() + text[1:]


def _query_of(options: GroupVersionKind) -> dict[str, str]:
    """The parameters that options stand for, by name, with their JSON types: of a list, those of its items."""
    schema = schema_data().kinds[options]
    found: dict[str, str] = {}
    for name, field in sorted(schema.fields.items()):
        inner = field.schema.element or field.schema
        if inner.type in _SIMPLE and not inner.format.endswith("time") and name not in ("kind", "apiVersion"):
            found[name] = inner.type.value
    return found
