"""Certificates: made once, kept, good for the names that are served."""

import asyncio
import datetime as dt
import json
import ssl

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from watchkeeper.server.errors import StartupError
from watchkeeper.server.http.listener import Listener, bind_tcp
from watchkeeper.server.pki import serving_certificate
from watchkeeper.server.tls import load_tls, server_context
from watchkeeper.server.tls_files import TlsFiles


def names(path):
    found = x509.load_pem_x509_certificates(path.read_bytes())[0]
    extension = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return {str(name.value) for name in extension}


def test_a_certificate_is_made_once_and_is_good_for_the_address_served(tmp_path):
    first = serving_certificate(tmp_path, "192.0.2.7")
    assert {"localhost", "127.0.0.1", "::1", "192.0.2.7", "kubernetes.default.svc"} <= names(first.cert)
    content = first.cert.read_bytes()
    assert serving_certificate(tmp_path, "192.0.2.7") == first
    assert first.cert.read_bytes() == content


def test_another_address_gets_another_certificate_of_the_same_authority(tmp_path):
    first = serving_certificate(tmp_path, "127.0.0.1")
    second = serving_certificate(tmp_path, "192.0.2.7")
    assert second.ca_pem == first.ca_pem
    assert "192.0.2.7" in names(second.cert)


@pytest.mark.parametrize("file", ["serving.crt", "serving.key", "serving.names"])
def test_a_spoilt_certificate_is_made_anew_by_the_same_authority(tmp_path, file):
    first = serving_certificate(tmp_path, "127.0.0.1")
    (tmp_path / file).write_bytes(b"")
    second = serving_certificate(tmp_path, "127.0.0.1")
    assert second.ca_pem == first.ca_pem
    server_context(second.cert, second.key, None)
    assert serving_certificate(tmp_path, "127.0.0.1") == second


@pytest.mark.parametrize(("file", "bind"), [("ca.crt", "127.0.0.1"), ("ca.crt", "192.0.2.7"), ("ca.key", "192.0.2.7")])
def test_a_spoilt_authority_is_told_and_stays_as_it_is(tmp_path, file, bind):
    serving_certificate(tmp_path, "127.0.0.1")
    (tmp_path / file).write_bytes(b"junk")
    with pytest.raises(StartupError, match=r"ca\.key are no certificate with its key; restore them, or remove both"):
        serving_certificate(tmp_path, bind)
    assert (tmp_path / file).read_bytes() == b"junk"


def test_an_authority_with_the_key_of_another_is_told(tmp_path):
    for name in ("one", "other"):
        serving_certificate(tmp_path / name, "127.0.0.1")
    key = tmp_path / "one" / "ca.key"
    unknown = b"-----BEGIN PRIVATE KEY-----\nMBECAQAwBgYEKgMEBQQEAQIDBA==\n-----END PRIVATE KEY-----\n"
    for content in ((tmp_path / "other" / "ca.key").read_bytes(), unknown):
        key.write_bytes(content)
        with pytest.raises(StartupError, match="are no certificate with its key"):
            serving_certificate(tmp_path / "one", "192.0.2.7")
        assert key.read_bytes() == content


def test_a_certificate_that_ends_soon_is_renewed(tmp_path):
    first = serving_certificate(tmp_path, "127.0.0.1")
    before = first.cert.read_bytes()
    noted = tmp_path / "serving.names"
    soon = dt.datetime.now(dt.UTC) + dt.timedelta(days=3)
    noted.write_text(json.dumps({**json.loads(noted.read_text()), "until": soon.timestamp()}))
    serving_certificate(tmp_path, "127.0.0.1")
    assert first.cert.read_bytes() != before


def test_files_that_are_no_certificates_are_one_clear_line(tmp_path):
    wrong = tmp_path / "wrong.pem"
    wrong.write_text("no certificate")
    with pytest.raises(StartupError, match="cannot use the certificate"):
        server_context(wrong, wrong)
    good = serving_certificate(tmp_path, "127.0.0.1")
    with pytest.raises(StartupError, match="cannot use the client authorities"):
        server_context(good.cert, good.key, wrong)


class TellPeer:
    def begin(self, scope, receive, send):
        peer = scope["exchange"].peer_certificate()
        told = "nobody" if peer is None else f"{peer.common_name} {','.join(peer.organizations)} {peer.fingerprint}"
        scope["exchange"].respond(200, [], told.encode())


def client_certificate(directory):
    """A certificate of the authority that the server has made, for somebody in two groups."""
    ca = x509.load_pem_x509_certificate((directory / "ca.crt").read_bytes())
    ca_key = serialization.load_pem_private_key((directory / "ca.key").read_bytes(), None)
    key = ec.generate_private_key(ec.SECP256R1())
    attributes = [(NameOID.ORGANIZATION_NAME, "devs"), (NameOID.ORGANIZATION_NAME, "ops"), (NameOID.COMMON_NAME, "ann")]
    now = dt.datetime.now(dt.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(oid, value) for oid, value in attributes]))
        .issuer_name(ca.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(minutes=1))
        .not_valid_after(now + dt.timedelta(hours=1))
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False)
        .sign(ca_key, hashes.SHA256())
    )
    (directory / "client.crt").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (directory / "client.key").write_bytes(pem)
    return certificate.fingerprint(hashes.SHA256()).hex()


def test_a_client_certificate_tells_who_its_owner_is(tmp_path):
    good = serving_certificate(tmp_path, "127.0.0.1")
    fingerprint = client_certificate(tmp_path)

    async def ask(port, with_certificate):
        context = ssl.create_default_context(cafile=str(tmp_path / "ca.crt"))
        if with_certificate:
            context.load_cert_chain(tmp_path / "client.crt", tmp_path / "client.key")
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
        version = writer.get_extra_info("ssl_object").version()
        writer.write(b"GET / HTTP/1.0\r\n\r\n")
        answer = await reader.read()
        writer.close()
        return answer.rpartition(b"\r\n\r\n")[2].decode(), version

    async def run():
        tls = load_tls(TlsFiles(good.cert, good.key, client_ca=tmp_path / "ca.crt"))
        listener = Listener(TellPeer(), ssl_context=tls.context, authorities=tls.authorities)
        [sock] = bind_tcp("127.0.0.1", 0)
        await listener.listen(sock)
        port = sock.getsockname()[1]
        found = [await ask(port, True), await ask(port, False)]
        await listener.stop(1)
        return found

    assert asyncio.run(run()) == [(f"ann devs,ops {fingerprint}", "TLSv1.3"), ("nobody", "TLSv1.3")]
