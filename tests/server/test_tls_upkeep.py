"""Certificates that change while a server runs."""

from __future__ import annotations

import asyncio
import datetime
import http.client
import ssl
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography import x509
from tests.waiting import eventually

from watchkeeper.server import file_watch, pki, tls_upkeep
from watchkeeper.server.errors import StartupError
from watchkeeper.server.pki import serving_certificate
from watchkeeper.server.tls import Tls
from watchkeeper.server.tls_files import NamedPair, TlsFiles
from watchkeeper.server.tls_upkeep import TlsUpkeep
from watchkeeper.testing import Server
from watchkeeper.testing.clock import ManualClock
from watchkeeper.testing.etcd_certificates import make_certificates
from watchkeeper.testing.handle import Handle


@pytest.fixture(autouse=True)
def _look_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("watchkeeper.server.file_watch.LOOK_SECONDS", 0.05)


def connect(server: Handle, ca: Path, mine: Path | None = None) -> http.client.HTTPSConnection:
    """Connect, trusting the authority in one directory, and showing a certificate."""
    context = ssl.create_default_context(cafile=str(ca / "ca.crt"))
    if mine is not None:
        context.load_cert_chain(mine.with_suffix(".crt"), mine.with_suffix(".key"))
    connection = http.client.HTTPSConnection(server.url.removeprefix("https://"), context=context, timeout=10)
    ask(connection)
    return connection


def ask(connection: http.client.HTTPSConnection) -> None:
    connection.request("GET", "/livez")
    answer = connection.getresponse()
    body = answer.read()
    if answer.status == 401:
        raise PermissionError(body)
    assert (answer.status, body) == (200, b"ok")


def shown(connection: http.client.HTTPSConnection) -> bytes:
    """The certificate that the server has shown on a connection."""
    assert isinstance(connection.sock, ssl.SSLSocket)
    return connection.sock.getpeercert(binary_form=True) or b""


def days_left(certificate: bytes) -> int:
    until = x509.load_der_x509_certificate(certificate).not_valid_after_utc
    return (until - datetime.datetime.now(datetime.UTC)).days


def in_time(attempt: Callable[[], http.client.HTTPSConnection]) -> http.client.HTTPSConnection:
    end = time.monotonic() + 10
    while True:
        try:
            return attempt()
        except (OSError, http.client.HTTPException):
            assert time.monotonic() < end
            time.sleep(0.05)


def made(directory: Path) -> Path:
    directory.mkdir()
    serving_certificate(directory, "127.0.0.1")
    return directory


def put(source: Path, target: Path) -> None:
    for name in ("serving.crt", "serving.key"):
        (target / name).write_bytes((source / name).read_bytes())


def test_a_changed_certificate_is_shown_to_whoever_comes_next(tmp_path: Path) -> None:
    first, second, used = made(tmp_path / "first"), made(tmp_path / "second"), tmp_path / "used"
    used.mkdir()
    put(first, used)
    with Server(tls_cert=used / "serving.crt", tls_key=used / "serving.key", controllers=()) as server:
        before = connect(server, first)
        put(second, used)
        in_time(lambda: connect(server, second)).close()
        ask(before)
        with pytest.raises(ssl.SSLError):
            connect(server, first)
        before.close()


def test_a_changed_certificate_for_a_name_is_shown_to_whoever_comes_next(tmp_path: Path) -> None:
    first, second, used = made(tmp_path / "first"), made(tmp_path / "second"), tmp_path / "used"
    used.mkdir()
    put(first, used)
    pair = NamedPair(used / "serving.crt", used / "serving.key", ("127.0.0.1",))
    with Server(tls_sni_cert_key=(pair,), controllers=()) as server:
        connect(server, first).close()
        put(second, used)
        in_time(lambda: connect(server, second)).close()


def test_files_that_do_not_fit_change_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    first, second, used = made(tmp_path / "first"), made(tmp_path / "second"), tmp_path / "used"
    used.mkdir()
    put(first, used)
    with Server(tls_cert=used / "serving.crt", tls_key=used / "serving.key", controllers=()) as server:
        (used / "serving.key").write_bytes((second / "serving.key").read_bytes())
        eventually(lambda: "certificates stay as they were: cannot use the certificate" in caplog.text)
        connect(server, first).close()
        put(second, used)
        in_time(lambda: connect(server, second)).close()


def test_a_changed_authority_decides_about_clients(tmp_path: Path) -> None:
    ours, theirs, used = tmp_path / "ours", tmp_path / "theirs", tmp_path / "clients.pem"
    make_certificates(ours)
    make_certificates(theirs)
    used.write_bytes((ours / "ca.crt").read_bytes())
    mine = theirs / "client"
    with Server(tls_cert=ours / "server.crt", tls_key=ours / "server.key", client_ca=used, controllers=()) as server:
        with pytest.raises(PermissionError):
            connect(server, ours, mine)
        used.write_bytes((theirs / "ca.crt").read_bytes())
        in_time(lambda: connect(server, ours, mine)).close()


def test_who_was_accepted_by_an_authority_that_is_gone_is_refused_on_the_same_connection(tmp_path: Path) -> None:
    ours, theirs, used = tmp_path / "ours", tmp_path / "theirs", tmp_path / "clients.pem"
    make_certificates(ours)
    make_certificates(theirs)
    first, second = ((folder / "ca.crt").read_bytes() for folder in (ours, theirs))
    used.write_bytes(first)
    with Server(tls_cert=ours / "server.crt", tls_key=ours / "server.key", client_ca=used, controllers=()) as server:
        before = connect(server, ours, ours / "client")
        used.write_bytes(first + second)
        in_time(lambda: connect(server, ours, theirs / "client")).close()
        ask(before)
        used.write_bytes(second)
        end = time.monotonic() + 10
        with pytest.raises(PermissionError):
            while time.monotonic() < end:
                ask(before)
                time.sleep(0.05)
        before.close()


def test_the_authorities_that_are_in_use_are_told_to_extension_servers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("watchkeeper.server.server._OWN_SERVICE_SECONDS", 0.05)
    ours, theirs, used = tmp_path / "ours", tmp_path / "theirs", tmp_path / "clients.pem"
    make_certificates(ours)
    make_certificates(theirs)
    first, second = ((folder / "ca.crt").read_text() for folder in (ours, theirs))
    used.write_text(first)
    with Server(client_ca=used, controllers=()) as server:

        def told() -> str:
            path = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
            return str(server.request("GET", path)["data"]["client-ca-file"])

        def lists(*authorities: str) -> bool:
            return "".join(authorities) == told()

        assert lists(first)
        used.write_text("junk")
        time.sleep(0.3)
        assert lists(first)
        used.write_text(second)
        eventually(lambda: lists(first, second))


def test_the_server_renews_its_own_certificate_while_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tls_upkeep, "RENEW_SECONDS", 0.05)
    with Server(controllers=()) as server:
        data = server.kubeconfig.parent
        before = connect(server, data)
        first = shown(before)
        time.sleep(0.3)
        assert shown(connect(server, data)) == first
        monkeypatch.setattr(pki, "_SERVING_DAYS", 400)
        monkeypatch.setattr(pki, "_RENEW_DAYS", 370)
        eventually(lambda: days_left(shown(connect(server, data))) >= 390)
        renewed = shown(connect(server, data))
        time.sleep(0.3)
        assert shown(connect(server, data)) == renewed != first
        ask(before)


def test_a_certificate_that_cannot_be_renewed_stays(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tls_upkeep, "RENEW_SECONDS", 60.0)
    calls: list[float] = []

    async def run() -> None:
        clock = ManualClock(start=0.0)
        used: list[Tls] = []

        def renew() -> None:
            calls.append(clock.time())
            if len(calls) == 1:
                raise StartupError("cannot write serving.crt: no space left on device")

        own = serving_certificate(tmp_path, "127.0.0.1")
        upkeep = TlsUpkeep(TlsFiles(own.cert, own.key), used.append, renew=renew, clock=clock)
        upkeep.start()
        while len(calls) < 2:
            slept = clock.slept
            await clock.advance(file_watch.LOOK_SECONDS)
            while clock.slept == slept:  # files are looked at in a thread
                await asyncio.sleep(0.001)
        await upkeep.close()
        assert used == []

    asyncio.run(run())
    assert "the serving certificate cannot be renewed: cannot write serving.crt: no space left" in caplog.text
    assert calls[1] - calls[0] >= tls_upkeep.RENEW_SECONDS
