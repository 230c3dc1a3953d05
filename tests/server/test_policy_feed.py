"""What requests are judged by is in force as soon as its writer has an answer."""

from __future__ import annotations

from typing import Any

import pytest

from watchkeeper.testing import Server
from watchkeeper.testing.handle import RequestFailed

REGISTRATION = "/apis/admissionregistration.k8s.io/v1"
CONFIGURATIONS = f"{REGISTRATION}/validatingwebhookconfigurations"


def configuration() -> dict[str, Any]:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
    hook = {
        "name": "a.example.io",
        "clientConfig": {"url": "https://127.0.0.1:1/"},
        "rules": [rule],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "c"},
        "webhooks": [hook],
    }


def test_a_webhook_is_asked_from_the_very_next_request_on_and_no_more_once_it_is_deleted() -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    dry = "/api/v1/namespaces/default/configmaps?dryRun=All"
    with Server(insecure_http=True) as server:
        for _ in range(20):
            server.request("POST", CONFIGURATIONS, configuration())
            with pytest.raises(RequestFailed) as failed:
                server.request("POST", dry, body)
            assert failed.value.status == 500
            server.request("DELETE", f"{CONFIGURATIONS}/c")
            assert server.request("POST", dry, body)["kind"] == "ConfigMap"
