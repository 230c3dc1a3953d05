"""exec, attach and port-forward: the kubelet and the client speak SPDY or a WebSocket with each other."""

from __future__ import annotations

from watchkeeper.aio.tasks import TaskOwner
from watchkeeper.endpoints.response import Response
from watchkeeper.endpoints.websocket import is_websocket, spoken_protocols
from watchkeeper.registry.backends import StreamBackend
from watchkeeper.request.request import Request
from watchkeeper.server.backends.upgrading import BackendUpgradeTerms
from watchkeeper.server.passing.headers import target_of
from watchkeeper.server.passing.transport import Transport
from watchkeeper.server.passing.upgrade import upgrade

CHANNELS = "v5.channel.k8s.io"
TUNNEL, _ENDS = "SPDY/3.1+", ".k8s.io"
"""How the subprotocols begin that carry SPDY, and how they end."""


async def streamed(request: Request, backend: StreamBackend, transport: Transport, tasks: TaskOwner) -> Response:
    """Have both speak with each other; a WebSocket that the kubelet does not take is translated to SPDY.

    Raises ApiError, ClientGone.
    """
    if not backend.websockets and "exchange" in request.scope and is_websocket(request):
        protocols = spoken_protocols(request)
        if backend.forwards:
            tunneled = [each for each in protocols if each.startswith(TUNNEL) and each.endswith(_ENDS)]
            if tunneled:
                from watchkeeper.server.backends.tunneling import tunnel

                inner = [each.removeprefix(TUNNEL) for each in tunneled]
                return await tunnel(request, backend, transport, tasks, inner)
        elif CHANNELS in protocols:
            from watchkeeper.server.backends.translation import translate

            return translate(request, backend, transport, tasks)
    return await upgrade(
        request, transport, BackendUpgradeTerms(request, backend, target_of(backend.path, backend.query)), tasks
    )
