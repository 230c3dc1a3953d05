"""Logs, which kubelets have: asked for and passed back as they come."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from behind import PODS, client, last, make_node, make_pod, told
from fake_kubelet import FakeKubelet, fake_kubelet
from tests.waiting import eventually
from wsproto import ConnectionType, WSConnection
from wsproto.events import AcceptConnection, BytesMessage, CloseConnection, Request, TextMessage

from watchkeeper.server.backends.settings import KubeletSettings
from watchkeeper.server.backends.trust import check_files
from watchkeeper.server.errors import StartupError
from watchkeeper.server.options import ServeOptions
from watchkeeper.testing import Server
from watchkeeper.testing.etcd_certificates import make_certificates
from watchkeeper.testing.handle import Handle

LOG = f"{PODS}/p/log"
CONTAINERS = ("c", "broken", "large", *(f"status-{code}" for code in (206, 302, 400, 403, 404, 409, 418, 500, 503)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kubelet")
    make_certificates(folder)
    return folder


@pytest.fixture(scope="module")
def kubelet(folder: Path) -> Iterator[FakeKubelet]:
    with fake_kubelet(folder) as running:
        yield running


@pytest.fixture(scope="module")
def server(folder: Path, kubelet: FakeKubelet) -> Iterator[Handle]:
    options = {
        "kubelet_client_certificate": folder / "client.crt",
        "kubelet_client_key": folder / "client.key",
        "kubelet_certificate_authority": folder / "ca.crt",
        "controllers": (),
    }
    with Server(**options) as running:
        make_node(running, "n", "127.0.0.1", kubelet.port)
        make_pod(running, "p", "n", *CONTAINERS)
        yield running


def log(server: Handle, container: str, query: str = "") -> httpx.Response:
    with client(server) as http:
        return http.get(f"{LOG}?container={container}{query}")


def test_a_log_is_what_the_kubelet_has(server: Handle, kubelet: FakeKubelet) -> None:
    answer = log(server, "c", "&tailLines=5&previous=true")
    assert (answer.status_code, answer.text) == (200, "one\ntwo\n")
    assert answer.headers["content-type"] == "text/plain"
    asked = last(kubelet)
    assert asked.target == "/containerLogs/default/p/c?previous=true&tailLines=5"
    assert (asked.method, asked.shown) == ("GET", "root")
    assert asked.headers == [("host", f"127.0.0.1:{kubelet.port}"), ("user-agent", "Go-http-client/1.1")]


def test_a_log_is_followed_until_the_client_goes(server: Handle, kubelet: FakeKubelet) -> None:
    with client(server) as http, http.stream("GET", f"{LOG}?container=c&follow=true") as answer:
        lines = answer.iter_lines()
        assert [next(lines) for _ in range(3)] == ["line 0", "line 1", "line 2"]
    eventually(lambda: "/containerLogs/default/p/c" in kubelet.left)
    kubelet.left.clear()


def test_a_large_log_comes_whole_however_slowly_it_is_read(server: Handle) -> None:
    size = 0
    with client(server) as http, http.stream("GET", f"{LOG}?container=large") as answer:
        for piece in answer.iter_bytes():
            size += len(piece)
    assert size == len("one\ntwo\n") + (64 << 20)


def test_a_log_ends_where_its_kubelet_goes(server: Handle) -> None:
    answer = log(server, "broken")
    assert (answer.status_code, answer.text) == (200, "one\ntwo\n")


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "what is wrong"),
        (403, "what is wrong ( pods/log p)"),
        (404, "the server could not find the requested resource ( pods/log p)"),
        (409, "the server reported a conflict ( pods/log p)"),
        (418, "the server responded with the status code 418 but did not return more information ( pods/log p)"),
        (500, "Internal error occurred: what is wrong"),
        (503, "the server is currently unable to handle the request ( pods/log p)"),
    ],
)
def test_what_a_kubelet_says_is_wrong_is_told(server: Handle, status: int, message: str) -> None:
    assert told(log(server, f"status-{status}")) == (status, message)


def test_a_kubelet_may_not_send_on(server: Handle) -> None:
    assert told(log(server, "status-302")) == (500, 'Get "/elsewhere": redirects forbidden')
    assert log(server, "status-206").text == "what is wrong"


def test_a_kubelet_whose_certificate_does_not_hold_is_asked_only_if_the_client_wants_that(
    folder: Path, kubelet: FakeKubelet, tmp_path: Path
) -> None:
    make_certificates(tmp_path)
    with Server(kubelet_certificate_authority=tmp_path / "ca.crt", controllers=()) as server:
        make_node(server, "n", "127.0.0.1", kubelet.port)
        make_pod(server, "p", "n")
        url = f"https://127.0.0.1:{kubelet.port}/containerLogs/default/p/c"
        why = "tls: failed to verify certificate: x509: certificate signed by unknown authority"
        assert told(log(server, "c")) == (500, f'Get "{url}": {why}')
        assert log(server, "c", "&insecureSkipTLSVerifyBackend=true").text == "one\ntwo\n"
        assert last(kubelet).shown == ""


def test_an_authority_that_changes_is_taken_over(
    folder: Path, kubelet: FakeKubelet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("watchkeeper.server.file_watch.LOOK_SECONDS", 0.05)
    make_certificates(tmp_path)
    authority = tmp_path / "ca.crt"
    with Server(kubelet_certificate_authority=authority, controllers=()) as server:
        make_node(server, "n", "127.0.0.1", kubelet.port)
        make_pod(server, "p", "n")
        assert log(server, "c").status_code == 500
        authority.write_text("nothing")
        assert log(server, "c").status_code == 500
        authority.write_bytes((folder / "ca.crt").read_bytes())
        eventually(lambda: log(server, "c").status_code == 200)


@pytest.mark.parametrize("protocol", ["", "binary.k8s.io", "base64.binary.k8s.io"])
def test_a_log_may_come_by_messages(server: Handle, protocol: str) -> None:
    received = messages(server, f"{LOG}?container=c", protocol)
    assert received == ([b"", b"one\ntwo\n"] if protocol != "base64.binary.k8s.io" else ["", "b25lCnR3bwo="])


def messages(server: Handle, path: str, protocol: str) -> list[bytes | str]:
    host, _, port = server.url.removeprefix("https://").partition(":")
    raw = socket.create_connection((host, int(port)), timeout=10)
    with server.ssl_context().wrap_socket(raw, server_hostname=host) as sock:
        speaker = WSConnection(ConnectionType.CLIENT)
        token = [(b"Authorization", f"Bearer {server.token}".encode())]
        asking = Request(host=host, target=path, extra_headers=token, subprotocols=[protocol] if protocol else [])
        sock.sendall(speaker.send(asking))
        found: list[bytes | str] = []
        while data := sock.recv(65536):
            speaker.receive_data(data)
            for event in speaker.events():
                match event:
                    case AcceptConnection():
                        assert (event.subprotocol or "") == protocol
                    case BytesMessage() | TextMessage():
                        found.append(event.data if isinstance(event.data, str) else bytes(event.data))
                    case CloseConnection():
                        return found
    return found


def test_a_kubelet_that_does_not_know_this_server_is_quoted(kubelet: FakeKubelet, tmp_path: Path) -> None:
    make_certificates(tmp_path)
    shown = {"kubelet_client_certificate": tmp_path / "client.crt", "kubelet_client_key": tmp_path / "client.key"}
    with Server(**shown, controllers=()) as server:
        make_node(server, "n", "127.0.0.1", kubelet.port)
        make_pod(server, "p", "n")
        code, message = told(log(server, "c"))
        assert (code, message.endswith('/c": remote error: tls: unknown certificate authority')) == (500, True), message


def test_a_kubelet_without_tls_is_told_of(server: Handle) -> None:
    with fake_kubelet(None) as plain:
        make_node(server, "plain", "127.0.0.1", plain.port)
        make_pod(server, "plain", "plain")
        upgrade = {"Connection": "Upgrade", "Upgrade": "SPDY/3.1"}
        with client(server) as http:
            logged = told(http.get(f"{PODS}/plain/log"))
            run = told(http.post(f"{PODS}/plain/exec?command=x", headers=upgrade))
    url = f"https://127.0.0.1:{plain.port}/containerLogs/default/plain/c"
    assert logged == (500, f'Get "{url}": http: server gave HTTP response to HTTPS client')
    assert run == (500, "error dialing backend: tls: first record does not look like a TLS handshake")


def test_kubelets_are_reached_where_the_operator_says(kubelet: FakeKubelet) -> None:
    told_places = {"kubelet_preferred_address_types": ("ExternalIP", "InternalIP"), "kubelet_port": kubelet.port}
    addresses = [{"type": "InternalIP", "address": "127.0.0.9"}, {"type": "ExternalIP", "address": "127.0.0.1"}]
    with Server(**told_places, controllers=()) as server:
        server.request("POST", "/api/v1/nodes", {"metadata": {"name": "n"}, "status": {"addresses": addresses}})
        make_pod(server, "p", "n")
        assert log(server, "c").text == "one\ntwo\n"


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"kubelet_client_key": Path("key")}, "--kubelet-client-certificate and --kubelet-client-key go together"),
        ({"kubelet_port": 70000}, "--kubelet-port 70000 is not between 1 and 65535"),
    ],
)
def test_options_that_nobody_could_mean_are_refused(options: dict[str, Any], why: str, tmp_path: Path) -> None:
    with pytest.raises(StartupError, match=why):
        ServeOptions(data_dir=tmp_path, **options).check()


def test_files_that_are_of_no_use_are_told_at_the_start(folder: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty.crt"
    empty.write_text("\n")
    for settings in (
        KubeletSettings(authority=tmp_path / "none"),
        KubeletSettings(authority=empty),
        KubeletSettings(certificate=folder / "client.crt", key=folder / "server.key"),
    ):
        with pytest.raises(StartupError, match="--kubelet-c"):
            check_files(settings)
