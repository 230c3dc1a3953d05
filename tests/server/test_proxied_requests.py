"""The proxies of nodes, Pods and Services: what goes there, and what comes back."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from behind import NODES, PODS, SERVICES, client, last, make_node, make_pod, make_service, told
from fake_kubelet import FakeKubelet, fake_kubelet
from tests.addresses import own_address
from tests.waiting import eventually

from watchkeeper.testing import Server
from watchkeeper.testing.etcd_certificates import make_certificates
from watchkeeper.testing.handle import Handle

PROXY = f"{SERVICES}/s:web/proxy"


@pytest.fixture(scope="module")
def address() -> str:
    return own_address()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kubelet")
    make_certificates(folder)
    return folder


@pytest.fixture(scope="module")
def kubelet(folder: Path, address: str) -> Iterator[FakeKubelet]:
    with fake_kubelet(folder, address) as running:
        yield running


@pytest.fixture(scope="module")
def backend(address: str) -> Iterator[FakeKubelet]:
    with fake_kubelet(None, address) as running:
        yield running


@pytest.fixture(scope="module")
def server(folder: Path, address: str, kubelet: FakeKubelet, backend: FakeKubelet) -> Iterator[Handle]:
    shown = {"kubelet_client_certificate": folder / "client.crt", "kubelet_client_key": folder / "client.key"}
    with Server(**shown, controllers=()) as running:
        make_node(running, "n", address, kubelet.port)
        make_pod(running, "p", "n", address=address, port=backend.port)
        make_service(running, "s", "p", address, web=backend.port, tls=kubelet.port)
        yield running


def ask(server: Handle, path: str, method: str = "GET", **options: Any) -> httpx.Response:
    with client(server) as http:
        return http.request(method, path, **options)


def test_all_proxies_lead_there(server: Handle, kubelet: FakeKubelet, backend: FakeKubelet) -> None:
    for path, reached in (
        (f"{PODS}/p", backend),
        (f"{PODS}/https:p:{kubelet.port}", kubelet),
        (f"{SERVICES}/s:web", backend),
        (f"{SERVICES}/s:{backend.port}", backend),
        (f"{SERVICES}/https:s:tls", kubelet),
        (f"{NODES}/n", kubelet),
        (f"{NODES}/http:n:{kubelet.port}", kubelet),
        (f"{NODES}/n:{backend.port}", backend),
    ):
        reached.asked.clear()
        answer = ask(server, f"{path}/proxy/x/y?a=1&;b=%20")
        assert (answer.status_code, answer.json()["target"]) == (200, "/x/y?a=1&;b=%20"), path
        assert last(reached).header("x-forwarded-uri") == f"{path}/proxy/x/y"
        assert last(reached).shown == ("root" if path.startswith(NODES) and reached is kubelet else "")


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_methods_bodies_and_headers_go_there(server: Handle, method: str) -> None:
    given = {"X-Own": "1", "Cookie": "a=b", "Connection": "X-Hop", "X-Hop": "2", "X-Forwarded-For": "192.0.2.7"}
    got = ask(server, f"{PROXY}/echo", method, content=b"hello", headers=given).json()
    assert (got["method"], got["body"]) == (method, "hello")
    headers = dict(got["headers"])
    assert headers["host"] == server.url.removeprefix("https://")
    assert (headers["x-own"], headers["cookie"], headers["content-length"]) == ("1", "a=b", "5")
    assert headers["x-forwarded-for"] == "192.0.2.7, 127.0.0.1"
    assert not {"authorization", "x-hop", "connection", "x-forwarded-host", "x-forwarded-proto"} & set(headers)


def test_a_body_may_come_in_chunks(server: Handle) -> None:
    got = ask(server, f"{PROXY}/echo", "POST", content=iter([b"a" * 100_000, b"b"])).json()
    assert got["body"] == "a" * 100_000 + "b"


def test_nothing_that_tells_who_the_client_is_goes_there(server: Handle) -> None:
    given = {"X-Remote-User": "a", "X-Remote-Group": "b", "X-Remote-Extra-C": "d"}
    given |= {"Impersonate-User": "e", "Impersonate-Group": "system:masters", "Impersonate-Extra-F": "g"}
    names = {name for name, _ in ask(server, f"{PROXY}/echo", headers=given).json()["headers"]}
    assert not [name for name in names if name.startswith(("x-remote", "impersonate", "authorization"))]


def test_paths_lead_nowhere_else(server: Handle) -> None:
    path = "/a%20b/(c)//d/../e/%C3%A4"
    assert ask(server, f"{PROXY}{path}").json()["target"] == "/a%20b/%28c%29/e/%C3%A4"
    assert ask(server, f"{PROXY}", "POST").json()["target"] == "/"
    assert ask(server, f"{PROXY}/x/").json()["target"] == "/x/"


@pytest.mark.parametrize(
    ("given", "seen"),
    [
        ("/x", f"{PROXY}/x"),
        ("/x/?a=b%26c", f"{PROXY}/x/?a=b&c"),
        ("http://BACKEND/x", f"{PROXY}/x"),
        ("https://SELF/x", f"https://SELF{PROXY}/x"),
        (f"{PROXY}/x", f"{PROXY}/x"),
        ("http://elsewhere/x", "http://elsewhere/x"),
        ("x", "x"),
        ("/a%2520b", f"{PROXY}/a%20b"),
    ],
)
def test_who_is_sent_on_stays_behind_the_proxy(
    server: Handle, backend: FakeKubelet, address: str, given: str, seen: str
) -> None:
    names = {"BACKEND": f"{address}:{backend.port}", "SELF": server.url.removeprefix("https://")}
    for name, value in names.items():
        given, seen = given.replace(name, value), seen.replace(name, value)
    answer = ask(server, f"{PROXY}/moved?to={given}")
    assert (answer.status_code, answer.headers["location"]) == (302, seen)


def test_a_place_that_is_none_is_an_error(server: Handle) -> None:
    why = 'error trying to parse Location header: parse "/%zz": invalid URL escape "%zz"'
    assert told(ask(server, f"{PROXY}/moved?to=/%25zz")) == (500, f"Internal error occurred: {why}")


def test_links_of_pages_lead_through_the_proxy(server: Handle) -> None:
    answer = ask(server, f"{PROXY}/page")
    expected = f'<html><body class="x"><a href="{PROXY}/there?a=1&amp;b=2">x</A><img src="pic.png"/></body></html>'
    assert answer.text == expected
    assert ask(server, f"{PROXY}/page", "HEAD").headers.get("content-length") is None


def test_answers_come_without_what_other_sites_may_do(server: Handle) -> None:
    answer = ask(server, f"{PROXY}/cors")
    assert answer.headers["etag"] == "e"
    assert "access-control-allow-origin" not in answer.headers
    assert answer.headers.get_list("cache-control") == ["a", "no-cache, private"]


def test_who_says_nothing_or_half_of_it_is_told_of(server: Handle) -> None:
    assert told(ask(server, f"{PROXY}/silent")) == (503, "error trying to reach service: EOF")
    with pytest.raises(httpx.RemoteProtocolError):
        ask(server, f"{PROXY}/broken")


def test_an_endless_answer_ends_with_its_client(server: Handle, backend: FakeKubelet) -> None:
    with client(server) as http, http.stream("GET", f"{PROXY}/stream") as answer:
        lines = answer.iter_lines()
        assert [next(lines) for _ in range(3)] == ["tick"] * 3
    eventually(lambda: "/stream" in backend.left)
    backend.left.clear()


def test_an_answer_that_a_stopping_server_ends_is_not_taken_for_whole(address: str, backend: FakeKubelet) -> None:
    with Server(controllers=()) as server:
        make_node(server, "n", address, 1)
        http = client(server)
        answer = http.send(http.build_request("GET", f"{NODES}/n:{backend.port}/proxy/stream"), stream=True)
        pieces = answer.iter_bytes()
        assert next(pieces).startswith(b"tick\n")
    with pytest.raises(httpx.RemoteProtocolError):
        list(pieces)
    eventually(lambda: "/stream" in backend.left)
    http.close()


@pytest.mark.parametrize("upgrade", ["raw", "websocket"])
def test_another_protocol_is_spoken_with_the_backend_itself(server: Handle, backend: FakeKubelet, upgrade: str) -> None:
    host, _, port = server.url.removeprefix("https://").partition(":")
    raw = socket.create_connection((host, int(port)), timeout=10)
    lines = [
        f"GET {PROXY}/up?lost=1 HTTP/1.1",
        f"Host: {host}",
        f"Authorization: Bearer {server.token}",
        "Connection: Upgrade",
        f"Upgrade: {upgrade}",
        "Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==",
    ]
    with server.ssl_context().wrap_socket(raw, server_hostname=host) as sock, sock.makefile("rb") as file:
        sock.sendall("\r\n".join([*lines, "", ""]).encode())
        assert file.readline() == b"HTTP/1.1 101 Switching Protocols\r\n"
        while file.readline().strip():
            pass
        if upgrade == "raw":
            sock.sendall(b"ping")
            assert file.read(4) == b"ping"
    eventually(lambda: "/up" in backend.left)
    backend.left.clear()
    asked = last(backend)
    assert (asked.target, asked.header("authorization")) == ("/up", "")
    assert asked.header("x-forwarded-for") == "127.0.0.1"


@pytest.mark.parametrize(
    ("framing", "sent"), [("Content-Length: 5", b"hello"), ("Transfer-Encoding: chunked", b"5\r\nhello\r\n0\r\n\r\n")]
)
def test_a_body_goes_there_before_another_protocol_is_spoken(
    server: Handle, backend: FakeKubelet, framing: str, sent: bytes
) -> None:
    host, _, port = server.url.removeprefix("https://").partition(":")
    raw = socket.create_connection((host, int(port)), timeout=10)
    lines = [
        f"POST {PROXY}/up HTTP/1.1",
        f"Host: {host}",
        f"Authorization: Bearer {server.token}",
        "Connection: Upgrade",
        "Upgrade: raw",
        framing,
    ]
    with server.ssl_context().wrap_socket(raw, server_hostname=host) as sock, sock.makefile("rb") as file:
        sock.sendall("\r\n".join([*lines, "", ""]).encode())
        sock.sendall(sent)
        assert file.readline() == b"HTTP/1.1 101 Switching Protocols\r\n"
        while file.readline().strip():
            pass
        sock.sendall(b"ping")
        assert file.read(4) == b"ping"
    eventually(lambda: "/up" in backend.left)
    backend.left.clear()
    assert last(backend).body == b"hello"


def test_who_does_not_want_another_protocol_says_so_itself(server: Handle) -> None:
    answer = ask(server, f"{PROXY}/refused", headers={"Connection": "Upgrade", "Upgrade": "x"})
    assert (answer.status_code, answer.text) == (403, "not you")


def test_where_nobody_listens_that_is_told(server: Handle, address: str) -> None:
    refused = f"dial tcp {address}:1: connect: connection refused"
    assert told(ask(server, f"{PODS}/p:1/proxy/")) == (503, f"error trying to reach service: {refused}")
    upgrade = {"Connection": "Upgrade", "Upgrade": "x"}
    assert told(ask(server, f"{PODS}/p:1/proxy/", headers=upgrade)) == (500, f"error dialing backend: {refused}")


def test_a_body_is_not_in_the_log(server: Handle, tmp_path: Path, address: str, backend: FakeKubelet) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: RequestResponse}]\n")
    written = tmp_path / "audit.log"
    with Server(controllers=(), audit_policy_file=policy, audit_log_path=written) as other:
        make_node(other, "n", address, 1)
        answer = ask(other, f"{NODES}/n:{backend.port}/proxy/echo", "POST", json={"secret": "hidden"})
        assert "hidden" in answer.json()["body"]
    events = [json.loads(line) for line in written.read_text().splitlines()]
    assert [each for each in events if "/proxy/echo" in each["requestURI"]]
    assert "hidden" not in written.read_text()
