"""The paths that say what is served: /api, /apis and what lies directly below them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import orjson

from watchkeeper.endpoints.discovery import Aggregated, Discovery
from watchkeeper.endpoints.negotiation import (
    ACCEPTED,
    ANY,
    JSON,
    PROTOBUF,
    YAML,
    Accepted,
    clauses_of,
    negotiate,
    wants_pretty,
)
from watchkeeper.endpoints.render import finish
from watchkeeper.endpoints.response import Response, text_response
from watchkeeper.endpoints.router import method_not_allowed, not_found
from watchkeeper.request.request import Request

_AGGREGATED: Mapping[str, str] = {"g": "apidiscovery.k8s.io", "v": "v2", "as": "APIGroupDiscoveryList"}


class DiscoveryPaths:
    """Handles discovery requests. `handle` takes every path below /api and /apis that is no resource.

    Documents about all groups, about one, and about versions of custom ones are had by any method, as in the reference.
    """

    def __init__(self, discovery: Discovery) -> None:
        self._discovery = discovery

    def handle(self, request: Request) -> Response:
        """Answer by the path's form. Raises 404, 405 and 406."""
        parts = request.path.strip("/").split("/")
        if parts[0] == "api":
            return self._core(request, parts)
        return self._named(request, parts)

    def _core(self, request: Request, parts: list[str]) -> Response:
        if len(parts) == 1:
            if accepted := _aggregated_form(request):
                _require_get(request)
                return _aggregated(request, self._discovery.aggregated_core(), accepted)
            host = request.header(b"host")
            return _routed(request, self._discovery.core_versions(host))
        body = self._discovery.resource_list("", parts[1]) if len(parts) == 2 else None
        if body is None:
            raise not_found()
        return _routed(request, body)

    def _named(self, request: Request, parts: list[str]) -> Response:
        discovery = self._discovery
        if len(parts) == 1:
            if request.path.endswith("//"):
                return text_response(404, "404 page not found\n")
            if request.path == "/apis" and (accepted := _aggregated_form(request)):
                return _aggregated(request, discovery.aggregated_groups(), accepted)
            return _plain(request, discovery.group_list())
        group = discovery.group(parts[1]) if parts[1] else None
        if group is None:
            return text_response(404, "404 page not found\n")
        body = discovery.group_document(parts[1]) if len(parts) == 2 else discovery.resource_list(parts[1], parts[2])
        if body is None:
            if all(v.custom or v.elsewhere for v in group.versions):
                return text_response(404, "404 page not found\n")
            raise not_found()
        if len(parts) == 2 or any(v.custom and v.version == parts[2] for v in group.versions):
            return _plain(request, body)
        return _routed(request, body)


def _plain(request: Request, body: bytes) -> Response:
    """A document in the form that is asked for; an aggregated form that is not served here is passed over."""
    return finish(body, negotiate(request, protobuf=True, transforms=False, named=False))


def _routed(request: Request, body: bytes) -> Response:
    """A document that can only be got, in a form that the client names."""
    _require_get(request)
    return finish(body, negotiate(request, protobuf=True, transforms=False))


def _require_get(request: Request) -> None:
    if request.method != "GET":
        raise method_not_allowed()


def _aggregated_form(request: Request) -> Accepted | None:
    """How the aggregated form is asked for; None when it is not.

    Wherever it stands in the header it is preferred to the plain form, as the reference has it.
    """
    header = request.header(b"accept")
    if "as=" not in header:
        return None
    for media_type, params in clauses_of(header):
        if media_type in ANY:
            media_type = JSON
        if media_type not in ACCEPTED or params.get("sv"):
            continue
        stream = params.get("stream")
        if stream and (stream != "watch" or media_type == YAML):
            continue
        if all(params.get(name) == value for name, value in _AGGREGATED.items()):
            return Accepted(media_type, pretty=params.get("pretty") == "1" or wants_pretty(request))
    return None


def _aggregated(request: Request, document: Aggregated, accepted: Accepted) -> Response:
    etag = (b"etag", document.etag.encode())
    headers = (etag, (b"vary", b"Accept"), (b"cache-control", b"public"))
    if request.header(b"if-none-match") == document.etag:
        return Response(304, b"", headers)
    forms = {JSON: lambda: document.body, YAML: document.yaml, PROTOBUF: document.protobuf}
    body = forms[accepted.media_type]()
    if accepted.pretty and accepted.media_type == JSON:
        body = orjson.dumps(orjson.loads(body), option=orjson.OPT_INDENT_2)
    said = ";".join([accepted.media_type, *(f"{name}={value}" for name, value in _AGGREGATED.items())])
    return Response(200, body, ((b"content-type", said.encode()), *headers))


class RootPath:
    """All paths there are, at / and /index.html, for whatever method and media type."""

    def __init__(self, discovery: Discovery, others: Callable[[], Iterable[str]]) -> None:
        """`others` tells the paths that are about no group."""
        self._discovery = discovery
        self._others = others

    def handle(self, request: Request) -> Response:
        """The paths, sorted."""
        paths = {"/api", "/apis", "/apis/", *self._others()}
        for group in self._discovery.groups():
            root = f"/apis/{group.name}" if group.name else "/api"
            paths.add(root)
            paths.update(f"{root}/{served.version}" for served in group.versions)
        return Response(200, orjson.dumps({"paths": sorted(paths)}, option=orjson.OPT_INDENT_2))
