"""Webhooks that give no usable answer: what is said of them, and when the request goes on."""

from __future__ import annotations

import json
import socket
import time
from typing import Any

import pytest

FAILED = 'Internal error occurred: failed calling webhook "hook.example.io": '


def review(**response: Any) -> bytes:
    return json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}).encode()


def wait(seconds: float) -> dict[str, Any]:
    time.sleep(seconds)
    return {}


HEADER = r'struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }'


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b"{}", "received invalid webhook response: webhook response was absent"),
        (
            b'{"response": {"uid": "U", "allowed": true}}',
            "received invalid webhook response: expected webhook response of admission.k8s.io/v1, "
            "Kind=AdmissionReview, got /, Kind=",
        ),
        (
            b'{"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1beta1", "response": {}}',
            "failed to call webhook: converting (v1beta1.AdmissionReview) to (v1.AdmissionReview): unknown conversion",
        ),
        (
            b'{"kind": "Status", "apiVersion": "v1", "message": "no"}',
            "failed to call webhook: converting (v1.Status) to (v1.AdmissionReview): unknown conversion",
        ),
        (
            b'{"kind": "Pod", "apiVersion": "v1"}',
            'failed to call webhook: no kind "Pod" is registered for version "v1" in scheme '
            '"pkg/util/webhook/client.go:71"',
        ),
        (
            b"no JSON",
            "failed to call webhook: couldn't get version/kind; json parse error: json: cannot unmarshal string into "
            f"Go value of type {HEADER}",
        ),
        (b"", "failed to call webhook: 0-length response with status code: 200 and content type: application/json"),
        (
            (500, b"down"),
            'failed to call webhook: an error on the server ("unknown") has prevented the request from succeeding',
        ),
        ((404, b""), "failed to call webhook: the server could not find the requested resource"),
        (
            (302, b""),
            "failed to call webhook: the server responded with the status code 302 but did not return more information",
        ),
        (
            (503, b'{"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "asleep"}'),
            "failed to call webhook: asleep",
        ),
        (
            review(uid="U", allowed="yes"),
            "failed to call webhook: json: cannot unmarshal string into Go struct field "
            "AdmissionResponse.response.allowed of type bool",
        ),
        (
            review(uid="U", allowed=True, patch="e30="),
            "received invalid webhook response: validating webhook may not return response.patch",
        ),
        (
            review(uid="U", allowed=True, patchType="JSONPatch"),
            "received invalid webhook response: validating webhook may not return response.patchType",
        ),
    ],
)
def test_an_answer_that_is_no_review_fails_the_request(api: Any, hook: Any, answer: Any, said: str) -> None:
    def give(request: Any) -> Any:
        status, body = answer if isinstance(answer, tuple) else (200, answer)
        return status, body.replace(b'"U"', json.dumps(request["uid"]).encode())

    hook.answers["/"] = give
    api.install(api.webhook())
    found = api.create()
    assert (found.status, found.body["reason"]) == (500, "InternalError")
    assert found.message == FAILED + said
    assert found.body["details"]["causes"] == [{"message": found.message.removeprefix("Internal error occurred: ")}]


def test_the_answer_must_be_to_the_question(api: Any, hook: Any) -> None:
    hook.answers["/"] = lambda r: {"uid": "other"}
    api.install(api.webhook())
    uid_error = api.create().message
    asked = hook.requests()[0]["uid"]
    assert uid_error == f'{FAILED}received invalid webhook response: expected response.uid="{asked}", got "other"'


def test_a_webhook_that_takes_too_long_is_given_up(api: Any, hook: Any) -> None:
    hook.answers["/"] = lambda r: wait(4.0)
    api.install(api.webhook(timeoutSeconds=1))
    begun = time.monotonic()
    url = f"https://127.0.0.1:{hook.port}/?timeout=1s"
    assert api.create().message == f'{FAILED}failed to call webhook: Post "{url}": context deadline exceeded'
    assert time.monotonic() - begun < 3.5


def test_a_webhook_is_asked_again_when_it_says_so(api: Any, hook: Any) -> None:
    hook.answers["/"] = lambda r: (503, b"", ("retry-after", "0")) if len(hook.reviews) < 3 else {}
    api.install(api.webhook(timeoutSeconds=2))
    assert api.create().status == 201
    assert len(hook.reviews) == 3
    hook.answers["/"] = lambda r: (429, b"", ("retry-after", "5"))
    begun = time.monotonic()
    why = f'Post "https://127.0.0.1:{hook.port}/?timeout=2s": context deadline exceeded'
    assert api.create("b", query="?timeout=10s").message == f"{FAILED}failed to call webhook: {why}"
    assert time.monotonic() - begun < 4.5


@pytest.mark.parametrize("policy", ["Fail", "Ignore"])
def test_a_webhook_has_no_more_time_than_the_request(api: Any, hook: Any, policy: str) -> None:
    hook.answers["/"] = lambda r: wait(4.0)
    api.install(api.webhook(failurePolicy=policy))
    begun = time.monotonic()
    answer = api.create(query="?timeout=1s")
    assert (answer.status, answer.body["reason"]) == (504, "Timeout")
    assert answer.message == "Timeout: request did not complete within the allotted timeout"
    assert time.monotonic() - begun < 3.5
    assert hook.queries == [{"timeout": ["1s"]}]


def test_nobody_there_is_said_in_gos_words(api: Any, hook: Any) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        config = {"url": f"https://127.0.0.1:{port}/some//path/", "caBundle": hook.ca}
        api.install(api.webhook(clientConfig=config))
        where = f"https://127.0.0.1:{port}/some/path?timeout=10s"
        refused = f"dial tcp 127.0.0.1:{port}: connect: connection refused"
        assert api.create().message == f'{FAILED}failed to call webhook: Post "{where}": {refused}'


def test_a_certificate_of_somebody_else_is_not_trusted(api: Any, hook: Any) -> None:
    api.install(api.webhook(clientConfig={"url": f"https://127.0.0.1:{hook.port}/"}))
    assert api.create().message.endswith(
        "tls: failed to verify certificate: x509: certificate signed by unknown authority"
    )
    assert hook.reviews == []


def test_a_certificate_for_another_address_is_told_apart(api: Any, other_host: Any) -> None:
    api.install(api.webhook(clientConfig=other_host.config()))
    assert api.create().message.endswith("x509: certificate is valid for 127.0.0.1, ::1, 10.0.0.1, not 127.0.0.2")
    assert other_host.reviews == []


def test_a_service_is_called_at_its_external_name_and_must_have_a_certificate_of_its_own(api: Any, hook: Any) -> None:
    services = f"/api/v1/namespaces/{api.namespace}/services"
    reference = {"namespace": api.namespace, "name": "s", "port": hook.port, "path": "/check"}
    api.install(api.webhook(clientConfig={"service": reference, "caBundle": hook.ca}))
    url = f"https://s.{api.namespace}.svc:{hook.port}/check?timeout=10s"
    assert api.create().message == f'{FAILED}failed to call webhook: Post "{url}": service "s" not found'
    spec = {"type": "ExternalName", "externalName": "127.0.0.1.nip.invalid"}
    assert api.call("POST", services, api.object("Service", "s", spec=spec)).status == 201
    assert "dial tcp: lookup 127.0.0.1.nip.invalid: no such host" in api.create().message
    assert api.patch(f"{services}/s", {"spec": {"externalName": "localhost"}}).status == 200
    # The webhook's certificate is for 127.0.0.1 and localhost, not for the service.
    names = "localhost, kubernetes, kubernetes.default, kubernetes.default.svc, kubernetes.default.svc.cluster.local"
    problem = f"x509: certificate is valid for {names}, not s.{api.namespace}.svc"
    assert api.create().message.endswith(f": tls: failed to verify certificate: {problem}")


def test_a_service_without_such_a_port_or_an_address_cannot_be_called(api: Any, hook: Any) -> None:
    services = f"/api/v1/namespaces/{api.namespace}/services"
    ports = [{"port": 443}]
    api.call("POST", services, api.object("Service", "s", spec={"ports": ports}))
    api.call("POST", services, api.object("Service", "headless", spec={"ports": ports, "clusterIP": "None"}))
    for name, port, said in (
        ("s", 444, 'no service port 444 found for service "s"'),
        ("headless", 443, 'cannot route to service with ClusterIP "None"'),
    ):
        reference = {"namespace": api.namespace, "name": name, "port": port}
        path = api.install(api.webhook(clientConfig={"service": reference}), name=name)
        assert api.create().message.endswith(f": {said}")
        api.call("DELETE", path)


def test_ignored_failures_let_the_request_go_on(api: Any, hook: Any) -> None:
    hook.answers["/"] = lambda r: (500, b"")
    api.install(api.webhook(failurePolicy="Ignore"), api.webhook("sane", "/sane"))
    api.install(api.webhook("mutating", failurePolicy="Ignore"), mutating=True)
    assert api.create().status == 201
    assert sorted(hook.paths) == ["/", "/", "/sane"]


def test_what_came_of_calls_is_counted(api: Any, hook: Any) -> None:
    names = [f"{word}-{api.number}" for word in ("open", "closed")]
    hook.answers["/bad"] = lambda r: (500, b"")
    hook.answers["/no"] = lambda r: {"allowed": False, "status": {"code": 403}}
    api.install(api.webhook(names[0], "/bad", failurePolicy="Ignore"), api.webhook(names[1], "/no"))
    assert api.create().status == 403
    text = str(api.call("GET", "/metrics").body)
    prefix = "apiserver_admission_webhook_"
    opened, closed = (f"{name}.example.io" for name in names)
    assert f'{prefix}fail_open_count{{name="{opened}",type="validating"}} 1' in text
    rejection = f'name="{closed}",type="validating",operation="CREATE",error_type="no_error",rejection_code="403"'
    assert f"{prefix}rejection_count{{{rejection}}} 1" in text
    call = f'name="{closed}",type="validating",operation="CREATE",code="403",rejected="true"'
    assert f"{prefix}request_total{{{call}}} 1" in text
    duration = f'name="{closed}",type="validating",operation="CREATE",rejected="true"'
    assert f"{prefix}admission_duration_seconds_count{{{duration}}} 1" in text
