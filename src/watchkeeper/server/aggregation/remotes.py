"""The other API servers that APIServices tell of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from watchkeeper.aio.tasks import TaskOwner
from watchkeeper.endpoints.app import PathHandler
from watchkeeper.server.aggregation.discovery import RemoteDiscovery
from watchkeeper.server.aggregation.openapi import Documents, RemoteOpenAPI
from watchkeeper.server.aggregation.proxy import Limits, Proxy
from watchkeeper.server.aggregation.remote import Remote
from watchkeeper.server.aggregation.settings import SHOWN, AggregationSettings
from watchkeeper.server.passing.client_certificate import ClientCertificate
from watchkeeper.webhook.services import ServiceResolver

Object = dict[str, Any]


class Remotes:
    """A `Remote` for each APIService that names a Service, and who answers the requests for it."""

    def __init__(
        self,
        settings: AggregationSettings,
        resolver: ServiceResolver,
        tell: Callable[[str, bytes], None],
        documents: Documents,
    ) -> None:
        """`tell` is called with the name of an APIService and what discovery has of its version, `documents` tell
        of their OpenAPI documents.

        Raises StartupError for a certificate that cannot be shown.
        """
        self._resolver = resolver
        self._proxies: dict[str, Proxy] = {}
        self._tasks = TaskOwner("aggregator")
        self._discovery = RemoteDiscovery(tell, self._tasks)
        self._openapi = RemoteOpenAPI(documents, self._tasks)
        self._limits = Limits(settings.request_timeout, settings.reject_redirects)
        self._certificate: ClientCertificate | None = None
        if settings.certificate is not None and settings.key is not None:
            self._certificate = ClientCertificate(SHOWN, settings.certificate, settings.key, self._renew)
            self._certificate.start()

    def __repr__(self) -> str:
        return f"<Remotes: {', '.join(self._proxies) or 'none'}>"

    def put(self, service: Object) -> PathHandler:
        """Take in an APIService; returns who answers requests for its version."""
        name = service["metadata"]["name"]
        proxy = self._proxies.get(name)
        if proxy is None:
            remote = Remote(name, self._resolver, self._certificate)
            proxy = self._proxies[name] = Proxy(remote, self._tasks, self._limits)
        proxy.remote.take(service)
        self._discovery.put(proxy.remote)
        self._openapi.put(proxy.remote, proxy.handle)
        return proxy.handle

    def get(self, name: str) -> Remote | None:
        """One of them."""
        proxy = self._proxies.get(name)
        return proxy.remote if proxy is not None else None

    def remove(self, name: str) -> None:
        """Forget one of them; unknown ones are ignored."""
        proxy = self._proxies.pop(name, None)
        if proxy is not None:
            self._discovery.remove(name)
            self._openapi.remove(name)
            proxy.remote.close()

    def _renew(self) -> None:
        for proxy in self._proxies.values():
            proxy.remote.renew()

    async def close(self) -> None:
        """End all that is under way."""
        if self._certificate is not None:
            await self._certificate.close()
        for name in list(self._proxies):
            self.remove(name)
        await self._tasks.close()
