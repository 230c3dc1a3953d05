"""What webhooks are shown."""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path

import pytest

from watchkeeper.webhook.client import WebhookError
from watchkeeper.webhook.client_config import ClientConfig, ServiceReference
from watchkeeper.webhook.clients import Clients
from watchkeeper.webhook.credentials import Credential, WebhookCredentials, read_credentials

USERS = ("a.b.svc:8443", "a.b.svc", "*.b.svc", "*.svc:9443", "plain.test", "*")


def url(text: str) -> ClientConfig:
    return ClientConfig(url=text)


def service(name: str, port: int = 443) -> ClientConfig:
    return ClientConfig(service=ServiceReference("b", name, port))


@pytest.mark.parametrize(
    ("config", "user"),
    [
        (service("a", 8443), "a.b.svc:8443"),
        (service("a"), "a.b.svc"),
        (service("c"), "*.b.svc"),
        (service("c", 9443), "*.svc:9443"),
        (service("c", 7443), "*"),
        (url("https://plain.test/path"), "plain.test"),
        (url("https://plain.test:443"), "plain.test"),
        (url("https://plain.test:444"), "*"),
        (url("https://a.b.svc:8443/x"), "a.b.svc:8443"),
    ],
)
def test_users_are_named_after_hosts(config: ClientConfig, user: str) -> None:
    credentials = WebhookCredentials({name: Credential(token=name) for name in USERS})
    found = credentials.find(config)
    assert found is not None
    assert found.token == user


def test_whom_no_user_is_for_gets_that_of_the_context_or_none() -> None:
    users = {"me": Credential(token="mine")}
    assert WebhookCredentials(users).find(url("https://x")) is None
    assert WebhookCredentials(users, "me").find(url("https://x")) is users["me"]


def test_a_kubeconfig_is_read_with_files_beside_it(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("from a file\n")
    file = tmp_path / "kubeconfig"
    file.write_text("""
        current-context: here
        contexts: [{name: here, context: {user: basic}}]
        users:
        - {name: one.test, user: {token: T, username: u}}
        - {name: two.test, user: {tokenFile: token, as: ann}}
        - {name: basic, user: {username: u, password: p}}
    """)
    credentials = read_credentials(file)

    def headers(host: str) -> dict[str, str]:
        found = credentials.find(url(f"https://{host}"))
        assert found is not None
        return found.request_headers()

    assert headers("one.test") == {"Authorization": "Bearer T"}
    assert headers("two.test") == {"Authorization": "Bearer from a file", "Impersonate-User": "ann"}
    assert headers("other.test") == {"Authorization": "Basic " + base64.b64encode(b"u:p").decode()}
    assert "T" not in repr(credentials.find(url("https://one.test")))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[", "error loading config file"),
        ("[]", "it is no kubeconfig"),
        ("users: [{name: x, user: {exec: {command: y}}}]", "credentials by exec are not supported"),
        ("users: 5", "users is no list of named objects"),
        ("users: [null]", "users is no list of named objects"),
        ("contexts: [{name: x, context: here}]", "contexts is no list of named objects"),
        ("users: [{name: x, user: {}}, {name: x, user: {}}]", 'duplicate name "x"'),
        ("users: [{name: [x]}]", "name is no string"),
        ("users: [{name: x, user: {token: 5}}]", "token is no string"),
        ("users: [{name: x, user: {client-key-data: 5}}]", "client-key-data is no string"),
        ("current-context: [x]", "current-context is no string"),
        ("[" * 3000, "exceeded maximum"),
    ],
)
def test_what_is_no_kubeconfig_is_told(tmp_path: Path, text: str, problem: str) -> None:
    file = tmp_path / "kubeconfig"
    file.write_text(text)
    with pytest.raises(ValueError, match=problem):
        read_credentials(file)


def test_what_a_token_file_holds_adds_no_header(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("T\r\nImpersonate-User: ann")

    async def run() -> str:
        server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
        credentials = WebhookCredentials({"*": Credential(token_file=tmp_path / "token")})
        clients = Clients(credentials=credentials)
        try:
            with pytest.raises(WebhookError) as refused:
                await clients.get(url(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")).post(b"{}", timeout=5)
        finally:
            clients.close()
            server.close()
        return str(refused.value)

    assert asyncio.run(run()).endswith('net/http: invalid header field value for "Authorization"')


def test_each_review_is_posted_with_the_token() -> None:
    async def run() -> list[bytes]:
        heads: list[bytes] = []

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            heads.append(await reader.readuntil(b"\r\n\r\n"))
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")
            writer.close()

        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        for credentials in (WebhookCredentials({"127.0.0.1:" + str(port): Credential(token="T")}), None):
            clients = Clients(credentials=credentials)
            assert await clients.get(url(f"http://127.0.0.1:{port}")).post(b"{}", timeout=5) == b"{}"
            clients.close()
        server.close()
        return heads

    with_token, without = asyncio.run(run())
    assert b"\r\nAuthorization: Bearer T\r\n" in with_token
    assert b"Authorization" not in without
