"""The paths that say what is served: /api, /apis and what lies directly below them."""

from __future__ import annotations

from collections.abc import Mapping

import orjson

from watchkeeper.endpoints.discovery import AGGREGATED_MEDIA_TYPE, Aggregated, Discovery
from watchkeeper.endpoints.negotiation import Accepted, negotiate, not_acceptable
from watchkeeper.endpoints.render import finish
from watchkeeper.endpoints.response import Response, text_response
from watchkeeper.endpoints.router import method_not_allowed, not_found
from watchkeeper.request.request import Request

_AGGREGATED: Mapping[str, str] = {"g": "apidiscovery.k8s.io", "v": "v2", "as": "APIGroupDiscoveryList"}


class DiscoveryPaths:
    """Handles discovery requests. `handle` takes every path below /api and /apis that is no resource."""

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
            if _wants_aggregated(request):
                return _aggregated(request, self._discovery.aggregated_core())
            host = request.header(b"host")
            return self._plain(request, self._discovery.core_versions(host))
        body = self._discovery.resource_list("", parts[1]) if len(parts) == 2 else None
        if body is None:
            raise not_found()
        return self._plain(request, body)

    def _named(self, request: Request, parts: list[str]) -> Response:
        discovery = self._discovery
        if len(parts) == 1:
            if _wants_aggregated(request):
                return _aggregated(request, discovery.aggregated_groups())
            return self._plain(request, discovery.group_list())
        group = discovery.group(parts[1])
        if group is None:
            return text_response(404, "404 page not found\n")
        body = discovery.group_document(parts[1]) if len(parts) == 2 else discovery.resource_list(parts[1], parts[2])
        if body is None:
            if all(v.custom for v in group.versions):
                return text_response(404, "404 page not found\n")
            raise not_found()
        return self._plain(request, body)

    @staticmethod
    def _plain(request: Request, body: bytes) -> Response:
        if request.method != "GET":
            raise method_not_allowed()
        return finish(body, _negotiated(request))


def _negotiated(request: Request) -> Accepted:
    """The form of a discovery document; an aggregated form that is not served here is passed over."""
    return negotiate(request, protobuf=True, transforms=False)


def _wants_aggregated(request: Request) -> bool:
    """Whether the first acceptable form is the aggregated one. Raises a 406 when nothing is acceptable."""
    header = request.header(b"accept")
    if "as=" not in header:
        return False
    for clause in header.split(","):
        media_type, *rest = (p.strip() for p in clause.split(";"))
        if media_type not in ("application/json", "*/*"):
            continue
        params = dict(p.split("=", 1) for p in rest if "=" in p)
        if all(params.get(k) == v for k, v in _AGGREGATED.items()):
            return True
        if not params.keys() & _AGGREGATED.keys():
            return False
    raise not_acceptable()


def _aggregated(request: Request, document: Aggregated) -> Response:
    if request.method != "GET":
        raise method_not_allowed()
    etag = (b"etag", document.etag.encode())
    headers = (etag, (b"vary", b"Accept"), (b"cache-control", b"public"))
    if request.header(b"if-none-match") == document.etag:
        return Response(304, b"", headers)
    media_type = (b"content-type", AGGREGATED_MEDIA_TYPE.encode())
    return Response(200, document.body, (media_type, *headers))


class RootPath:
    """GET /: all paths there are."""

    def __init__(self, discovery: Discovery, others: list[str]) -> None:
        self._discovery = discovery
        self._others = others

    def handle(self, request: Request) -> Response:
        """The paths, sorted."""
        if request.method != "GET":
            raise method_not_allowed()
        paths = ["/api", "/apis", *self._others]
        groups = orjson.loads(self._discovery.group_list())["groups"]
        for group in groups:
            paths.append(f"/apis/{group['name']}")
            paths += [f"/apis/{v['groupVersion']}" for v in group["versions"]]
        core = orjson.loads(self._discovery.core_versions(""))
        paths += [f"/api/{v}" for v in core["versions"]]
        return finish(orjson.dumps({"paths": sorted(paths)}), negotiate(request, protobuf=False, transforms=False))
