"""Calling webhooks: where they are, whom to trust, and what is said when that goes wrong (apiserver's util/webhook).

`Clients` keeps a `Client` for each `ClientConfig`; a client posts a review and gives back what the webhook answered.
Admission and the conversion of custom resources call their webhooks by it.
"""

from watchkeeper.webhook.client import Client, WebhookError
from watchkeeper.webhook.client_config import ClientConfig, ServiceReference
from watchkeeper.webhook.clients import Clients
from watchkeeper.webhook.review import read_review
from watchkeeper.webhook.services import OwnServer, ServiceResolver

__all__ = [
    "Client",
    "ClientConfig",
    "Clients",
    "OwnServer",
    "ServiceReference",
    "ServiceResolver",
    "WebhookError",
    "read_review",
]
