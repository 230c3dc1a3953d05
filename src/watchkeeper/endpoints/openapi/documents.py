"""The OpenAPI documents of a server: one of v2, and of v3 an index and a document for each group and version.

Documents are joined from parts (`parts`); both are made when somebody asks, and kept until custom resources change.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from watchkeeper.apis.catalog import ResourceInfo
from watchkeeper.endpoints.openapi import gnostic, gnostic_v3
from watchkeeper.endpoints.openapi.builtin import BuiltinParts
from watchkeeper.endpoints.openapi.custom import CustomVersion, custom_part, definition_name, list_gvk
from watchkeeper.endpoints.openapi.dialect import Dialect
from watchkeeper.endpoints.openapi.parts import V2, V2_PROTOBUF, V3, V3_PROTOBUF, Form, Part, Workshop
from watchkeeper.endpoints.openapi.remote import RemoteDocuments, path_of
from watchkeeper.endpoints.openapi.remote_v2 import RemoteSpecs
from watchkeeper.endpoints.response import PathHandler
from watchkeeper.meta.gvk import GroupVersion

_BEARER = {
    "type": "apiKey",
    "name": "authorization",
    "in": "header",
    "description": "Bearer Token authentication",
}
_CUSTOM_INFO = {"title": "Kubernetes CRD Swagger", "version": "v0.1.0"}
"""What documents are called that are about custom resources alone."""
_SECURITY = {"securityDefinitions": {"BearerToken": _BEARER}, "security": [{"BearerToken": []}]}


@dataclass(frozen=True, slots=True)
class Document:
    """An encoded document; `hash` names its content, and is in its URL for v3."""

    pieces: tuple[bytes, ...]
    hash: str

    @property
    def body(self) -> bytes:
        """All of it."""
        return b"".join(self.pieces)


@dataclass(frozen=True, slots=True)
class _Custom:
    version: CustomVersion
    part: Part


class OpenAPI:
    """Makes documents on demand and keeps them. Custom resources come and go."""

    def __init__(self, resources: Iterable[ResourceInfo], version: str) -> None:
        """`version` is what the documents give as the API's version, such as v1.36.0."""
        self._version = version
        self._builtin = BuiltinParts(resources)
        self._custom: dict[GroupVersion, dict[str, _Custom]] = {}
        self._documents: dict[str, Document] = {}
        self._parts: dict[str, Sequence[Part]] = {}
        """What documents are joined from, by their keys in `_documents`."""
        self._hashes: dict[str, str] = {}
        """Those of the v2 document and of the v3 documents, by path."""
        self._workshop = Workshop()
        self._remote = RemoteDocuments()
        self._remote_v2 = RemoteSpecs(self._builtin.v2_definition, self._custom_names)

    def __repr__(self) -> str:
        return (
            f"<OpenAPI: {len(self._custom)} groups and versions of custom resources, {len(self._documents)} documents>"
        )

    def set_custom(self, custom: CustomVersion) -> None:
        """Add a version of a custom resource, or replace it."""
        served = self._custom.setdefault(custom.info.gvr.group_version, {})
        before = served.get(custom.info.gvr.resource)
        if before is not None and before.version == custom:
            return
        served[custom.info.gvr.resource] = _Custom(custom, custom_part(custom, lambda: self._builtin.v2_names))
        self._forget(custom.info.gvr.group_version)

    def remove_custom(self, group_version: GroupVersion, resource: str) -> None:
        """Forget a version of a custom resource; unknown ones are ignored."""
        served = self._custom.get(group_version, {})
        if served.pop(resource, None) is not None:
            if not served:
                del self._custom[group_version]
            self._forget(group_version)

    def _forget(self, group_version: GroupVersion) -> None:
        path = path_of(group_version)
        for key in ("index", path, _in_protobuf(path)):
            self._documents.pop(key, None)
            self._parts.pop(key, None)
        self._hashes.pop(path, None)
        self._forget_v2()

    def _forget_v2(self) -> None:
        for key in (V2.name, V2_PROTOBUF.name):
            self._documents.pop(key, None)
            self._parts.pop(key, None)
        self._hashes.pop(V2.name, None)

    def _custom_names(self) -> set[str]:
        """The definitions of custom kinds."""
        return {name for served in self._custom.values() for each in served.values() for name in _names(each)}

    def set_remote(self, at: GroupVersion, paths: Mapping[str, str], handler: PathHandler) -> None:
        """Take in where another server has its documents of v3, and who passes requests for these on."""
        if self._remote.put(at, paths, handler):
            self._documents.pop("index", None)

    def set_remote_v2(self, at: GroupVersion, spec: bytes | None) -> None:
        """Take in what another server's document of v2 has of a version (`version_spec`), None for nothing."""
        if self._remote_v2.put(at, spec):
            self._forget_v2()

    def remove_remote(self, at: GroupVersion) -> None:
        """Forget the documents of another server."""
        if self._remote.remove(at):
            self._documents.pop("index", None)
        self.set_remote_v2(at, None)

    def elsewhere(self, path: str) -> PathHandler | None:
        """Who passes requests for /openapi/v3/PATH on, None for what there is here."""
        if not self._remote:
            return None
        document = self._remote.find(path, local=self.v3_hash(path) is not None)
        return document.handler if document is not None else None

    # -- v2 -------------------------------------------------------------------------------------------------------

    def v2_hash(self) -> str:
        """The hash of /openapi/v2 as it is now, in either form, without making it."""
        found = self._hashes.get(V2.name)
        if found is None:
            found = self._hashes[V2.name] = _digest(self._version, *(part.digest for part in self._v2_parts()))
        return found

    async def v2(self) -> Document:
        """/openapi/v2."""
        return await self._made(V2.name, self._v2_parts, V2, self._join_v2)

    async def v2_protobuf(self) -> Document:
        """/openapi/v2 in protobuf."""
        return await self._made(V2_PROTOBUF.name, self._v2_parts, V2_PROTOBUF, self._join_v2)

    def _v2_parts(self) -> Sequence[Part]:
        found = self._parts.get(V2.name)
        if found is None:
            custom = [self._custom_parts(group_version) for group_version in sorted(self._custom)]
            remote = self._remote_v2.parts({*self._builtin.resources, *self._custom})
            found = self._parts[V2.name] = (*self._builtin.v2(), *itertools.chain(*custom), *remote)
        return found

    def _custom_parts(self, group_version: GroupVersion) -> list[Part]:
        served = self._custom.get(group_version, {})
        return [served[resource].part for resource in sorted(served)]

    def _join_v2(self, parts: Sequence[Part], form: Form) -> Document:
        fragments = [part.make(form) for part in parts]
        paths = [fragment.paths for fragment in fragments if fragment.paths]
        definitions = [fragment.definitions for fragment in fragments if fragment.definitions]
        start = {"swagger": Dialect.V2.value, "info": self._info()}
        if form is V2_PROTOBUF:
            pieces = gnostic.document_pieces(start, paths, definitions, _SECURITY)
        else:
            pieces = [
                orjson.dumps(start)[:-1] + b',"paths":{',
                *_with_commas(paths),
                b'},"definitions":{',
                *_with_commas(definitions),
                b"}," + orjson.dumps(_SECURITY)[1:],
            ]
        return Document(tuple(pieces), self.v2_hash())

    # -- v3 -------------------------------------------------------------------------------------------------------

    def v3_index(self) -> Document:
        """/openapi/v3: where the documents are."""
        found = self._documents.get("index")
        if found is None:
            paths = {*self._builtin.plain, *(path_of(gv) for gv in (*self._builtin.resources, *self._custom))}
            urls = {path: f"/openapi/v3/{path}?hash={self._hash(path)}" for path in paths}
            for path in self._remote:
                if (document := self._remote.find(path, local=path in paths)) is not None:
                    urls[path] = document.url
            body = orjson.dumps({"paths": {path: {"serverRelativeURL": urls[path]} for path in sorted(urls)}})
            found = self._documents["index"] = Document((body,), hashlib.sha512(body).hexdigest().upper())
        return found

    def v3_hash(self, path: str) -> str | None:
        """The hash of a document as it is now, without making it; None when there is no such document."""
        if self._group_version(path) is None and path not in self._builtin.plain:
            return None
        return self._hash(path)

    async def v3(self, path: str) -> Document | None:
        """/openapi/v3/PATH, such as `apis/apps/v1`; None when there is no such document."""
        return await self._v3(path, path, V3)

    async def v3_protobuf(self, path: str) -> Document | None:
        """/openapi/v3/PATH in protobuf; None when there is no such document."""
        return await self._v3(path, _in_protobuf(path), V3_PROTOBUF)

    async def _v3(self, path: str, key: str, form: Form) -> Document | None:
        if self.v3_hash(path) is None:
            return None
        found = await self._made(
            key, lambda: self._v3_parts(path), form, lambda parts, form: self._join_v3(path, parts, form)
        )
        if self.v3_hash(path) is None:
            self._documents.pop(key, None)
            return None
        return found

    def _v3_parts(self, path: str) -> Sequence[Part]:
        found = self._parts.get(path)
        if found is None:
            group_version = self._group_version(path)
            if group_version is None:
                found = self._parts[path] = self._builtin.v3_plain(path) if path in self._builtin.plain else ()
                return found
            custom = self._custom.get(group_version, {})
            names = {name for each in custom.values() for name in _names(each)}
            builtin = self._builtin.v3(group_version, [each.version.info for each in custom.values()], names)
            found = self._parts[path] = (*builtin, *self._custom_parts(group_version))
        return found

    def _join_v3(self, path: str, parts: Sequence[Part], form: Form) -> Document:
        fragments = [part.make(form) for part in parts]
        paths = [fragment.paths for fragment in fragments if fragment.paths]
        schemas = [fragment.definitions for fragment in fragments if fragment.definitions]
        of_custom = self._group_version(path) not in (None, *self._builtin.resources)
        start = {"openapi": Dialect.V3.value, "info": _CUSTOM_INFO if of_custom else self._info()}
        others = {} if of_custom else {"securitySchemes": {"BearerToken": _BEARER}}
        if form is V3_PROTOBUF:
            pieces = gnostic_v3.document_pieces(start, paths, schemas, others)
        else:
            named = [b'"schemas":{', *_with_commas(schemas), b"}," if others else b"}"] if schemas else []
            pieces = [
                orjson.dumps(start)[:-1] + b',"paths":{',
                *_with_commas(paths),
                b'},"components":{',
                *named,
                orjson.dumps(others)[1:] + b"}",
            ]
        return Document(tuple(pieces), self._hash(path))

    def _hash(self, path: str) -> str:
        """Names the content of a v3 document without making it."""
        found = self._hashes.get(path)
        if found is None:
            group_version = self._group_version(path)
            digests = [part.digest for part in self._custom_parts(group_version)] if group_version else []
            found = self._hashes[path] = _digest(path, self._version, *digests)
        return found

    def _group_version(self, path: str) -> GroupVersion | None:
        parts = path.split("/")
        found = None
        if len(parts) == 3 and parts[0] == "apis":
            found = GroupVersion(parts[1], parts[2])
        elif len(parts) == 2 and parts[0] == "api":
            found = GroupVersion("", parts[1])
        return found if found in self._builtin.resources or found in self._custom else None

    # -- both -----------------------------------------------------------------------------------------------------

    def _info(self) -> dict[str, Any]:
        return {"title": "Kubernetes", "version": self._version}

    async def _made(
        self,
        key: str,
        parts_of: Callable[[], Sequence[Part]],
        form: Form,
        join: Callable[[Sequence[Part], Form], Document],
    ) -> Document:
        found = self._documents.get(key)
        if found is None:
            parts = await self._workshop.make(parts_of, form)
            # Whoever waited for the same document may have joined it by now.
            found = self._documents.get(key)
            if found is None:
                found = self._documents[key] = join(parts, form)
        return found


def _names(custom: _Custom) -> tuple[str, str]:
    return definition_name(custom.version.info.kind), definition_name(list_gvk(custom.version))


def _in_protobuf(path: str) -> str:
    """Under which key the protobuf form of a v3 document is kept."""
    return f"{path} {V3_PROTOBUF.name}"


def _digest(*of: str) -> str:
    return hashlib.sha512(orjson.dumps(of)).hexdigest().upper()


def _with_commas(members: Sequence[bytes]) -> list[bytes]:
    if not members:
        return []
    return [members[0], *(piece for member in members[1:] for piece in (b",", member))]
