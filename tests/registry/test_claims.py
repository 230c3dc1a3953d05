"""How claims begin."""

from __future__ import annotations

import json

import httpx

from watchkeeper.testing import Server

CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"


def test_the_first_write_after_its_creation_gives_a_claim_a_new_version_even_if_nothing_changes() -> None:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    with Server(insecure_http=True, storage="memory:") as server:
        made = server.request("POST", CLAIMS, {"metadata": {"name": "c"}, "spec": spec})
        assert made["status"] == {"phase": "Pending"}
        assert server.request("GET", f"{CLAIMS}/c") == made
        first = server.request("PUT", f"{CLAIMS}/c", made)
        assert first["metadata"]["resourceVersion"] != made["metadata"]["resourceVersion"]
        assert server.request("PUT", f"{CLAIMS}/c", first) == first
        headers = {"Authorization": f"Bearer {server.token}"}
        with httpx.stream("GET", f"{server.url}{CLAIMS}?watch=true", headers=headers) as answer:
            event = json.loads(next(answer.iter_lines()))
        assert event["object"]["status"] == {"phase": "Pending"}
