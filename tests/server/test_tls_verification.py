"""Clients whose certificates nobody accepts."""

from __future__ import annotations

import datetime
import http.client
import json
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from watchkeeper.server import tls_verification
from watchkeeper.server.http import peer
from watchkeeper.server.http.peer import Authorities, TlsPeer
from watchkeeper.server.tls_verification import can_tell_unverified
from watchkeeper.testing import Server
from watchkeeper.testing.handle import Handle

pytestmark = pytest.mark.skipif(not can_tell_unverified(), reason="OpenSSL cannot be reached in this Python")
NOW = datetime.datetime.now(datetime.UTC)
HOUR = datetime.timedelta(hours=1)


@dataclass
class Signer:
    """Who signs certificates: an authority of its own, or by another."""

    name: x509.Name
    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    @property
    def pem(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.PEM)


def sign(
    common_name: str, by: Signer | None = None, *, until: datetime.datetime = NOW + HOUR, ca: bool = True
) -> Signer:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(by.name if by is not None else name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(NOW - 9 * HOUR)
        .not_valid_after(until)
        .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
        .sign(by.key if by is not None else key, hashes.SHA256())
    )
    return Signer(name, key, certificate)


@pytest.fixture(scope="module")
def root() -> Signer:
    return sign("root authority")


@pytest.fixture(scope="module")
def middle(root: Signer) -> Signer:
    return sign("an authority between", root)


@pytest.fixture(scope="module")
def server(root: Signer, middle: Signer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Handle]:
    accepted = tmp_path_factory.mktemp("accepted") / "clients.pem"
    accepted.write_bytes(root.pem + sign("another middle", sign("unknown root")).pem)
    with Server(client_ca=accepted, controllers=()) as running:
        yield running


def showing(server: Handle, folder: Path, *chain: Signer) -> ssl.SSLContext:
    context = server.ssl_context()
    file = folder / "client.pem"
    key = chain[0].key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file.write_bytes(b"".join(each.pem for each in chain) + key)
    context.load_cert_chain(file)
    return context


def resuming(server: Handle, context: ssl.SSLContext, session: ssl.SSLSession | None) -> Any:
    made = connection(server, context)
    host = server.url.removeprefix("https://").rpartition(":")[0]
    http.client.HTTPConnection.connect(made)
    made.sock = context.wrap_socket(made.sock, server_hostname=host, session=session)
    return made


def ask(connection: http.client.HTTPSConnection, token: str = "", path: str = "/api/v1/namespaces/default") -> Any:
    connection.request("GET", path, headers={"Authorization": f"Bearer {token}"} if token else {})
    answer = connection.getresponse()
    return answer.status, answer.read()


def connection(server: Handle, context: ssl.SSLContext) -> http.client.HTTPSConnection:
    return http.client.HTTPSConnection(server.url.removeprefix("https://"), context=context, timeout=10)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
@pytest.mark.parametrize("which", ["stranger", "self-signed", "expired", "incomplete"])
def test_who_shows_what_does_not_hold_is_answered(
    server: Handle, root: Signer, middle: Signer, tmp_path: Path, which: str, version: ssl.TLSVersion
) -> None:
    shown = {
        "stranger": sign("ann", sign("somebody"), ca=False),
        "self-signed": sign("ann"),
        "expired": sign("ann", root, until=NOW - HOUR, ca=False),
        "incomplete": sign("ann", middle, ca=False),
    }[which]
    context = showing(server, tmp_path, shown)
    context.maximum_version = version
    made = connection(server, context)
    status, body = ask(made)
    assert (status, json.loads(body)["message"]) == (401, "Unauthorized")
    assert ask(made, path="/livez")[0] == 401
    assert ask(made, "wrong")[0] == 401
    assert ask(made, server.token)[0] == 200
    made.close()


def test_who_shows_what_holds_is_known(server: Handle, root: Signer, middle: Signer, tmp_path: Path) -> None:
    for chain in (sign("ann", root, ca=False),), (sign("ann", middle, ca=False), middle):
        status, body = ask(connection(server, showing(server, tmp_path, *chain)))
        assert (status, 'User \\"ann\\" cannot get' in body.decode()) == (403, True)


def test_an_authority_need_not_be_a_root(tmp_path: Path, middle: Signer) -> None:
    accepted = tmp_path / "clients.pem"
    accepted.write_bytes(middle.pem)
    with Server(client_ca=accepted, controllers=()) as server:
        context = showing(server, tmp_path, sign("ann", middle, ca=False))
        assert 'User \\"ann\\" cannot get' in ask(connection(server, context))[1].decode()


def test_a_resumed_session_is_still_nobody_s(server: Handle, tmp_path: Path) -> None:
    context = showing(server, tmp_path, sign("ann"))
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    session = None
    for resumed in (False, True):
        made = resuming(server, context, session)
        assert made.sock.session_reused is resumed
        assert ask(made)[0] == 401
        session = made.sock.session
        made.close()


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_certificate_that_ends_counts_no_longer(
    server: Handle, root: Signer, tmp_path: Path, version: ssl.TLSVersion, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = showing(server, tmp_path, sign("ann", root, until=NOW + HOUR / 2, ca=False))
    context.maximum_version = version
    made = resuming(server, context, None)
    assert ask(made)[0] == 403
    again = resuming(server, context, made.sock.session)
    assert (again.sock.session_reused, ask(again)[0]) == (True, 403)
    monkeypatch.setattr(peer, "time", SimpleNamespace(time=lambda: (NOW + HOUR / 2).timestamp() + 1))
    assert ask(made)[0] == 401
    assert ask(made, server.token)[0] == 200
    late = resuming(server, context, made.sock.session)
    assert (late.sock.session_reused, ask(late)[0]) == (True, 401)
    for each in (made, again, late):
        each.close()


def test_what_cannot_be_judged_does_not_hold(
    server: Handle, root: Signer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def forget(_: Authorities, fingerprint: str) -> None:
        raise MemoryError

    monkeypatch.setattr(Authorities, "forget", forget)
    for shown in sign("ann", root, until=NOW - HOUR, ca=False), sign("ann"):
        with pytest.raises((OSError, http.client.HTTPException)):
            ask(connection(server, showing(server, tmp_path, shown)))
        assert "could not be judged" in caplog.text
        caplog.clear()
    assert ask(connection(server, showing(server, tmp_path, sign("ann", root, ca=False))))[0] == 403


class Certificate:
    def __init__(self, der: bytes, until: str) -> None:
        self.public_bytes = lambda _: der
        self.get_info = lambda: {"notAfter": until}


def handshake(*chain: Certificate) -> Any:
    return SimpleNamespace(_sslobj=SimpleNamespace(get_verified_chain=lambda: list(chain) or None))


LEAF, OURS = Certificate(b"leaf", "Jan  2 00:00:00 2040 GMT"), Certificate(b"ours", "Jan  1 00:00:00 2040 GMT")


def test_what_was_known_of_a_certificate_is_forgotten_when_it_does_not_hold() -> None:
    authorities = Authorities(frozenset({b"ours", b"another"}), frozenset())
    found = authorities.holding("print", handshake(LEAF, OURS))
    assert (found.signers, found.until) == ({b"ours"}, datetime.datetime(2040, 1, 1, tzinfo=datetime.UTC).timestamp())
    assert authorities.holding("print", handshake()) == found
    authorities.forget("print")
    assert not authorities.holding("print", handshake()).signers


def test_of_many_certificates_those_in_use_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peer, "_MAX_REMEMBERED", 2)
    authorities = Authorities(frozenset({b"ours"}), frozenset())
    for name in ("first", "second"):
        authorities.holding(name, handshake(LEAF, OURS))
    assert authorities.holding("first", handshake()).signers
    authorities.holding("third", handshake(LEAF, OURS))
    known = [name for name in ("first", "second", "third") if authorities.holding(name, handshake()).signers]
    assert known == ["first", "third"]


def test_other_authorities_decide_anew() -> None:
    both = Authorities(frozenset({b"ours"}), frozenset({b"ours"}))
    shown = TlsPeer("ann", fingerprint="print", holding=both.holding("print", handshake(LEAF, OURS)))
    assert both.judged(shown).is_proxy
    proxies = Authorities(frozenset({b"another"}), frozenset({b"ours"})).judged(shown)
    assert (proxies.common_name, proxies.is_client, proxies.is_proxy) == ("ann", False, True)
    nobodys = Authorities(frozenset({b"another"}), frozenset()).judged(shown)
    assert (nobodys.common_name, nobodys.is_client, nobodys.is_proxy) == ("", False, False)


def test_where_openssl_cannot_be_reached_handshakes_fail(
    root: Signer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tls_verification, "openssl", lambda: None)
    accepted = tmp_path / "clients.pem"
    accepted.write_bytes(root.pem)
    with Server(client_ca=accepted, controllers=()) as server:
        assert ask(connection(server, showing(server, tmp_path, sign("ann", root, ca=False))))[0] == 403
        with pytest.raises((OSError, http.client.HTTPException)):
            ask(connection(server, showing(server, tmp_path, sign("ann"))), server.token)
