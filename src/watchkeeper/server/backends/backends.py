"""Has kubelets, Pods and whoever listens on nodes answer requests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from watchkeeper.aio.tasks import TaskOwner
from watchkeeper.endpoints.response import Response
from watchkeeper.registry.backends import Backend, LogBackend, ProxyBackend, StreamBackend, Whom
from watchkeeper.request.request import Request
from watchkeeper.runtime.client_tls import context_trusting_anybody
from watchkeeper.server.backends.logs import log_of
from watchkeeper.server.backends.proxied import proxied
from watchkeeper.server.backends.settings import KubeletSettings
from watchkeeper.server.backends.streams import streamed
from watchkeeper.server.backends.trust import KubeletTrust
from watchkeeper.server.passing.transport import Transport


class Backends:
    """The connections to all of them. What is under way ends with `close`."""

    def __init__(self, settings: KubeletSettings) -> None:
        """Raises StartupError for files that are of no use."""
        self._tasks = TaskOwner("backends")
        self._trust = KubeletTrust(settings, self._renew)
        self._trust.start()
        self._makers: dict[Any, Callable[[], Any]] = {
            Whom.KUBELET: self._trust.context,
            Whom.UNVERIFIED_KUBELET: self._trust.unverified_context,
            (Whom.ANYBODY, "https"): context_trusting_anybody,
            (Whom.ANYBODY, "http"): lambda: None,
        }
        self._transports = {key: Transport(make) for key, make in self._makers.items()}

    def __repr__(self) -> str:
        return f"<Backends, {self._trust!r}>"

    async def pass_on(self, request: Request, backend: Backend) -> Response:
        """Have a backend answer. Raises ApiError, ClientGone."""
        transport = self._transport(backend)
        match backend:
            case LogBackend():
                return await log_of(request, backend, transport, self._tasks)
            case StreamBackend():
                return await streamed(request, backend, transport, self._tasks)
            case ProxyBackend():
                return await proxied(request, backend, transport, self._tasks)
        raise TypeError(f"nobody knows how to pass on to {backend!r}")

    def _transport(self, backend: Backend) -> Transport:
        if backend.whom is Whom.ANYBODY:
            return self._transports[backend.whom, backend.scheme]
        return self._transports[backend.whom]

    def _renew(self) -> None:
        """Make new connections to kubelets from now on: others are to be believed, or something else to be shown."""
        for whom in (Whom.KUBELET, Whom.UNVERIFIED_KUBELET):
            self._transports[whom].close()
            self._transports[whom] = Transport(self._makers[whom])

    async def close(self) -> None:
        """End all that is under way."""
        await self._trust.close()
        for transport in self._transports.values():
            transport.close()
        await self._tasks.close()
