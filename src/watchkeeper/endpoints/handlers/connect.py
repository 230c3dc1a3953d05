"""Subresources that connect to a node: log, exec, attach, portforward, proxy."""

from __future__ import annotations

from watchkeeper.endpoints.handlers.common import context
from watchkeeper.endpoints.negotiation import PLAIN
from watchkeeper.endpoints.render import finish, renderer_for
from watchkeeper.endpoints.response import Response, text_response
from watchkeeper.endpoints.scope import Scope
from watchkeeper.registry.rest import ConnectRequest
from watchkeeper.request.request import Request


async def connect(request: Request, scope: Scope) -> Response:
    """Hand the request to the resource, whatever its method."""
    info = request.info
    asked = ConnectRequest(info.name, "/".join(info.parts[3:]), request.params)
    result = await scope.store.connect(context(request, scope), asked)
    if isinstance(result, dict) and "kind" not in result:
        return text_response(200, result["text"])
    return finish(renderer_for(scope, PLAIN).one(result), PLAIN)
