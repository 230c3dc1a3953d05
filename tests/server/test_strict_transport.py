"""Browsers that are told to come back over TLS alone."""

from __future__ import annotations

import httpx

from watchkeeper.testing import Server

HEADER = "Strict-Transport-Security"


def test_every_answer_tells_what_the_directives_say() -> None:
    directives = ("max-age=31536000", "includeSubDomains")
    with Server(insecure_http=True, controllers=(), strict_transport_security_directives=directives) as server:
        known = {"Authorization": f"Bearer {server.token}"}
        paths = ("/", "/healthz", "/openapi/v2", "/api", "/apis/apps/v1", "/api/v1/namespaces", "/api/v1/pods/absent")
        for path in paths:
            answer = httpx.get(server.url + path, headers=known)
            assert answer.headers.get_list(HEADER) == ["max-age=31536000; includeSubDomains"], path
        assert httpx.get(server.url + "/api/v1/namespaces").headers[HEADER]
        with httpx.stream("GET", f"{server.url}/api/v1/namespaces?watch=1&timeoutSeconds=1", headers=known) as watch:
            assert watch.headers[HEADER]
            assert "x-kubernetes-pf-flowschema-uid" in watch.headers


def test_nothing_is_told_unless_asked_for() -> None:
    with Server(insecure_http=True, controllers=()) as server:
        assert HEADER not in httpx.get(f"{server.url}/healthz").headers
