"""Numbers, selectors, tokens and texts beyond all measure: refused or ignored, at once, and never a panic."""

from __future__ import annotations

import base64
import http.client
import json
import time
from typing import Any
from urllib.parse import quote, urlsplit

import pytest

from watchkeeper.testing.handle import Handle

DIGITS = "9" * 5000
PODS = "/api/v1/namespaces/default/pods"
SOME = "/api/v1/namespaces/default"
EMPTY = "/api/v1/namespaces/absurd/pods"
AT_ONCE = 10.0
"""Seconds; far more than any of these takes, far less than the ones took that are kept here as tests."""


def call(handle: Handle, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    connection = http.client.HTTPConnection(urlsplit(handle.url).netloc, timeout=20)
    headers = {"Authorization": f"Bearer {handle.token}", "Content-Type": "application/json"}
    started = time.monotonic()
    connection.request(method, path, None if body is None else json.dumps(body), headers)
    answer = connection.getresponse()
    text = answer.read()
    assert time.monotonic() - started < AT_ONCE
    connection.close()
    found = json.loads(text) if text[:1] == b"{" else text.decode()
    assert "panic" not in str(found)
    return answer.status, found


@pytest.mark.parametrize("value", [DIGITS, "18446744073709551616", "-1", "1e3", "0x10", " 1", "٣", "1_0"])
@pytest.mark.parametrize("more", ["", "&limit=1", "&resourceVersionMatch=Exact"])
def test_a_version_that_is_none_is_refused(server: Handle, value: str, more: str) -> None:
    status, found = call(server, "GET", f"{PODS}?resourceVersion={quote(value)}{more}")
    assert (status, found["reason"]) in ((400, "BadRequest"), (422, "Invalid"))


@pytest.mark.parametrize("value", [DIGITS, "18446744073709551616", "-1", "1e3", "0x10", " 1", "٣", "1_0"])
@pytest.mark.parametrize("path", [f"{SOME}?", f"{PODS}?watch=1&timeoutSeconds=1&"])
def test_one_object_or_a_watch_from_no_version_is_a_plain_500(server: Handle, value: str, path: str) -> None:
    # The reference's storage says so in words of its own, which its handlers take for an internal error.
    status, found = call(server, "GET", f"{path}resourceVersion={quote(value)}")
    assert (status, found["code"], "reason" in found) == (500, 500, False)
    assert found["message"].startswith('resourceVersion: Invalid value: "')
    assert "strconv.ParseUint: parsing" in found["message"]


@pytest.mark.parametrize("name", ["limit", "timeoutSeconds"])
@pytest.mark.parametrize("value", [DIGITS, "9223372036854775808", "-9223372036854775809", "1.5", "٣", "++1"])
def test_a_number_that_is_none_is_refused(server: Handle, name: str, value: str) -> None:
    assert call(server, "GET", f"{PODS}?{name}={quote(value)}")[0] == 400


@pytest.mark.parametrize("value", ["-1", "-9223372036854775808", "0", "9223372036854775807"])
def test_a_number_at_the_edge_is_taken(server: Handle, value: str) -> None:
    assert call(server, "GET", f"{PODS}?limit={value}&timeoutSeconds={value}")[0] == 200
    assert call(server, "DELETE", f"{PODS}/none?gracePeriodSeconds={value}")[0] == 404


@pytest.mark.parametrize("value", ["-1", "9223372036854775807"])
def test_a_watch_whose_time_is_over_before_it_begins_ends(server: Handle, value: str) -> None:
    assert call(server, "GET", f"{EMPTY}?watch=1&timeoutSeconds={value}") == (200, "")


@pytest.mark.parametrize(
    "selector", [f"a>{DIGITS}", "a>1e3", "!" * 500 + "a", "a in (", "((((", "a,,b", "x/y/z=1", "\1=a"]
)
def test_a_selector_that_is_none_is_refused(server: Handle, selector: str) -> None:
    assert call(server, "GET", f"{PODS}?labelSelector={quote(selector)}")[0] == 400


@pytest.mark.parametrize("name", ["labelSelector", "fieldSelector"])
def test_a_selector_of_thousands_of_parts_is_read_in_one_go(server: Handle, name: str) -> None:
    """Once it took a minute."""
    parts = ",".join(f"k{n}%3Db" if name == "labelSelector" else f"metadata.name%3Dk{n}" for n in range(20_000))
    assert call(server, "GET", f"{PODS}?{name}={parts}")[0] in (200, 400)


TOKENS = [
    b'{"v":"meta.k8s.io/v1","rv":%s,"start":"a"}' % DIGITS.encode(),
    b'{"v":"meta.k8s.io/v1","rv":1.5,"start":"a"}',
    b'{"v":"meta.k8s.io/v1","rv":1,"start":"../../x"}',
    b"[" * 10_000,
    b"null",
    b"\xff",
]


@pytest.mark.parametrize("token", TOKENS)
def test_a_continue_token_that_is_none_is_refused(server: Handle, token: bytes) -> None:
    text = base64.urlsafe_b64encode(token).decode().rstrip("=")
    assert call(server, "GET", f"{PODS}?limit=1&continue={text}")[0] in (400, 410)


def test_bytes_that_are_no_text_in_a_continue_token_are_replaced_as_go_does(server: Handle) -> None:
    token = base64.urlsafe_b64encode(b'{"v":"meta.k8s.io/v1","rv":1,"start":"\xff"}').decode().rstrip("=")
    assert call(server, "GET", f"{PODS}?limit=1&continue={token}")[0] in (200, 410)


QUANTITIES = ["1e999999999", "-1e999999999", "1e-999999999", "1" * 5000, "0." + "0" * 5000 + "1", "1e" + "9" * 30]


@pytest.mark.parametrize("quantity", QUANTITIES)
def test_an_absurd_quantity_costs_nothing(server: Handle, quantity: str) -> None:
    amounts = {"cpu": quantity, "memory": quantity, "hugepages-2Mi": quantity, "example.com/x": quantity}
    pod = {
        "metadata": {"name": "absurd"},
        "spec": {"containers": [{"name": "c", "image": "i", "resources": {"limits": amounts, "requests": amounts}}]},
    }
    assert call(server, "POST", f"{PODS}?dryRun=All", pod)[0] in (201, 400, 422)
    quota = {"metadata": {"name": "absurd"}, "spec": {"hard": amounts}}
    assert call(server, "POST", "/api/v1/namespaces/default/resourcequotas?dryRun=All", quota)[0] in (201, 400, 422)
    policy = {
        "metadata": {"name": "absurd"},
        "spec": {
            "validations": [{"expression": f"quantity('{quantity}').isGreaterThan(quantity('1'))"}],
            "matchConstraints": {
                "resourceRules": [
                    {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["pods"]}
                ]
            },
        },
    }
    path = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies?dryRun=All"
    assert call(server, "POST", path, policy)[0] in (201, 400, 422)


def test_a_number_of_many_digits_on_an_object_is_refused(server: Handle) -> None:
    body = {"metadata": {"name": "default", "resourceVersion": DIGITS}}
    assert call(server, "PUT", "/api/v1/namespaces/default", body)[0] >= 400
    assert (
        call(server, "POST", "/api/v1/namespaces", {"metadata": {"name": "absurd", "resourceVersion": DIGITS}})[0]
        >= 400
    )


@pytest.mark.parametrize(
    "schedule", ["*/0 * * * *", "1-99999999 * * * *", "* " * 10_000, "@every 9999999999h", "TZ=../x * * * * *"]
)
def test_an_absurd_schedule_is_refused_or_kept(server: Handle, schedule: str) -> None:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
    body = {
        "metadata": {"name": "absurd"},
        "spec": {"schedule": schedule, "jobTemplate": {"spec": {"template": template}}},
    }
    path = "/apis/batch/v1/namespaces/default/cronjobs?dryRun=All"
    assert call(server, "POST", path, body)[0] in (201, 422)


COUNT = 4_000
MANY: dict[str, tuple[str, Any]] = {
    "owners": (
        "/api/v1/namespaces/default/configmaps",
        {
            "metadata": {
                "name": "many",
                "ownerReferences": [
                    {"apiVersion": "v1", "kind": "Pod", "name": f"x{n}", "uid": f"u{n}"} for n in range(COUNT)
                ],
            }
        },
    ),
    "updaters": (
        "/api/v1/namespaces/default/configmaps",
        {
            "metadata": {
                "name": "many",
                "managedFields": [
                    {
                        "manager": f"m{n}",
                        "operation": "Update",
                        "apiVersion": "v1",
                        "fieldsType": "FieldsV1",
                        "fieldsV1": {"f:data": {f"f:k{n}": {}}},
                    }
                    for n in range(COUNT)
                ],
            }
        },
    ),
    "projected files": (
        PODS,
        {
            "metadata": {"name": "many"},
            "spec": {
                "containers": [{"name": "c", "image": "i"}],
                "volumes": [
                    {
                        "name": "v",
                        "projected": {
                            "sources": [
                                {"configMap": {"name": "c", "items": [{"key": "a", "path": f"p{n}"}]}}
                                for n in range(COUNT)
                            ]
                        },
                    }
                ],
            },
        },
    ),
    "spread constraints": (
        PODS,
        {
            "metadata": {"name": "many"},
            "spec": {
                "containers": [{"name": "c", "image": "i"}],
                "topologySpreadConstraints": [
                    {"maxSkew": 1, "topologyKey": f"k{n}", "whenUnsatisfiable": "DoNotSchedule"} for n in range(COUNT)
                ],
            },
        },
    ),
}
"""What once took time that grew with the square of the number."""


@pytest.mark.parametrize("what", MANY)
def test_thousands_of_parts_take_no_more_than_their_share(server: Handle, what: str) -> None:
    path, body = MANY[what]
    assert call(server, "POST", f"{path}?dryRun=All", body)[0] == 201
