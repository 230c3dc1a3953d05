"""The OpenAPI documents of a server: one of v2, and of v3 an index and a document for each group and version."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from watchkeeper.apis.catalog import ResourceInfo
from watchkeeper.apis.schema_data import schema_data
from watchkeeper.endpoints.openapi.custom import CustomVersion, custom_definitions, definition_name, list_gvk
from watchkeeper.endpoints.openapi.definitions import definitions
from watchkeeper.endpoints.openapi.dialect import CUSTOM_PATCH, PATCH, Dialect
from watchkeeper.endpoints.openapi.gnostic import to_protobuf
from watchkeeper.endpoints.openapi.paths import ResourcePaths
from watchkeeper.meta.gvk import GroupVersion, GroupVersionKind

_BEARER = {
    "type": "apiKey",
    "name": "authorization",
    "in": "header",
    "description": "Bearer Token authentication",
}


@dataclass(frozen=True, slots=True)
class Document:
    """An encoded document; `hash` names its content, and is in its URL for v3."""

    body: bytes
    hash: str


class OpenAPI:
    """Makes documents on demand and keeps them. Custom resources come and go."""

    def __init__(self, resources: Iterable[ResourceInfo], version: str) -> None:
        """`version` is what the documents give as the API's version, such as v1.36.0."""
        self._version = version
        self._builtin: dict[GroupVersion, list[ResourceInfo]] = {}
        for info in resources:
            self._builtin.setdefault(info.gvr.group_version, []).append(info)
        self._custom: dict[GroupVersion, dict[str, CustomVersion]] = {}
        self._documents: dict[str, Document] = {}

    def set_custom(self, custom: CustomVersion) -> None:
        """Add a version of a custom resource, or replace it."""
        self._custom.setdefault(custom.info.gvr.group_version, {})[custom.info.gvr.resource] = custom
        self._forget(custom.info.gvr.group_version)

    def remove_custom(self, group_version: GroupVersion, resource: str) -> None:
        """Forget a version of a custom resource; unknown ones are ignored."""
        served = self._custom.get(group_version, {})
        if served.pop(resource, None) is not None:
            if not served:
                del self._custom[group_version]
            self._forget(group_version)

    def _forget(self, group_version: GroupVersion) -> None:
        for key in ("v2", "v2/protobuf", "index", _path_of(group_version)):
            self._documents.pop(key, None)

    def v2(self) -> Document:
        """/openapi/v2."""
        return self._kept("v2", self._make_v2)

    async def v2_protobuf(self) -> Document:
        """/openapi/v2 in protobuf, written on a thread when it is not there yet."""
        found = self._documents.get("v2/protobuf")
        if found is None:
            made_from = self.v2()
            body = await asyncio.to_thread(to_protobuf, made_from.body)
            found = Document(body, _digest(body))
            if self._documents.get("v2") is made_from:
                self._documents["v2/protobuf"] = found
        return found

    def v3_index(self) -> Document:
        """/openapi/v3: where the documents are."""
        return self._kept("index", self._make_index)

    def v3(self, path: str) -> Document | None:
        """/openapi/v3/PATH, such as `apis/apps/v1`; None when there is no such document."""
        group_version = self._group_version(path)
        if group_version is None and path not in self._plain_paths():
            return None
        return self._kept(path, lambda: self._make_v3(path, group_version))

    def _kept(self, key: str, make: Callable[[], Document]) -> Document:
        found = self._documents.get(key)
        if found is None:
            found = self._documents[key] = make()
        return found

    def _group_version(self, path: str) -> GroupVersion | None:
        parts = path.split("/")
        found = None
        if len(parts) == 3 and parts[0] == "apis":
            found = GroupVersion(parts[1], parts[2])
        elif len(parts) == 2 and parts[0] == "api":
            found = GroupVersion("", parts[1])
        return found if found in self._builtin or found in self._custom else None

    def _plain_paths(self) -> dict[str, str]:
        """Documents about paths that serve no resources, and what is at each."""
        groups = {gv.group for gv in (*self._builtin, *self._custom) if gv.group}
        return {
            "api": "/api/",
            "apis": "/apis/",
            **{f"apis/{group}": f"/apis/{group}/" for group in groups},
            "version": "/version/",
        }

    def _make_index(self) -> Document:
        paths = [*self._plain_paths(), *(_path_of(gv) for gv in (*self._builtin, *self._custom))]
        urls = {
            path: {"serverRelativeURL": f"/openapi/v3/{path}?hash={self._hash(path)}"} for path in sorted(set(paths))
        }
        body = orjson.dumps({"paths": urls})
        return Document(body, _digest(body))

    def _hash(self, path: str) -> str:
        """Names the content of a v3 document without making it."""
        group_version = self._group_version(path)
        made_of: list[Any] = [path, self._version]
        for custom in self._custom.get(group_version, {}).values() if group_version else ():
            made_of += [repr(custom.info), hashlib.sha256(custom.schema_json or b"").hexdigest()]
        return _digest(orjson.dumps(made_of))

    def _make_v3(self, path: str, group_version: GroupVersion | None) -> Document:
        paths, custom = self._paths(group_version, Dialect.V3)
        if group_version is None:
            where = self._plain_paths()[path]
            paths = {
                where: {"get": {"operationId": f"get{where.strip('/')}", "responses": {"200": {"description": "OK"}}}}
            }
        named = {info.kind for info in self._builtin.get(group_version, ())} if group_version else set()
        document = {
            "openapi": Dialect.V3.value,
            "info": {"title": "Kubernetes", "version": self._version},
            "paths": paths,
            "components": {
                "schemas": self._definitions(paths, custom, named, Dialect.V3),
                "securitySchemes": {"BearerToken": _BEARER},
            },
        }
        return Document(orjson.dumps(document), self._hash(path))

    def _make_v2(self) -> Document:
        paths: dict[str, Any] = {}
        custom: dict[str, Any] = {}
        for group_version in {**self._builtin, **self._custom}:
            more_paths, more_custom = self._paths(group_version, Dialect.V2)
            paths.update(more_paths)
            custom.update(more_custom)
        body = orjson.dumps(
            {
                "swagger": Dialect.V2.value,
                "info": {"title": "Kubernetes", "version": self._version},
                "paths": dict(sorted(paths.items())),
                "definitions": self._definitions(paths, custom, self._kinds(), Dialect.V2),
                "securityDefinitions": {"BearerToken": _BEARER},
                "security": [{"BearerToken": []}],
            }
        )
        return Document(body, _digest(body))

    def _kinds(self) -> Iterable[GroupVersionKind]:
        """The built-in kinds, without those of versions that could be served and are not."""
        left_out = {info.gvr.group_version for info in schema_data().optional} - self._builtin.keys()
        return (gvk for gvk in schema_data().kinds if gvk.group_version not in left_out)

    def _paths(self, group_version: GroupVersion | None, dialect: Dialect) -> tuple[dict[str, Any], dict[str, Any]]:
        """The paths of a group and version, and the definitions of its custom kinds."""
        paths: dict[str, Any] = {}
        found: dict[str, Any] = {}
        if group_version is None:
            return paths, found
        builtin = ResourcePaths(dialect, _builtin_name, PATCH)
        for info in self._builtin.get(group_version, ()):
            paths.update(builtin.of(info))
        for custom in self._custom.get(group_version, {}).values():
            paths.update(ResourcePaths(dialect, _custom_name(custom), CUSTOM_PATCH).of(custom.info))
            found.update(custom_definitions(custom, dialect))
        return dict(sorted(paths.items())), found

    def _definitions(
        self, paths: Mapping[str, Any], custom: Mapping[str, Any], kinds: Iterable[GroupVersionKind], dialect: Dialect
    ) -> dict[str, Any]:
        """All definitions that paths, custom kinds and named kinds refer to."""
        names = {_builtin_name(gvk) for gvk in kinds} | _references(paths, dialect) | _references(custom, dialect)
        return dict(sorted({**definitions(names - custom.keys(), dialect), **custom}.items()))


def _path_of(group_version: GroupVersion) -> str:
    return f"apis/{group_version}" if group_version.group else f"api/{group_version.version}"


def _digest(body: bytes) -> str:
    return hashlib.sha512(body).hexdigest().upper()


def _builtin_name(gvk: GroupVersionKind) -> str:
    schema = schema_data().kinds.get(gvk)
    return schema.name if schema is not None else ""


def _custom_name(custom: CustomVersion) -> Callable[[GroupVersionKind], str]:
    own = {
        custom.info.kind: definition_name(custom.info.kind),
        custom.info.kind._replace(kind=f"{custom.info.kind.kind}List"): definition_name(list_gvk(custom)),
    }
    return lambda gvk: own.get(gvk) or _builtin_name(gvk)


def _references(value: Any, dialect: Dialect) -> set[str]:
    """The names of all definitions that a value refers to."""
    prefix = dialect.ref("")["$ref"].encode()
    found = set()
    for piece in orjson.dumps(value).split(b'"$ref":"' + prefix)[1:]:
        found.add(piece.partition(b'"')[0].decode())
    return found
