"""What becomes of a request and its answer on the way to another API server and back."""

from __future__ import annotations

import http.client
import socket
import ssl
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from aggregated import (
    APISERVICES,
    NAME,
    SERVICES,
    api_service,
    condition,
    external_service,
    front_options,
    make_folder,
)
from telling_server import TellingServer, telling_server
from tests.waiting import eventually

from watchkeeper.server.aggregation import proxy
from watchkeeper.testing import Server
from watchkeeper.testing.handle import Handle

BASE = "/apis/far.io/v1"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_folder(tmp_path_factory.mktemp("far"))


@pytest.fixture(scope="module")
def far(folder: Path) -> Iterator[TellingServer]:
    with telling_server(folder) as running:
        yield running


@pytest.fixture(scope="module")
def front(folder: Path, far: TellingServer) -> Iterator[Handle]:
    with Server(**front_options(folder)) as running:
        running.request("POST", SERVICES, external_service())
        running.request("POST", APISERVICES, api_service(folder, far.port))
        eventually(lambda: condition(running)[0] == "True")
        yield running


def ask(server: Handle, method: str, path: str, body: Any = None, **headers: str) -> httpx.Response:
    given = {"Authorization": f"Bearer {server.token}", **{k.replace("_", "-"): v for k, v in headers.items()}}
    with httpx.Client(base_url=server.url, verify=server.ssl_context(), headers=given) as client:
        return client.request(method, BASE + path, content=body)


def told_headers(answer: httpx.Response) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, value in answer.json()["headers"]:
        found.setdefault(name, []).append(value)
    return found


def test_who_asks_is_told_and_nobody_can_say_otherwise(front: Handle) -> None:
    answer = ask(front, "GET", "/x", X_Remote_User="eve", X_Remote_Group="g", X_Remote_Uid="1", X_Remote_Extra_A="b")
    found = told_headers(answer)
    assert found["x-remote-user"] == ["kubernetes-admin"]
    assert found["x-remote-group"] == ["system:masters", "system:authenticated"]
    assert not {"authorization", "x-remote-uid", "x-remote-extra-a"} & set(found)


def test_an_impersonated_user_is_who_asks(front: Handle) -> None:
    given = {
        "Impersonate-User": "ann",
        "Impersonate-Uid": "7",
        "Impersonate-Extra-Some%2fKey": "v",
        "Impersonate-Group": "system:masters",
    }
    found = told_headers(ask(front, "GET", "/x", **given))
    assert (found["x-remote-user"], found["x-remote-uid"]) == (["ann"], ["7"])
    assert found["x-remote-extra-some%2fkey"] == ["v"]
    assert not [name for name in found if name.startswith("impersonate")]


def test_headers_of_one_hop_stay_behind_and_those_of_proxies_are_added(front: Handle, far: TellingServer) -> None:
    given = {"X-Forwarded-For": "1.2.3.4", "Connection": "x-drop", "X-Drop": "1", "TE": "trailers", "Audit-Id": "given"}
    answer = ask(front, "GET", "/x/", **given)
    found = told_headers(answer)
    assert found["x-forwarded-for"] == ["1.2.3.4, 127.0.0.1"]
    assert (found["host"], found["x-forwarded-host"]) == ([f"localhost:{far.port}"], [f"localhost:{far.port}"])
    assert (found["x-forwarded-proto"], found["x-forwarded-uri"]) == (["https"], [f"{BASE}/x/"])
    assert (found["te"], found["audit-id"]) == (["trailers"], ["given"])
    assert not {"x-drop", "connection"} & set(found)
    assert answer.headers.get_list("x-two") == ["1", "2"]
    assert "access-control-allow-origin" not in answer.headers


def test_the_query_is_sorted_and_what_is_malformed_left_out(front: Handle) -> None:
    answer = ask(front, "GET", "/a%2Fb/(c)?b=2&a=%2F+x&c=%zz&a=0")
    assert answer.json()["target"] == f"{BASE}/a/b/%28c%29?a=%2F+x&a=0&b=2"


def test_bodies_are_passed_on_with_their_length_or_in_chunks(front: Handle) -> None:
    def pieces() -> Iterator[bytes]:
        yield b"ab"
        yield b"cd"

    assert ask(front, "POST", "/x", b"abcd").json()["body"] == "abcd"
    answer = ask(front, "POST", "/x", pieces())
    assert (answer.json()["body"], told_headers(answer)["transfer-encoding"]) == ("abcd", ["chunked"])
    large = b"x" * (20 << 20)
    assert len(ask(front, "PUT", "/x", large).json()["body"]) == len(large)


def test_answers_without_a_body_have_none(front: Handle) -> None:
    answer = ask(front, "HEAD", "/x")
    assert (answer.status_code, answer.content) == (200, b"")
    assert int(answer.headers["content-length"]) > 0


def test_nobody_is_sent_elsewhere(front: Handle) -> None:
    answer = ask(front, "GET", "/moved")
    text = "the backend attempted to redirect this request, which is not permitted"
    assert (answer.status_code, answer.text) == (502, text)
    assert "location" not in answer.headers


def test_an_answer_that_breaks_off_is_broken_for_the_client_too(front: Handle) -> None:
    with pytest.raises(httpx.RemoteProtocolError):
        ask(front, "GET", "/broken")


def test_only_what_was_not_answered_at_all_is_asked_again(front: Handle, far: TellingServer) -> None:
    outcomes = []
    for method, path in (("GET", "cut"), ("GET", "gone"), ("POST", "gone")):
        ask(front, "GET", "/x")  # there is a connection that was used before
        answer = ask(front, method, f"/{path}")
        outcomes.append((answer.status_code, answer.text, far.asked.count(f"{method} {path}")))
    unreachable = "error trying to reach service: "
    broken = f"{unreachable}net/http: HTTP/1.x transport connection broken: unexpected EOF\n"
    assert outcomes == [(503, broken, 1), (200, "back", 2), (503, f"{unreachable}EOF\n", 1)]


def test_an_answer_behind_another_is_told_to_nobody(front: Handle) -> None:
    for _ in range(3):
        assert ask(front, "GET", "/extra").text == "one"
        assert ask(front, "GET", "/x").json()["method"] == "GET"


def test_an_answer_that_points_nowhere_or_changes_the_protocol_is_an_error(front: Handle) -> None:
    answer = ask(front, "POST", "/nowhere")
    text = 'Internal error occurred: error trying to parse Location header: parse "http://[bad"'
    assert (answer.status_code, answer.text.startswith(text)) == (503, True)
    answer = ask(front, "GET", "/up", Upgrade="shouting")
    text = 'backend tried to switch protocol "None" when "" was requested\n'
    assert (answer.status_code, answer.text) == (503, text)


def test_connections_are_kept(front: Handle, far: TellingServer) -> None:
    ask(front, "GET", "/x")
    far.connections.clear()
    for _ in range(5):
        ask(front, "GET", "/x")
    assert len(far.connections) <= 2  # one may have been taken for something else meanwhile


def test_who_may_not_do_it_is_refused_here(front: Handle) -> None:
    answer = ask(front, "GET", "/x", Impersonate_User="ann")
    assert answer.status_code == 403
    assert 'cannot list resource \\"x\\" in API group \\"far.io\\"' in answer.text


def test_what_is_asked_for_elsewhere_is_counted_there(front: Handle) -> None:
    ask(front, "GET", "/anything")
    with httpx.Client(base_url=front.url, verify=front.ssl_context()) as http:
        metrics = http.get("/metrics", headers={"Authorization": f"Bearer {front.token}"}).text
    assert "anything" not in metrics
    assert 'apiserver_request_total{verb="GET"' in metrics


_sockets: list[ssl.SSLSocket] = []


@pytest.fixture(autouse=True)
def _closed_sockets() -> Iterator[None]:
    yield
    while _sockets:
        _sockets.pop().close()


def raw(server: Handle, text: str) -> ssl.SSLSocket:
    port = int(server.url.rpartition(":")[2])
    plain = socket.create_connection(("127.0.0.1", port), timeout=10)
    made = server.ssl_context().wrap_socket(plain, server_hostname="127.0.0.1")
    _sockets.append(made)
    made.sendall(f"{text}Host: h\r\nAuthorization: Bearer {server.token}\r\n\r\n".encode())
    return made


def read_until(sock: ssl.SSLSocket, end: bytes) -> bytes:
    found = b""
    while end not in found:
        piece = sock.recv(1 << 16)
        assert piece, found
        found += piece
    return found


def left(far: TellingServer, what: str) -> bool:
    """Whether those have gone who asked for something."""
    return any(what in path for path in far.left)


def test_a_stream_comes_as_it_is_made_and_ends_with_its_client(front: Handle, far: TellingServer) -> None:
    sock = raw(front, f"GET {BASE}/stream?watch=1&first HTTP/1.1\r\n")
    assert b"5\r\nfirst\r\n" in read_until(sock, b"first\r\n")
    assert not left(far, "first")
    sock.close()
    eventually(lambda: left(far, "first"))


def test_whoever_goes_before_the_answer_ends_what_was_asked(front: Handle, far: TellingServer) -> None:
    sock = raw(front, f"POST {BASE}/stream?second HTTP/1.1\r\nContent-Length: 10\r\n")
    sock.close()
    sock = raw(front, f"GET {BASE}/stream?second HTTP/1.1\r\n")
    sock.close()
    eventually(lambda: left(far, "second"))


def test_a_client_that_takes_nothing_holds_up_the_other_server(front: Handle, far: TellingServer) -> None:
    sock = raw(front, f"GET {BASE}/stream?watch=1&endless&third HTTP/1.1\r\n")
    read_until(sock, b"first\r\n")
    time.sleep(1)
    assert not left(far, "third")
    sock.close()
    eventually(lambda: left(far, "third"))


def test_other_protocols_are_passed_through(front: Handle, far: TellingServer) -> None:
    sock = raw(front, f"GET {BASE}/up?fourth HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: shouting\r\n")
    assert read_until(sock, b"\r\n\r\n").startswith(b"HTTP/1.1 101 Switching Protocols\r\n")
    sock.sendall(b"hello")
    assert read_until(sock, b"HELLO") == b"HELLO"
    sock.close()
    eventually(lambda: left(far, "fourth"))


def test_a_refusal_to_switch_is_passed_back_and_anything_else_is_an_error(front: Handle) -> None:
    sock = raw(front, f"GET {BASE}/refused HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: shouting\r\n")
    assert read_until(sock, b"no\n").startswith(b"HTTP/1.1 403 Forbidden\r\n")
    sock = raw(front, f"GET {BASE}/x HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: shouting\r\n")
    answer = http.client.HTTPResponse(sock)
    answer.begin()
    assert (answer.status, answer.read()) == (503, b"invalid upgrade response: status code 200\n")


def test_whoever_goes_before_the_protocol_is_another_ends_what_was_asked(front: Handle, far: TellingServer) -> None:
    asking = "HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: shouting\r\n"
    sock = raw(front, f"GET {BASE}/silent?watch=1&seventh {asking}")
    time.sleep(0.2)
    assert not left(far, "seventh")
    sock.close()
    eventually(lambda: left(far, "seventh"))


def test_a_server_that_cannot_be_reached_is_unavailable(folder: Path) -> None:
    with Server(**front_options(folder)) as front, telling_server(folder) as far:
        front.request("POST", SERVICES, external_service())
        front.request("POST", APISERVICES, api_service(folder, far.port))
        eventually(lambda: condition(front)[0] == "True")
        front.request("PATCH", f"{APISERVICES}/{NAME}", {"spec": {"service": {"port": 1}}})
        answer = ask(front, "GET", "/x")
        if "error" in answer.text:  # not noticed yet
            assert answer.text.startswith("error trying to reach service: dial tcp ")
        eventually(lambda: condition(front)[:2] == ("False", "FailedDiscoveryCheck"))
        assert "connection refused" in condition(front)[2]
        answer = ask(front, "GET", "/x")
        assert (answer.status_code, answer.text) == (503, "service unavailable\n")


def test_a_server_that_stops_ends_streams_and_lets_go_of_the_other_one(folder: Path, far: TellingServer) -> None:
    server = Server(**front_options(folder))
    with server as front:
        front.request("POST", SERVICES, external_service())
        front.request("POST", APISERVICES, api_service(folder, far.port))
        eventually(lambda: condition(front)[0] == "True")
        stream = raw(front, f"GET {BASE}/stream?watch=1&fifth HTTP/1.1\r\n")
        tunnel = raw(front, f"GET {BASE}/up?fifth HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: shouting\r\n")
        read_until(stream, b"first\r\n")
        read_until(tunnel, b"\r\n\r\n")
    assert read_until(stream, b"0\r\n\r\n") == b"0\r\n\r\n"
    assert tunnel.recv(1) == b""
    eventually(lambda: left(far, "fifth"))


def test_a_webhook_may_be_behind_this_server_itself(front: Handle, far: TellingServer) -> None:
    path = "/apis/far.io/v1/reviews"
    hook = {
        "name": "reviews.far.io",
        "clientConfig": {"service": {"namespace": "default", "name": "kubernetes", "path": path}},
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE"]}],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "matchConditions": [{"name": "meant", "expression": "object.metadata.name == 'reviewed'"}],
    }
    hooks = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
    front.request("POST", hooks, {"metadata": {"name": "reviews"}, "webhooks": [hook]})

    def refusal() -> str:
        body = {"metadata": {"name": "reviewed"}}
        with httpx.Client(base_url=front.url, verify=front.ssl_context()) as http:
            given = {"Authorization": f"Bearer {front.token}"}
            return http.post("/api/v1/namespaces/default/configmaps?dryRun=All", json=body, headers=given).text

    eventually(lambda: "webhook response was absent" in refusal())
    front.request("DELETE", f"{hooks}/reviews")
    assert far.users[-1] == "system:apiserver"


def test_a_server_has_little_time_to_tell_what_a_version_has(front: Handle, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proxy, "DISCOVERY_SECONDS", 0.2)
    answer = ask(front, "GET", "?slow=1")
    assert (answer.status_code, answer.text) == (503, "error trying to reach service: context deadline exceeded\n")
    assert ask(front, "GET", "/x?slow=1").status_code == 200


def test_what_takes_too_long_is_ended_at_its_head_and_in_its_body(front: Handle, far: TellingServer) -> None:
    answer = ask(front, "GET", "/x?slow=1&timeout=200ms")
    assert (answer.status_code, answer.json()["reason"]) == (504, "Timeout")
    with pytest.raises(httpx.RemoteProtocolError):
        ask(front, "GET", "/stream?sixth&timeout=500ms")
    eventually(lambda: left(far, "sixth"))
