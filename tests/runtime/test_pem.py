"""PEM and certificates, read as Go reads them."""

import base64
import datetime
import time

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from watchkeeper.runtime.pem import blocks, next_block
from watchkeeper.runtime.x509 import authorities_fault, certificate_fault


def _block(content: bytes, *, kind: str = "CERTIFICATE", head: str = "") -> bytes:
    body = head.encode() + base64.encodebytes(content)
    return b"-----BEGIN %b-----\n%b-----END %b-----\n" % (kind.encode(), body, kind.encode())


def _certificate() -> bytes:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "someone")])
    start = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
    builder = x509.CertificateBuilder(name, name, key.public_key(), 7, start, start + datetime.timedelta(days=1))
    return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.DER)


@pytest.mark.parametrize(
    ("pem", "found"),
    [
        (b"", []),
        (b"text\n" + _block(b"a") + b"text\n" + _block(b"b", kind="KEY"), [("CERTIFICATE", b"a"), ("KEY", b"b")]),
        (b"text " + _block(b"a"), []),
        (_block(b""), [("CERTIFICATE", b"")]),
        (_block(b"a").replace(b"YQ==", b"Y Q =\t="), [("CERTIFICATE", b"a")]),
        (_block(b"a").replace(b"YQ==", b"%%"), []),
        (_block(b"a").replace(b"END CERTIFICATE", b"END KEY") + _block(b"b"), [("CERTIFICATE", b"b")]),
        (b"-----BEGIN CERTIFICATE-----\n" + _block(b"a"), [("CERTIFICATE", b"a")]),
        (_block(b"a").rstrip(b"\n") + b" \t", [("CERTIFICATE", b"a")]),
        (_block(b"a").rstrip(b"\n") + b" x\n", []),
        (_block(b"a", head="Name: value\n\n"), [("CERTIFICATE", b"a")]),
        (_block(b"a").replace(b"\n", b"\r\n"), [("CERTIFICATE", b"a")]),
    ],
)
def test_blocks_are_found_between_text(pem: bytes, found: list[tuple[str, bytes]]) -> None:
    assert [(block.kind, block.content) for block in blocks(pem)] == found


def test_headers_are_told_of_and_where_a_block_ends() -> None:
    text = _block(b"a", head="Name: value\n\n")
    block = next_block(text + b"rest")
    assert block is not None
    assert (block.has_headers, block.end) == (True, len(text))


@pytest.mark.parametrize(
    "part", [b"\n-----END ", b"-----BEGIN X-----\n", b"-----BEGIN X-----\n-----END X-----\n", b"a:\n"]
)
def test_text_of_many_parts_takes_time_by_its_length_only(part: bytes) -> None:
    start = time.process_time()
    count = len(list(blocks(part * 50_000)))
    assert count == (50_000 if part.count(b"X") == 2 else 0)
    assert time.process_time() - start < 5


def test_one_certificate_and_nothing_else_is_one() -> None:
    der = _certificate()
    assert certificate_fault(der) == ""
    assert certificate_fault(der + der) == "x509: trailing data"
    assert certificate_fault(b"") == "x509: malformed certificate"


def test_a_bundle_needs_one_certificate_that_can_be_read() -> None:
    broken = _block(b"nothing")
    found = {
        broken + _block(_certificate()) + b"text": "",
        b"text": "unable to parse bytes as PEM block",
        _block(b"a", kind="KEY"): "no valid certificate authority data seen",
        _block(b"a", kind="KEY") + b"text": "unable to parse bytes as PEM block",
        _block(_certificate(), head="a: b\n\n"): "no valid certificate authority data seen",
        broken: "failed to parse certificate: x509: malformed certificate",
        _block(b"a").replace(b"YQ==", b"%%"): "unable to parse bytes as PEM block",
    }
    assert {pem: authorities_fault(pem) for pem in found} == found
