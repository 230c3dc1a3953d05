"""Which certificate clients are shown."""

from __future__ import annotations

import datetime
import ssl
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from watchkeeper.server import cli
from watchkeeper.server.arguments import serve_options
from watchkeeper.server.errors import StartupError
from watchkeeper.server.tls import load_tls
from watchkeeper.server.tls_files import NamedPair, TlsFiles, named_pair


def pair(folder: Path, name: str, *dns: str, common_name: str = "") -> tuple[Path, Path]:
    """A certificate whose organization is its name here, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    about = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, name)]
    if common_name:
        about.append(x509.NameAttribute(NameOID.COMMON_NAME, common_name))
    subject = x509.Name(about)
    now = datetime.datetime.now(datetime.UTC)
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(subject).public_key(key.public_key())
    builder = builder.serial_number(1).not_valid_before(now).not_valid_after(now + datetime.timedelta(days=1))
    if dns:
        builder = builder.add_extension(x509.SubjectAlternativeName(list(map(x509.DNSName, dns))), critical=False)
    cert, key_file = folder / f"{name}.crt", folder / f"{name}.key"
    cert.write_bytes(builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
    none = serialization.NoEncryption()
    key_file.write_bytes(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, none))
    return cert, key_file


def shown(server: ssl.SSLContext, asked: str | None) -> str:
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
    up, down = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [client.wrap_bio(down, up, server_hostname=asked), server.wrap_bio(up, down, server_side=True)]
    for end in ends * 3:
        try:
            end.do_handshake()
        except ssl.SSLWantReadError:
            continue
    certificate = x509.load_der_x509_certificate(ends[0].getpeercert(True) or b"")
    return str(certificate.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)[0].value)


def server(folder: Path, *named: NamedPair, main: tuple[str, ...] = ("main.example",)) -> ssl.SSLContext:
    return load_tls(TlsFiles(*pair(folder, "main", *main), named=named)).context


def test_names_of_certificates_and_wildcards(tmp_path: Path) -> None:
    context = server(
        tmp_path,
        NamedPair(*pair(tmp_path, "wild", "*.example.com")),
        NamedPair(*pair(tmp_path, "exact", "api.example.com", common_name="named.test")),
        NamedPair(*pair(tmp_path, "later", "api.example.com", "later.test", common_name="127.0.0.1")),
    )
    for asked, found in (
        ("api.example.com", "exact"),
        ("API.example.com", "exact"),
        ("web.example.com", "wild"),
        ("a.web.example.com", "main"),
        ("named.test", "exact"),
        ("later.test", "later"),
        ("main.example", "main"),
        ("unknown.test", "main"),
        ("127.0.0.1", "main"),
        (None, "main"),
    ):
        assert (asked, shown(context, asked)) == (asked, found)


def test_given_names_count_before_those_of_certificates_and_replace_them(tmp_path: Path) -> None:
    context = server(
        tmp_path,
        NamedPair(*pair(tmp_path, "own", "api.example.com", "own.example.com")),
        NamedPair(*pair(tmp_path, "given", "else.example.com"), ("api.example.com", "*.example.com")),
        NamedPair(*pair(tmp_path, "second"), ("api.example.com", "second.test")),
    )
    assert shown(context, "api.example.com") == "given"
    assert shown(context, "own.example.com") == "own"
    assert shown(context, "other.example.com") == "given"
    assert shown(context, "second.test") == "second"


def test_a_certificate_that_fits_is_found_without_being_named(tmp_path: Path) -> None:
    fits = NamedPair(*pair(tmp_path, "fits", "*.Fits.test", "main.example"), ("given.test",))
    context = server(tmp_path, fits)
    assert shown(context, "a.fits.test") == "fits"
    assert shown(context, "main.example") == "main"


def test_clients_may_show_certificates_under_each_name(tmp_path: Path) -> None:
    accepted, _ = pair(tmp_path, "accepted")
    named = NamedPair(*pair(tmp_path, "named", "named.test"))
    context = load_tls(TlsFiles(*pair(tmp_path, "main"), client_ca=accepted, named=(named,))).context
    assert shown(context, "named.test") == "named"
    assert context.verify_mode is ssl.CERT_OPTIONAL


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a.crt,a.key", NamedPair(Path("a.crt"), Path("a.key"))),
        (" a.crt , a.key : *.x , y ", NamedPair(Path("a.crt"), Path("a.key"), ("*.x", "y"))),
        ("a.crt,a.key:::1", NamedPair(Path("a.crt"), Path("a.key"), ("::1",))),
    ],
)
def test_pairs_are_read(text: str, found: NamedPair) -> None:
    assert named_pair(text) == found


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a.crt,a.key:", "empty names list is not allowed"),
        ("a.crt", "expected comma separated certificate and key file paths"),
        ("a,b,c", "expected comma separated certificate and key file paths"),
    ],
)
def test_what_is_no_pair_is_told(text: str, problem: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.parser({}).parse_args(["serve", "--tls-sni-cert-key", text])
    assert f"argument --tls-sni-cert-key: {problem}\n" in capsys.readouterr().err


def test_several_are_given_one_after_the_other() -> None:
    environ = {"WATCHKEEPER_TLS_SNI_CERT_KEY": "e.crt,e.key;f.crt,f.key:x"}
    parser = cli.parser(environ)
    given = serve_options(parser.parse_args(["serve"])).tls_sni_cert_key
    assert [str(each) for each in given] == ["e.crt,e.key", "f.crt,f.key:x"]
    flag = "--tls-sni-cert-key"
    given = serve_options(parser.parse_args(["serve", flag, "a,b", flag, "c,d:x,y"])).tls_sni_cert_key
    assert [str(each) for each in given] == ["a,b", "c,d:x,y"]


def test_a_pair_that_cannot_be_read_keeps_a_server_from_starting(tmp_path: Path) -> None:
    cert, _ = pair(tmp_path, "one")
    with pytest.raises(StartupError, match=r"cannot use the certificate .*one\.crt with the key"):
        server(tmp_path, NamedPair(cert, tmp_path / "missing.key"))
