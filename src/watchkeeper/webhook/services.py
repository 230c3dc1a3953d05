"""Where the Services are that webhooks are behind: at their cluster IPs, or at the names they stand for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from watchkeeper.aio.http_client import ResolveError
from watchkeeper.meta.field import go_quote
from watchkeeper.webhook.client_config import ServiceReference

Object = dict[str, Any]
FindService = Callable[[str, str], "Awaitable[Object | None]"]
"""(namespace, name) -> the Service as it is stored, None when there is none."""

_WITH_ADDRESS = ("ClusterIP", "LoadBalancer", "NodePort")


class ServiceResolver:
    """Resolves as kube-apiserver does without aggregator routing: no endpoints are looked at."""

    def __init__(self, find: FindService | None) -> None:
        """`find` is None where Services are not known: then the name itself is connected to."""
        self._find = find

    async def resolve(self, service: ServiceReference) -> tuple[str, int]:
        """Host and port to connect to. Raises ResolveError."""
        if self._find is None:
            return service.host, service.port
        found = await self._find(service.namespace, service.name)
        if found is None:
            raise ResolveError(f"service {go_quote(service.name)} not found")
        spec = found.get("spec") or {}
        kind = spec.get("type") or "ClusterIP"
        if kind == "ExternalName":
            return spec.get("externalName") or "", service.port
        if kind not in _WITH_ADDRESS:
            raise ResolveError(f"unsupported service type {go_quote(kind)}")
        if kind == "ClusterIP" and spec.get("clusterIP") == "None":
            raise ResolveError('cannot route to service with ClusterIP "None"')
        if not any(port.get("port") == service.port for port in spec.get("ports") or ()):
            raise ResolveError(f"no service port {service.port} found for service {go_quote(service.name)}")
        return spec.get("clusterIP") or "", service.port
