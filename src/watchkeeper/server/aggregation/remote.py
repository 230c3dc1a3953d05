"""One version of a group that another API server serves, as its APIService tells."""

from __future__ import annotations

import ssl
from base64 import b64decode
from dataclasses import dataclass
from functools import partial
from typing import Any

from watchkeeper.apis.apiregistration.apiservice import DEFAULT_PORT, available
from watchkeeper.runtime.client_tls import context_trusting, context_trusting_anybody
from watchkeeper.server.passing.client_certificate import ClientCertificate
from watchkeeper.server.passing.transport import Place, Transport
from watchkeeper.webhook.client_config import ServiceReference
from watchkeeper.webhook.services import ServiceResolver

Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Trust:
    """Whom to believe that they are the server that is meant."""

    server_name: str
    ca_bundle: str = ""
    """In base64, as it stands in the object; "" for the authorities of the system."""
    insecure: bool = False

    def context(self, certificate: ClientCertificate | None) -> ssl.SSLContext:
        """A context for connections on which the certificate is shown. Raises OSError, ValueError."""
        context = context_trusting_anybody() if self.insecure else context_trusting(b64decode(self.ca_bundle))
        if certificate is not None:
            certificate.show(context)
        return context


class Remote:
    """Where it is served, whom to trust there, and whether it can be reached. Changes with its APIService."""

    def __init__(self, name: str, resolver: ServiceResolver, certificate: ClientCertificate | None) -> None:
        self.name = name
        self.available = False
        """What the status of the APIService tells."""
        self.service: ServiceReference
        self.group = ""
        self.version = ""
        self.priorities = (0, 0)
        self._resolver = resolver
        self._certificate = certificate
        self._trust: Trust | None = None
        self._transport: Transport | None = None

    def __repr__(self) -> str:
        return f"<Remote {self.name}, {'available' if self.available else 'not available'}>"

    @property
    def transport(self) -> Transport:
        """The connections to it, as they are made now."""
        assert self._transport is not None
        return self._transport

    def take(self, service: Object) -> None:
        """Learn what an APIService says now."""
        spec = service["spec"]
        reference = spec["service"]
        self.group, self.version = spec.get("group") or "", spec["version"]
        self.priorities = spec["groupPriorityMinimum"], spec["versionPriority"]
        self.service = ServiceReference(
            reference["namespace"], reference["name"], reference.get("port") or DEFAULT_PORT
        )
        self.available = (available(service) or {}).get("status") == "True"
        trust = Trust(self.service.host, spec.get("caBundle") or "", bool(spec.get("insecureSkipTLSVerify")))
        if self._trust != trust:
            self._renew(trust)

    def renew(self) -> None:
        """Make new connections from now on: another certificate is to be shown."""
        assert self._trust is not None
        self._renew(self._trust)

    def _renew(self, trust: Trust) -> None:
        if self._transport is not None:
            self._transport.close()
        self._trust = trust
        self._transport = Transport(partial(trust.context, self._certificate), trust.server_name)

    async def locate(self) -> Place:
        """Host and port to connect to. Raises ResolveError."""
        return await self._resolver.resolve(self.service)

    @property
    def path(self) -> str:
        """Where its resources are listed."""
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    def close(self) -> None:
        """Let go of connections that are idle; what is being answered goes on."""
        self.transport.close()
