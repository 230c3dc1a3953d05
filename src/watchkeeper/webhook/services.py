"""Where the Services are that webhooks and other API servers are behind: cluster IPs, endpoints, or other names."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from watchkeeper.aio.http_client import ResolveError
from watchkeeper.meta.field import go_quote
from watchkeeper.webhook.client_config import ServiceReference

Object = dict[str, Any]
FindService = Callable[[str, str], "Awaitable[Object | None]"]
"""(namespace, name) -> the Service as it is stored, None when there is none."""
FindSlices = Callable[[str, str], "Awaitable[Sequence[Object]]"]
"""(namespace, name) -> the EndpointSlices of a Service."""

_WITH_ADDRESS = ("ClusterIP", "LoadBalancer", "NodePort")
_OWN = ("default", "kubernetes", 443)
"""The Service of this server itself."""


@dataclass(frozen=True, slots=True)
class OwnServer:
    """How this server reaches itself."""

    host: str
    port: int
    ca_pem: bytes = b""
    """Who signed its certificate."""
    token: str = field(default="", repr=False)
    """By what it knows itself."""


class ServiceResolver:
    """Resolves as kube-apiserver does, with or without its aggregator routing."""

    def __init__(
        self,
        find: FindService | None,
        slices: FindSlices | None = None,
        own: Callable[[], OwnServer | None] = lambda: None,
    ) -> None:
        """`find` is None where Services are not known: then the name itself is connected to.

        With `slices` Services are reached at their endpoints. `own` tells how this server reaches itself.
        """
        self._find = find
        self._slices = slices
        self._own = own

    def own(self, service: ServiceReference | None) -> OwnServer | None:
        """How to reach this server, if the Service is its own."""
        if service is None or (service.namespace, service.name, service.port) != _OWN:
            return None
        return self._own()

    async def resolve(self, service: ServiceReference) -> tuple[str, int]:
        """Host and port to connect to. Raises ResolveError."""
        if (own := self.own(service)) is not None:
            return own.host, own.port
        if self._find is None:
            return service.host, service.port
        found = await self._find(service.namespace, service.name)
        if found is None:
            raise ResolveError(f"service {go_quote(service.name)} not found")
        spec = found.get("spec") or {}
        if self._slices is None:
            return _address(spec, service)
        port = _port_name(spec, service)
        return _endpoint(await self._slices(service.namespace, service.name), spec, port, service.name)


def _address(spec: Object, service: ServiceReference) -> tuple[str, int]:
    kind = spec.get("type") or "ClusterIP"
    if kind == "ExternalName":
        return spec.get("externalName") or "", service.port
    if kind == "ClusterIP" and spec.get("clusterIP") == "None":
        raise ResolveError('cannot route to service with ClusterIP "None"')
    _port_name(spec, service)
    return spec.get("clusterIP") or "", service.port


def _port_name(spec: Object, service: ServiceReference) -> str:
    """The name of the port of a Service that has addresses."""
    kind = spec.get("type") or "ClusterIP"
    if kind not in _WITH_ADDRESS:
        raise ResolveError(f"unsupported service type {go_quote(kind)}")
    for port in spec.get("ports") or ():
        if port.get("port") == service.port:
            name: str = port.get("name") or ""
            return name
    raise ResolveError(f"no service port {service.port} found for service {go_quote(service.name)}")


def _endpoint(slices: Sequence[Object], spec: Object, port_name: str, name: str) -> tuple[str, int]:
    """Any endpoint that is ready, of the preferred family if there is one."""
    families = spec.get("ipFamilies") or ()
    order = random.sample(slices, len(slices))
    if families:
        order.sort(key=lambda each: each.get("addressType") != families[0])
    for each in order:
        for port in each.get("ports") or ():
            if port.get("name") == port_name and port.get("port") and (ready := list(_ready(each))):
                return random.choice(ready), port["port"]
    raise ResolveError(f"no endpoints available for service {go_quote(name)}")


def _ready(endpoints: Object) -> Iterator[str]:
    for each in endpoints.get("endpoints") or ():
        if (each.get("conditions") or {}).get("ready") is not False and each.get("addresses"):
            yield each["addresses"][0]
