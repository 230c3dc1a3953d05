"""A server behind a front proxy."""

from __future__ import annotations

import http.client
import json
import logging
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from watchkeeper.server.errors import StartupError
from watchkeeper.server.options import ServeOptions
from watchkeeper.server.server import Server as BareServer
from watchkeeper.testing import Server
from watchkeeper.testing.etcd_certificates import make_certificates
from watchkeeper.testing.handle import Handle

HEADERS: dict[str, Any] = {
    "requestheader_username_headers": ("X-Remote-User",),
    "requestheader_uid_headers": ("X-Remote-Uid",),
    "requestheader_group_headers": ("X-Remote-Group",),
    "requestheader_extra_headers_prefix": ("X-Remote-Extra-",),
}
REVIEW = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    clients, proxies = tmp_path_factory.mktemp("clients"), tmp_path_factory.mktemp("proxies")
    for folder in (clients, proxies):
        make_certificates(folder)
    return clients, proxies


@pytest.fixture(scope="module")
def server(folders: tuple[Path, Path]) -> Iterator[Handle]:
    clients, proxies = (folder / "ca.crt" for folder in folders)
    with Server(client_ca=clients, requestheader_client_ca_file=proxies, controllers=(), **HEADERS) as running:
        yield running


def context(server: Handle, folder: Path | None) -> ssl.SSLContext:
    made = server.ssl_context()
    if folder is not None:
        made.load_cert_chain(folder / "client.crt", folder / "client.key")
    return made


def whoami(server: Handle, made: ssl.SSLContext, **headers: str) -> Any:
    """Who is asking, or the status of the refusal."""
    connection = http.client.HTTPSConnection(server.url.removeprefix("https://"), context=made, timeout=10)
    connection.connect()
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    connection.request("POST", path, json.dumps(REVIEW), {"Content-Type": "application/json", **given})
    answer = connection.getresponse()
    found = json.loads(answer.read())
    connection.close()
    return found["status"]["userInfo"] if answer.status == 201 else answer.status


def test_the_two_authorities_are_told_apart(server: Handle, folders: tuple[Path, Path]) -> None:
    client, proxy = (context(server, folder) for folder in folders)
    assert whoami(server, proxy, X_Remote_User="ann", X_Remote_Group="devs", X_Remote_Extra_Team="blue") == {
        "username": "ann",
        "groups": ["devs", "system:authenticated"],
        "extra": {"team": ["blue"]},
    }
    assert whoami(server, client, X_Remote_User="ann")["username"] == "root"
    assert whoami(server, proxy) == 401
    bearer = f"Bearer {server.token}"
    assert whoami(server, proxy, Authorization=bearer)["groups"] == ["system:masters", "system:authenticated"]
    assert whoami(server, context(server, None), X_Remote_User="ann", Authorization=bearer)["username"] != "ann"


def test_a_resumed_session_is_still_that_of_a_proxy(server: Handle, folders: tuple[Path, Path]) -> None:
    made = context(server, folders[1])
    made.maximum_version = ssl.TLSVersion.TLSv1_2
    host, port = server.url.removeprefix("https://").rsplit(":", 1)
    session = None
    for resumed in (False, True):
        connection = http.client.HTTPSConnection(host, int(port), context=made, timeout=10)
        http.client.HTTPConnection.connect(connection)
        connection.sock = made.wrap_socket(connection.sock, server_hostname=host, session=session)
        assert connection.sock.session_reused is resumed
        connection.request("GET", "/api/v1/namespaces", headers={"X-Remote-User": "ann", "X-Remote-Group": "x"})
        answer = connection.getresponse()
        assert (answer.status, 'User \\"ann\\"' in answer.read().decode()) == (403, True)
        session = connection.sock.session
        connection.close()


def test_extension_servers_are_told_whom_to_believe(server: Handle, folders: tuple[Path, Path]) -> None:
    path = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
    clients, proxies = ((folder / "ca.crt").read_text() for folder in folders)
    assert server.request("GET", path)["data"] == {
        "client-ca-file": clients,
        "requestheader-allowed-names": "[]",
        "requestheader-client-ca-file": proxies,
        "requestheader-extra-headers-prefix": '["X-Remote-Extra-"]',
        "requestheader-group-headers": '["X-Remote-Group"]',
        "requestheader-uid-headers": '["X-Remote-Uid"]',
        "requestheader-username-headers": '["X-Remote-User"]',
    }


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"requestheader_username_headers": ("a", " ")}, 'empty value in "requestheader-username-headers"'),
        ({"requestheader_allowed_names": ("",)}, 'empty value in "requestheader-allowed-names"'),
        ({"requestheader_uid_headers": ("X-Uid",)}, "--requestheader-uid-headers is set without specifying the"
         " standard X-Remote-Uid header - API aggregation will not work"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_keeps_a_server_from_starting(tmp_path: Path, given: Any, problem: str) -> None:
    with pytest.raises(StartupError) as refused:
        BareServer(ServeOptions(data_dir=tmp_path, **given))
    assert str(refused.value) == problem


def test_headers_that_others_do_not_look_at_are_warned_of(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        BareServer(ServeOptions(data_dir=tmp_path, requestheader_username_headers=("X-User",)))
    assert "--requestheader-username-headers is set without specifying the standard X-Remote-User" in caplog.text


def test_authorities_that_cannot_be_read_keep_a_server_from_starting(tmp_path: Path) -> None:
    missing = tmp_path / "missing.pem"
    with (
        pytest.raises(StartupError, match="cannot use the front proxy authorities in"),
        Server(requestheader_client_ca_file=missing, controllers=()),
    ):
        pass
