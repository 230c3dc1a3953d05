"""Events as lines of text: those of kube-apiserver for the same requests."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from watchkeeper.audit.legacy import legacy_line

ADMIN = {"username": "admin", "groups": ["system:masters", "system:authenticated"]}
GROUPS = r'"\"system:masters\",\"system:authenticated\""'


@pytest.mark.parametrize(
    ("event", "told"),
    [
        (
            {
                "stage": "RequestReceived",
                "user": ADMIN,
                "sourceIPs": ["127.0.0.1", "10.0.0.1"],
                "verb": "get",
                "userAgent": "kd",
                "objectRef": {"resource": "configmaps", "namespace": "default"},
                "requestURI": "/api/v1/namespaces/default/configmaps/a",
            },
            f'stage="RequestReceived" ip="127.0.0.1" method="get" user="admin" groups={GROUPS} as="<self>" '
            'asgroups="<lookup>" user-agent="kd" namespace="default" '
            'uri="/api/v1/namespaces/default/configmaps/a" response="<deferred>"',
        ),
        (
            {
                "stage": "ResponseComplete",
                "user": ADMIN,
                "impersonatedUser": {"username": "bob", "groups": ["a b"]},
                "verb": "list",
                "requestURI": "/api/v1/nodes",
                "objectRef": {"resource": "nodes"},
                "responseStatus": {"code": 403},
            },
            f'stage="ResponseComplete" ip="<unknown>" method="list" user="admin" groups={GROUPS} as="bob" '
            r'asgroups="\"a b\"" user-agent="" namespace="<none>" uri="/api/v1/nodes" response="403"',
        ),
        (
            {"stage": "ResponseStarted", "user": {}, "verb": "get", "requestURI": "/version", "responseStatus": {}},
            'stage="ResponseStarted" ip="<unknown>" method="get" user="<none>" groups="<none>" as="<self>" '
            'asgroups="<lookup>" user-agent="" namespace="<none>" uri="/version" response="0"',
        ),
    ],
)
def test_an_event_is_one_line(event: dict[str, Any], told: str) -> None:
    common = {"auditID": "i", "requestReceivedTimestamp": "2026-01-31T09:30:00.120000Z"}
    line = legacy_line(orjson.dumps({**common, **event}))
    assert line.decode() == f'2026-01-31T09:30:00.12Z AUDIT: id="i" {told}\n'


def test_a_whole_second_has_no_fraction() -> None:
    event = {"requestReceivedTimestamp": "2026-01-31T09:30:00.000000Z"}
    assert legacy_line(orjson.dumps(event)).startswith(b"2026-01-31T09:30:00Z AUDIT: ")
