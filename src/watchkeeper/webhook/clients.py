"""The clients of all webhooks that are called."""

from __future__ import annotations

from dataclasses import replace

from watchkeeper.webhook.client import Client
from watchkeeper.webhook.client_config import ClientConfig
from watchkeeper.webhook.credentials import Credential, WebhookCredentials
from watchkeeper.webhook.services import ServiceResolver

_MAX = 200


class Clients:
    """A client for each configuration; those not used for longest are closed when there are too many."""

    def __init__(self, services: ServiceResolver | None = None, credentials: WebhookCredentials | None = None) -> None:
        self._services = services
        self._credentials = credentials
        self._clients: dict[ClientConfig, Client] = {}

    def __repr__(self) -> str:
        return f"<Clients: {len(self._clients)}>"

    def get(self, config: ClientConfig) -> Client:
        """The client of a webhook. Raises WebhookError."""
        found = self._clients.pop(config, None)
        if found is None:
            found = self._make(config)
        self._clients[config] = found
        if len(self._clients) > _MAX:
            self._clients.pop(next(iter(self._clients))).close()
        return found

    def _make(self, config: ClientConfig) -> Client:
        own = self._services.own(config.service) if self._services is not None else None
        if own is not None:  # it knows whom to trust there, and by what it is known
            trusting_own = replace(config, ca_bundle=b"\n".join(filter(None, (own.ca_pem, config.ca_bundle))))
            return Client(trusting_own, self._services, Credential(token=own.token))
        credential = self._credentials.find(config) if self._credentials is not None else None
        return Client(config, self._services, credential)

    def close(self) -> None:
        """Close all idle connections."""
        for client in self._clients.values():
            client.close()
        self._clients.clear()
