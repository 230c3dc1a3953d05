"""CertificateSigningRequests: who asks is the server's to say; approvers and signers each write their own part."""

import base64
import copy
import datetime
import functools
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from kind_writer import BEHAVIORS, create, created, row, update

from watchkeeper.apis.certificates.pem import certificates_fault, request_fault
from watchkeeper.apis.certificates.signingrequest import KIND
from watchkeeper.apis.certificates.signingrequest_validation import validate_request_status


@functools.cache
def request_pem() -> bytes:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "tester")])
    request = x509.CertificateSigningRequestBuilder().subject_name(name).sign(key, hashes.SHA256())
    return request.public_bytes(serialization.Encoding.PEM)


def signing_request(**spec: Any) -> Any:
    defaults = {
        "request": base64.b64encode(request_pem()).decode(),
        "signerName": "example.com/signer",
        "usages": ["client auth"],
    }
    return {
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {"name": "r"},
        "spec": {**defaults, **spec},
    }


def part(subresource: str, old: Any, status: Any) -> tuple[Any, list[str]]:
    hooks = BEHAVIORS.of(KIND).extra["subresources"][subresource]
    new = {**copy.deepcopy(old), "status": status, "spec": {"signerName": "changed.example.com/x"}}
    hooks.prepare(new, old)
    return new, [f"{e.field}: {e.body()}" for e in hooks.validate(new, old)]


APPROVED = {"type": "Approved", "status": "True", "reason": "Because"}
DENIED = {"type": "Denied", "status": "True"}


def test_a_request_is_pending_whatever_it_says_of_itself() -> None:
    obj = created({**signing_request(), "status": {"conditions": [APPROVED]}})
    assert obj["status"] == {}
    assert row(obj)["Condition"] == "Pending"


def test_a_name_is_judged_when_all_else_is_right() -> None:
    odd = {**signing_request(), "metadata": {"name": "a/b"}}
    assert create(odd).errors == ["metadata.name: Invalid value: \"a/b\": may not contain '/'"]
    assert create({**odd, "spec": signing_request(usages=[])["spec"]}).errors == ["spec.usages: Required value"]


@pytest.mark.parametrize(
    ("spec", "error"),
    [
        ({"usages": []}, "spec.usages: Required value"),
        ({"usages": ["client auth", "client auth"]}, 'spec.usages[1]: Duplicate value: "client auth"'),
        ({"signerName": "plain"}, "spec.signerName: Invalid value"),
        ({"signerName": "kubernetes.io/legacy-unknown"}, "the legacy signerName is not allowed via this API version"),
        ({"expirationSeconds": 599}, "may not specify a duration less than 600 seconds (10 minutes)"),
        ({"request": base64.b64encode(b"nothing").decode()}, "PEM block type must be CERTIFICATE REQUEST"),
    ],
)
def test_what_a_request_may_not_be(spec: Any, error: str) -> None:
    found = create(signing_request(**spec)).errors
    assert len(found) == 1 and error in found[0]


def test_unknown_usages_are_listed_with_those_known() -> None:
    found = create(signing_request(usages=["fun"])).errors
    assert found[0].startswith('spec.usages[0]: Unsupported value: "fun": supported values: "any", "cert sign"')


def test_an_update_of_the_request_changes_neither_spec_nor_status() -> None:
    old = created(signing_request())
    written = update(old, signing_request(signerName="other.example.com/x"))
    assert written.errors == [] and written.obj["spec"] == old["spec"]
    old["spec"]["request"] = ""
    assert update(old, signing_request()).errors == [
        'spec.request: Invalid value: "": PEM block type must be CERTIFICATE REQUEST'
    ]


def test_approvers_write_conditions_only_and_get_times_filled_in() -> None:
    old = created(signing_request())
    new, errors = part("approval", old, {"conditions": [APPROVED], "certificate": "eA=="})
    assert errors == []
    assert new["spec"] == old["spec"] and "certificate" not in new["status"]
    assert {"lastUpdateTime", "lastTransitionTime"} <= set(new["status"]["conditions"][0])
    assert row(new)["Condition"] == "Approved"


def test_a_decision_is_taken_once() -> None:
    approved, _ = part("approval", created(signing_request()), {"conditions": [APPROVED]})
    kept = approved["status"]["conditions"][0]
    _, errors = part("approval", approved, {"conditions": [kept, DENIED]})
    assert errors == [
        'status.conditions: Invalid value: "Denied": Approved and Denied conditions are mutually exclusive'
    ]
    _, errors = part("approval", approved, {"conditions": []})
    assert errors == ['status.conditions: Forbidden: updates may not remove a condition of type "Approved"']


def test_signers_do_not_decide_and_approvers_do_not_sign() -> None:
    old = created(signing_request())
    _, errors = part("status", old, {"conditions": [APPROVED]})
    assert errors == ['status.conditions: Forbidden: updates may not add a condition of type "Approved"']


def test_signers_leave_decisions_as_they_were() -> None:
    approved, _ = part("approval", created(signing_request()), {"conditions": [APPROVED]})
    failed = {"type": "Failed", "status": "True"}
    sent = {"conditions": [failed, {**APPROVED, "reason": "Other", "lastUpdateTime": "2024-01-01T00:00:00Z"}]}
    signed, errors = part("status", approved, sent)
    assert errors == []
    assert signed["status"]["conditions"][1] == approved["status"]["conditions"][0]
    assert signed["status"]["conditions"][0]["type"] == "Failed"


def test_conditions_that_can_only_be_true_are_true() -> None:
    _, errors = part("approval", created(signing_request()), {"conditions": [{"type": "Denied", "status": "False"}]})
    assert errors == ['status.conditions[0].status: Unsupported value: "False": supported values: "True"']


def test_a_decision_that_was_taken_is_shown_beside_what_it_was_to_become() -> None:
    times = {"lastUpdateTime": "2024-01-01T00:00:00Z", "lastTransitionTime": "2024-01-01T00:00:00Z"}
    old = {**created(signing_request()), "status": {"conditions": [{**APPROVED, **times}]}}
    new = {**old, "status": {"conditions": [{**APPROVED, **times, "reason": "<Other>"}]}}
    errors = [f"{e.field}: {e.body()}" for e in validate_request_status(new, old)]
    assert errors == [
        'status.conditions: Forbidden: updates may not modify a condition of type "Approved"\n'
        "@@ -2,7 +2,7 @@\n"
        "  {\n"
        '   "Type": "Approved",\n'
        '   "Status": "True",\n'
        '-  "Reason": "Because",\n'
        '+  "Reason": "\\u003cOther\\u003e",\n'
        '   "Message": "",\n'
        '   "LastUpdateTime": "2024-01-01T00:00:00Z",\n'
        '   "LastTransitionTime": "2024-01-01T00:00:00Z"\n'
    ]


def test_a_certificate_is_issued_once_and_must_be_one() -> None:
    old = created(signing_request())
    junk = base64.b64encode(b"junk").decode()
    _, errors = part("status", old, {"certificate": junk})
    assert errors == [
        'status.certificate: Invalid value: "<certificate data>": must contain at least one CERTIFICATE PEM block'
    ]
    issued = {**old, "status": {"certificate": junk}}
    _, errors = part("status", issued, {"certificate": base64.b64encode(b"other").decode()})
    assert errors == ["status.certificate: Forbidden: updates may not modify existing certificate content"]


def _signed(key: Any, digest: hashes.HashAlgorithm | None, **options: Any) -> bytes:
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "someone")])
    request = x509.CertificateSigningRequestBuilder().subject_name(subject).sign(key, digest, **options)
    return request.public_bytes(serialization.Encoding.DER)


def _pem(der: bytes) -> bytes:
    return b"-----BEGIN CERTIFICATE REQUEST-----\n" + base64.encodebytes(der) + b"-----END CERTIFICATE REQUEST-----\n"


_RSA = rsa.generate_private_key(public_exponent=65537, key_size=2048)
_EC = ec.generate_private_key(ec.SECP256R1())
_PSS = padding.PSS(padding.MGF1(hashes.SHA256()), padding.PSS.DIGEST_LENGTH)


@pytest.mark.parametrize(
    ("der", "words"),
    [
        (_signed(_RSA, hashes.SHA256()), "crypto/rsa: verification error"),
        (_signed(_RSA, hashes.SHA256(), rsa_padding=_PSS), "crypto/rsa: verification error"),
        (_signed(_EC, hashes.SHA384()), "x509: ECDSA verification failure"),
        (_signed(ed25519.Ed25519PrivateKey.generate(), None), "x509: Ed25519 verification failure"),
    ],
)
def test_a_request_is_signed_by_the_key_that_it_is_for(der: bytes, words: str) -> None:
    assert request_fault(_pem(der)) == ""
    assert request_fault(_pem(der.replace(b"someone", b"another"))) == words


SIGNED_WITH_SHA1 = """
MIIBUTCBuwIBADASMRAwDgYDVQQDDAdzb21lb25lMIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQDKk4ZziydwFkxCK/mSZAsl
Ok0XrVPAcem7D+1T7x7yQcTF1N9laQR3RISZuhRJvdkaR3iFL7YjCfMd4lVmh6W7CinbhIB8HzbExRb0gT7l+sSlMDQAvY5JX/Lv
dFN9mLTxDRt+dt2e3rW+Ro/GKFj/QApwYau1Ny84r18Y4LtyzwIDAQABoAAwDQYJKoZIhvcNAQEFBQADgYEAbUO2msEs3lFwlLts
9W2rnXtyRgImUCE6YMG7ebfkdrAsiY2fNFa2sbax6YqWA+qizKmp5p1kzlhpN3hgSOvXdbOOYDMIb6vkucONIvfenLjboU1q6JQN
85PuVw8vsIXGVTICQLhr8XvSQXCZpuUwMRziY2vj1m4q1E26qmXUD7o=
"""


def test_a_request_may_be_signed_with_sha1_as_certificates_may_not() -> None:
    der = base64.b64decode(SIGNED_WITH_SHA1)
    assert request_fault(_pem(der)) == ""
    assert request_fault(_pem(der.replace(b"someone", b"another"))) == "crypto/rsa: verification error"


def _parameters(optional: str = "false") -> str:
    return (
        f"{{optional:{optional} explicit:false application:false private:false defaultValue:<nil> tag:<nil> "
        "stringType:0 timeType:0 set:false omitEmpty:false}"
    )


@pytest.mark.parametrize(
    ("der", "words"),
    [
        (b"", "asn1: syntax error: sequence truncated"),
        (b"0", "asn1: syntax error: truncated tag or length"),
        (b"\x30\x05\x30", "asn1: syntax error: data truncated"),
        (b"\x30\x80\x00\x00", "asn1: syntax error: indefinite length found (not DER)"),
        (b"\x30\x81\x05\x00", "asn1: structure error: non-minimal length"),
        (b"\x30\x00", "asn1: syntax error: sequence truncated"),
        (
            b"abcdef",
            "asn1: structure error: tags don't match (16 vs {class:1 tag:1 length:98 isCompound:true}) "
            f"{_parameters()} certificateRequest @2",
        ),
        (
            b"\x30\x04\x30\x02\x04\x00",
            "asn1: structure error: tags don't match (2 vs {class:0 tag:4 length:0 isCompound:false}) "
            f"{_parameters()} int @2",
        ),
        (b"\x30\x04\x30\x02\x02\x00", "asn1: structure error: empty integer"),
        (base64.b64decode(SIGNED_WITH_SHA1) + b"\x00", "asn1: syntax error: trailing data"),
        (base64.b64decode(SIGNED_WITH_SHA1)[:-1], "asn1: syntax error: data truncated"),
    ],
)
def test_what_is_no_request_is_refused_in_the_words_of_go(der: bytes, words: str) -> None:
    assert request_fault(_pem(der)) == words


def test_faults_of_pem() -> None:
    assert request_fault(request_pem()) == ""
    undecodable = b"-----BEGIN CERTIFICATE REQUEST-----\n%%\n-----END CERTIFICATE REQUEST-----\n"
    assert request_fault(undecodable) == "PEM block type must be CERTIFICATE REQUEST"
    assert request_fault(undecodable + request_pem()) == ""
    assert request_fault(b"indented " + request_pem()) == "PEM block type must be CERTIFICATE REQUEST"
    assert certificates_fault(b"") == ""
    assert 'found "CERTIFICATE REQUEST"' in certificates_fault(request_pem())


@functools.cache
def _certificate(*, version: bytes = b"\x02\x01\x02", serial: bytes = b"\x55\x07", extended: bool = False) -> bytes:
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "someone")])
    start = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
    end = start + datetime.timedelta(days=1)
    builder = x509.CertificateBuilder(subject, subject, _EC.public_key(), 0x5507, start, end)
    if extended:
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    der = builder.sign(_EC, hashes.SHA256()).public_bytes(serialization.Encoding.DER)
    return der.replace(b"\xa0\x03\x02\x01\x02\x02\x02\x55\x07", b"\xa0\x03" + version + b"\x02\x02" + serial, 1)


def _certificates(*ders: bytes, headers: str = "") -> bytes:
    body = headers.encode() + base64.encodebytes(b"".join(ders))
    return b"-----BEGIN CERTIFICATE-----\n" + body + b"-----END CERTIFICATE-----\n"


def test_certificates_that_are_none_are_refused_in_the_words_of_go() -> None:
    assert certificates_fault(_certificates(_certificate())) == ""
    assert certificates_fault(_certificates(_certificate(), _certificate())) == ""
    for extended in (False, True):
        for version in (b"\x02\x01\x00", b"\x02\x01\x01"):
            assert certificates_fault(_certificates(_certificate(version=version, extended=extended))) == ""
    found = {
        _certificates(): "found CERTIFICATE PEM block containing 0 certificates",
        _certificates(b"nothing"): "x509: malformed certificate",
        _certificates(_certificate() + b"\x00"): "x509: malformed certificate",
        _certificates(_certificate()[:-1]): "x509: malformed certificate",
        _certificates(b"\x30\x00"): "x509: malformed tbs certificate",
        _certificates(b"\x30\x02\x30\x00"): "x509: malformed serial number",
        _certificates(_certificate(version=b"\x02\x01\x05")): "x509: invalid version",
        _certificates(_certificate(version=b"\x02\x01\xff")): "x509: malformed version",
        _certificates(_certificate(serial=b"\xf1\x22")): "x509: negative serial number",
        _certificates(_certificate(), _certificate(serial=b"\xf1\x22")): "x509: negative serial number",
        _certificates(_certificate(serial=b"\x00\x22")): "x509: malformed serial number",
        _certificates(_certificate(serial=b"\xff\x92")): "x509: malformed serial number",
        _certificates(_certificate(), headers="a: b\n\n"): "no PEM block headers are permitted",
        _certificates(headers="%%\n"): "must contain at least one CERTIFICATE PEM block",
    }
    assert {pem: certificates_fault(pem) for pem in found} == found


def test_a_request_of_another_version_is_no_reason_to_fail() -> None:
    der = base64.b64decode(SIGNED_WITH_SHA1).replace(b"\x02\x01\x00\x30\x12", b"\x02\x01\x05\x30\x12", 1)
    assert request_fault(_pem(der)) == "x509: malformed certificate request"
    signer = "kubernetes.io/kube-apiserver-client"
    assert len(create(signing_request(request=base64.b64encode(_pem(der)).decode(), signerName=signer)).errors) == 1


def test_an_extension_is_asked_for_once() -> None:
    builder = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([]))
    for oid in ("1.2.3.4", "1.2.3.5"):
        builder = builder.add_extension(x509.UnrecognizedExtension(x509.ObjectIdentifier(oid), b"x"), critical=False)
    der = builder.sign(ec.generate_private_key(ec.SECP256R1()), hashes.SHA256()).public_bytes(
        serialization.Encoding.DER
    )
    twice = der.replace(bytes([6, 3, 42, 3, 5]), bytes([6, 3, 42, 3, 4]))
    assert request_fault(_pem(der)) == ""
    assert request_fault(_pem(twice)) == "x509: certificate request contains duplicate requested extensions"
