"""Paths: where a resource and its subresources are, and what can be done there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from watchkeeper.apis.catalog import ResourceInfo, SubresourceInfo
from watchkeeper.endpoints.openapi.dialect import Dialect
from watchkeeper.endpoints.openapi.operations import Operations, Subject
from watchkeeper.meta.gvk import GroupVersionKind

CONNECTS = frozenset({"attach", "exec", "portforward", "proxy"})
"""Subresources that pass a connection on."""
_METHODS = {"get": "get", "create": "post", "update": "put", "patch": "patch", "delete": "delete"}

NameDefinition = Callable[[GroupVersionKind], str]
"""The name of a kind's definition; "" when it has none."""


class ResourcePaths:
    """Makes the paths of resources in one dialect."""

    def __init__(self, dialect: Dialect, name_of: NameDefinition, patch_types: tuple[str, ...]) -> None:
        self._operations = Operations(dialect)
        self._name_of = name_of
        self._patch_types = patch_types

    def of(self, info: ResourceInfo) -> dict[str, Any]:
        """All paths of a resource."""
        group, version, resource = info.gvr
        root = f"/apis/{group}/{version}" if group else f"/api/{version}"
        where = f"{root}/namespaces/{{namespace}}" if info.namespaced else root
        if resource == "namespaces" and not group:
            where = root
        subject = self._subject(info, info.kind, info.kind.kind)
        scope = "Namespaced" if info.namespaced else ""
        found: dict[str, Any] = {}
        if collection := self._collection(info, subject, scope):
            found[f"{where}/{resource}"] = collection
        if info.namespaced and "list" in info.verbs:
            found[f"{root}/{resource}"] = self._everywhere(subject)
        if item := self._item(info, subject, scope):
            found[f"{where}/{resource}/{{name}}"] = item
        for sub in info.subresources:
            base = f"{where}/{resource}/{{name}}/{sub.name}"
            found[base] = self._subresource(info, sub, scope)
            if sub.name == "proxy":
                found[f"{base}/{{path}}"] = self._subresource(info, sub, scope, suffix="WithPath")
        return found

    def _subject(self, info: ResourceInfo, kind: GroupVersionKind, id_kind: str) -> Subject:
        group, version = info.gvr.group, info.gvr.version
        short = group.removesuffix(".k8s.io") or "core"
        lists = GroupVersionKind(info.kind.group, info.kind.version, f"{info.kind.kind}List")
        return Subject(
            gvk=kind,
            definition=self._name_of(kind),
            list_definition=self._name_of(lists),
            tag=f"{short.replace('.', '_')}_{version}",
            id_group="".join(part[:1].upper() + part[1:] for part in (*short.split("."), version)),
            id_kind=id_kind,
            patch_types=self._patch_types,
        )

    def _collection(self, info: ResourceInfo, subject: Subject, scope: str) -> dict[str, Any]:
        operations = self._operations
        found: dict[str, Any] = {}
        if "list" in info.verbs:
            found["get"] = operations.listing(subject, scope)
        if "create" in info.verbs:
            found["post"] = operations.create(subject, scope)
        if "deletecollection" in info.verbs:
            found["delete"] = operations.delete_collection(subject, scope)
        if found:
            found["parameters"] = operations.path_parameters(namespaced=info.namespaced, named=False)
        return found

    def _everywhere(self, subject: Subject) -> dict[str, Any]:
        operations = self._operations
        shared = [
            *operations.listing_parameters(),
            *operations.path_parameters(namespaced=False, named=False),
        ]
        return {"get": operations.listing(subject, "ForAllNamespaces"), "parameters": shared}

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
        if found:
            found["parameters"] = operations.path_parameters(namespaced=info.namespaced, named=True)
        return found

    def _subresource(self, info: ResourceInfo, sub: SubresourceInfo, scope: str, suffix: str = "") -> dict[str, Any]:
        operations = self._operations
        title = "".join(part[:1].upper() + part[1:] for part in (info.kind.kind, sub.name)) + suffix
        subject = self._subject(info, sub.kind, title)
        if sub.name == "log":
            subject = replace(subject, definition="")
        makers = {
            "get": operations.read,
            "create": operations.create,
            "update": operations.replace,
            "patch": operations.patch,
            "delete": operations.delete,
        }
        found: dict[str, Any] = {}
        for verb in sub.verbs:
            method = _METHODS[verb]
            connects = sub.name in CONNECTS
            found[method] = operations.connect(subject, scope, method) if connects else makers[verb](subject, scope)
        found["parameters"] = operations.path_parameters(namespaced=info.namespaced, named=True)
        if suffix:
            found["parameters"].insert(1, operations.path_parameter("path"))
        return found
