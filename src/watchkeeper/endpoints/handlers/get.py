"""GET of one object."""

from __future__ import annotations

from collections.abc import Awaitable

from watchkeeper.endpoints.handlers.common import context
from watchkeeper.endpoints.negotiation import negotiate
from watchkeeper.endpoints.render import finish, name_broken, renderer_for
from watchkeeper.endpoints.response import Response
from watchkeeper.endpoints.scope import Scope
from watchkeeper.meta import errors
from watchkeeper.request.request import Request
from watchkeeper.storage.interface import StoredObject


def get(request: Request, scope: Scope) -> Response | Awaitable[Response]:
    """Answer at once from memory when the plain object is asked for and the cache is fresh; else wait for it."""
    accepted = negotiate(request, protobuf=scope.in_protobuf, tables=scope.tables)
    resource_version = ""
    if request.query:
        _refuse_export(request)
        resource_version = request.param("resourceVersion")
    if accepted.is_plain and scope.is_hub:
        name = request.info.name
        found = scope.store.get_nowait(context(request, scope), name, resource_version)
        if found is not None:
            return Response(200, found.head + found.tail + b"\n")
    return _get(request, scope, resource_version)


async def _get(request: Request, scope: Scope, resource_version: str) -> Response:
    accepted = negotiate(request, protobuf=scope.in_protobuf, tables=scope.tables)
    found = await scope.store.get(context(request, scope), request.info.name, resource_version)
    renderer = renderer_for(scope, accepted, request.param("includeObject"))
    try:
        return finish(renderer.one(found), accepted)
    except Exception as problem:
        name_broken(problem, scope, "get", (found,) if isinstance(found, StoredObject) else ())
        raise


def _refuse_export(request: Request) -> None:
    if "export" in request.params and request.param("export").lower() not in ("0", "false"):
        raise errors.bad_request("the export parameter, deprecated since v1.14, is no longer supported")
